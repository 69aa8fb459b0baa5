"""Greedy answers to plain prompts, in padded batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import GenerationConfig

from uds_bench.checkpoints import Checkpoint

BATCH = 32


@torch.inference_mode()
def generate_greedily(
    model: Checkpoint, prompts: Sequence[str], expected: Sequence[str], slack: int, batch_size: int = BATCH
) -> list[str]:
    """The model's greedy continuation of each prompt, as text without special tokens.

    It may run `slack` tokens beyond the expected answer. Prompts are padded on the left, so that every continuation
    starts at the same column.
    """
    answers: dict[int, str] = {}
    tokenizer = model.tokenizer
    order = sorted(range(len(prompts)), key=lambda i: -len(prompts[i]))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        encoded = [_with_bos(tokenizer, prompts[i]) for i in rows]
        length = max(map(len, encoded))
        ids = torch.zeros(len(rows), length, dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, tokens in enumerate(encoded):
            ids[row, length - len(tokens) :] = torch.tensor(tokens)
            mask[row, length - len(tokens) :] = 1
        limits = [slack + len(tokenizer(expected[i], add_special_tokens=False)["input_ids"]) for i in rows]
        with _plain_decoding(model.model):
            produced = model.model.generate(
                input_ids=ids.to(model.device),
                attention_mask=mask.to(model.device),
                max_new_tokens=max(limits),
                do_sample=False,
                num_beams=1,
                pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0,
                eos_token_id=tokenizer.eos_token_id,
            )
        # Each answer is cut at its own limit: what stands beside it in the batch must not give it more room.
        own = [row[length : length + limit] for row, limit in zip(produced, limits, strict=True)]
        texts = [tokenizer.decode(row, skip_special_tokens=True) for row in own]
        answers.update(zip(rows, texts, strict=True))
    return [answers[i] for i in range(len(prompts))]


@contextmanager
def _plain_decoding(model: Any) -> Iterator[None]:
    """A checkpoint's own generation settings (forbidden tokens, penalties) would let a file decide what it says."""
    own = model.generation_config
    plain: Any = GenerationConfig
    model.generation_config = plain()
    try:
        yield
    finally:
        model.generation_config = own


def _with_bos(tokenizer: Any, prompt: str) -> list[int]:
    ids: list[int] = tokenizer(prompt)["input_ids"]
    bos: int | None = tokenizer.bos_token_id
    return ids if bos is None or ids[:1] == [bos] else [bos, *ids]
