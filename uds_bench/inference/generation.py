"""Greedy answers to plain prompts, in padded batches."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from uds_bench.checkpoints import Checkpoint

BATCH = 32


@torch.inference_mode()
def generate_greedily(
    model: Checkpoint, prompts: Sequence[str], expected: Sequence[str], slack: int, batch_size: int = BATCH
) -> list[str]:
    """The model's greedy continuation of each prompt, as text without special tokens.

    It may run `slack` tokens beyond the longest expected answer of its batch. Prompts are padded on the left, so
    that every continuation starts at the same column.
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
        limit = slack + max(len(tokenizer(expected[i], add_special_tokens=False)["input_ids"]) for i in rows)
        produced = model.model.generate(
            input_ids=ids.to(model.device),
            attention_mask=mask.to(model.device),
            max_new_tokens=limit,
            do_sample=False,
            num_beams=1,
            pad_token_id=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0,
            eos_token_id=tokenizer.eos_token_id,
        )
        texts = tokenizer.batch_decode(produced[:, length:], skip_special_tokens=True)
        answers.update(zip(rows, texts, strict=True))
    return [answers[i] for i in range(len(prompts))]


def _with_bos(tokenizer: object, prompt: str) -> list[int]:
    ids: list[int] = tokenizer(prompt)["input_ids"]  # type: ignore[operator]
    bos: int | None = tokenizer.bos_token_id  # type: ignore[attr-defined]
    return ids if bos is None or ids[:1] == [bos] else [bos, *ids]
