"""What can be read off a model's layers, and what the full model makes of them: observation beside intervention."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import EncodedFact
from uds_bench.inference.batches import entity_batches
from uds_bench.inference.logprobs import greedy_tokens
from uds_bench.inference.patching import patched_greedy
from uds_bench.inference.states import source_states


@dataclass(frozen=True)
class LayerTokens:
    """Most likely tokens at the places of one fact's entity, teacher forced; ids, `target` the entity's own.

    `lens`: per layer, the source's block output read through the full model's norm and head; `patched`: per layer, the
    full model's with that output in place of its own; `said`: the source's own. UDS guide, table 4.
    """

    target: list[int]
    lens: list[list[int]]
    patched: list[list[int]]
    said: list[int]


@torch.inference_mode()
def layer_tokens(full: Checkpoint, source: Checkpoint, fact: EncodedFact) -> LayerTokens:
    """Both ways by hook, one fact; the two models must split it into the same tokens."""
    (batch,) = entity_batches([fact], 1, full.device)
    states = source_states(source, batch)
    return LayerTokens(
        target=batch.targets[0].tolist(),
        lens=greedy_tokens(full.anatomy.readout, states)[:, 0].tolist(),
        patched=patched_greedy(full, batch, states)[:, 0].tolist(),
        said=greedy_tokens(source.anatomy.readout, states[-1])[0].tolist(),
    )
