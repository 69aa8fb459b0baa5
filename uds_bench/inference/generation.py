"""Greedy answers to encoded prompts, in padded batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

import torch
from transformers import GenerationConfig

from uds_bench.checkpoints import Checkpoint

BATCH = 64
FIRST = 48
"""Tokens after which the answers that have not ended are gathered into batches of their own: few ever go on and on, and
each holds its whole batch up."""


@torch.inference_mode()
def generate_greedily(
    model: Checkpoint,
    prompts: Sequence[Sequence[int]],
    limit: int,
    batch_size: int = BATCH,
    stops: Sequence[int] = (),
) -> list[str]:
    """The model's greedy continuation of each prompt, at most `limit` tokens, as text without special tokens.

    `prompts` are token ids; a continuation ends before the end-of-text token or any of `stops` (`stop_tokens`: a chat
    template's end of turn). Prompts are padded on the left, so that every continuation starts at the same column; those
    of like length stand together, and batch size changes no text but where two tokens are equally likely within
    rounding.
    """
    ends = {*stops, model.tokenizer.eos_token_id} - {None}
    said = _continue(model, prompts, min(limit, FIRST), batch_size, sorted(ends))
    unended = [i for i, ids in enumerate(said) if limit > FIRST and len(ids) == FIRST]
    longer = [[*prompts[i], *said[i]] for i in unended]
    for i, more in zip(unended, _continue(model, longer, limit - FIRST, batch_size, sorted(ends)), strict=True):
        said[i] += more
    texts: list[str] = [model.tokenizer.decode(ids, skip_special_tokens=True) for ids in said]
    return texts


def _continue(
    model: Checkpoint, prompts: Sequence[Sequence[int]], limit: int, batch_size: int, ends: list[int]
) -> list[list[int]]:
    """Token ids that follow each prompt, without the one that ends them."""
    said: dict[int, list[int]] = {}
    padding = model.tokenizer.pad_token_id
    order = sorted(range(len(prompts)), key=lambda i: (-len(prompts[i]), i))
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        length = max(len(prompts[i]) for i in rows)
        ids, mask = torch.zeros(2, len(rows), length, dtype=torch.long)
        for row, i in enumerate(rows):
            ids[row, length - len(prompts[i]) :] = torch.tensor(prompts[i])
            mask[row, length - len(prompts[i]) :] = 1
        with _plain_decoding(model.model):
            produced = model.model.generate(
                input_ids=ids.to(model.device),
                attention_mask=mask.to(model.device),
                max_new_tokens=limit,
                do_sample=False,
                num_beams=1,
                pad_token_id=0 if padding is None else padding,
                eos_token_id=ends or None,
            )
        # Rows that ended are filled up with the padding token, which is a word where the tokenizer has none of its own.
        texts = [list(takewhile(lambda token: token not in ends, row[length:].tolist())) for row in produced]
        said.update(zip(rows, texts, strict=True))
    return [said[i] for i in range(len(prompts))]


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
