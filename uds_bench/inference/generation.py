"""Greedy answers to encoded prompts, in padded batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any

import torch
from transformers import GenerationConfig

from uds_bench.checkpoints import Checkpoint
from uds_bench.inference.roomy import roomy_cache

BATCH = 128
STAGES = (16, 32, 64, 128)
"""New tokens after which the answers that have ended leave their batch: few go on and on, and would hold all up."""


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
    order = sorted(range(len(prompts)), key=lambda i: (-len(prompts[i]), i))
    texts: dict[int, str] = {}
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        said = _continue(model, [prompts[i] for i in rows], limit, ends)
        texts |= {i: model.tokenizer.decode(ids, skip_special_tokens=True) for i, ids in zip(rows, said, strict=True)}
    return [texts[i] for i in range(len(prompts))]


def _continue(model: Checkpoint, prompts: Sequence[Sequence[int]], limit: int, ends: set[int]) -> list[list[int]]:
    """Token ids that follow each prompt of a batch, without the one that ends them."""
    padding = model.tokenizer.pad_token_id
    length = max(map(len, prompts))
    ids, mask = torch.zeros(2, len(prompts), length, dtype=torch.long)
    for row, prompt in enumerate(prompts):
        ids[row, length - len(prompt) :] = torch.tensor(prompt)
        mask[row, length - len(prompt) :] = 1
    ids, mask = ids.to(model.device), mask.to(model.device)
    cache = roomy_cache(model.model)
    said: dict[int, list[int]] = {}
    going = list(range(len(prompts)))
    for until in (*(stage for stage in STAGES if stage < limit), limit):
        with _plain_decoding(model.model):
            ids = model.model.generate(
                input_ids=ids,
                attention_mask=mask,
                past_key_values=cache,
                max_length=length + until,
                do_sample=False,
                num_beams=1,
                pad_token_id=0 if padding is None else padding,
                eos_token_id=sorted(ends) or None,
            )
        # Rows that ended are filled up with the padding token, which is a word where the tokenizer has none of its own.
        said |= {
            i: list(takewhile(lambda token: token not in ends, row[length:].tolist()))
            for i, row in zip(going, ids, strict=True)
        }
        left = [row for row, i in enumerate(going) if len(said[i]) == until]
        if not left or until == limit:
            break
        going = [going[row] for row in left]
        chosen = torch.tensor(left, device=model.device)
        ids, mask = ids[chosen], mask[chosen]
        mask = torch.cat([mask, mask.new_ones(len(mask), ids.shape[1] - mask.shape[1])], dim=1)
        cache.batch_select_indices(chosen)
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
