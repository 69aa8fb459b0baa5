"""Greedy continuations of several variants of the same prompts: what the variants share is read once."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from itertools import takewhile

import torch

from uds_bench.checkpoints import Checkpoint
from uds_bench.inference.generation import BATCH, Continuation, continue_greedily, go_on, padded
from uds_bench.inference.preallocated import PreallocatedLayer, preallocated_cache

Rows = Sequence[Sequence[int]]


@torch.inference_mode()
def continue_variants(
    model: Checkpoint,
    variants: Sequence[Rows],
    limits: Sequence[int],
    batch_size: int = BATCH,
    stops: Sequence[int] = (),
) -> list[list[Continuation]]:
    """As `continue_greedily` for each variant with its limit; row i of every variant starts with the same tokens.

    The keys and values of those tokens are computed once and copied for each variant. Families whose caches forget
    (sliding windows) read every variant whole: the gap between the shared tokens and the rest would shift the window.
    """
    shared = [_shared(rows) for rows in zip(*variants, strict=True)]
    if not _remembers(model) or not all(map(len, shared)):
        return [
            continue_greedily(model, rows, limit, batch_size, stops)
            for rows, limit in zip(variants, limits, strict=True)
        ]
    order = sorted(range(len(shared)), key=lambda i: (-len(shared[i]), i))
    found: list[dict[int, Continuation]] = [{} for _ in variants]
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        ids, mask = padded([shared[i] for i in rows], model.device)
        cache = preallocated_cache(model.model)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        model.model(input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, logits_to_keep=1)
        for variant, limit, said in zip(variants, limits, found, strict=True):
            more, more_mask = padded([variant[i][len(shared[i]) :] for i in rows], model.device)
            whole, whole_mask = torch.cat([ids, more], 1), torch.cat([mask, more_mask], 1)
            said |= zip(rows, go_on(model, whole, whole_mask, deepcopy(cache), limit, stops), strict=True)
    return [[said[i] for i in range(len(shared))] for said in found]


def _shared(rows: Rows) -> Sequence[int]:
    """The tokens that all variants of a prompt start with; of the shortest variant one is left to go on from."""
    most = min(map(len, rows)) - 1
    same = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*rows, strict=False))
    return rows[0][: min(most, sum(1 for _ in same))]


def _remembers(model: Checkpoint) -> bool:
    return all(type(layer) is PreallocatedLayer for layer in preallocated_cache(model.model).layers)
