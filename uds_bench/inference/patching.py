"""Activation patching, the plain way: one forward pass of the full model per layer, states replaced by hook."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch

from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import EncodedFact
from uds_bench.inference.batches import EntityBatch, entity_batches, gather_positions
from uds_bench.inference.hooks import reading, reading_inputs, replacing
from uds_bench.inference.logprobs import greedy_tokens, token_logprobs
from uds_bench.inference.states import Scope, run_body, source_states


@torch.inference_mode()
def entity_logprobs(full: Checkpoint, batch: EntityBatch) -> torch.Tensor:
    """s^full: the full model's log-probability of each entity token, teacher forced.

    Args:
        full: The model that is read.
        batch: Facts, in its own tokens.

    Returns:
        [facts, T] in nats, at most 0; higher is more knowledge. Padding of shorter entities is in it (`batch.valid`).

    Source: UDS guide, section 3.2.
    """
    return token_logprobs(full.anatomy.readout, _last_states(full, batch), batch.targets)


@torch.inference_mode()
def patched_logprobs(
    full: Checkpoint, batch: EntityBatch, states: torch.Tensor, scope: Scope = "block"
) -> torch.Tensor:
    """s^S: the entity's log-probabilities with layer l of the full model patched, for every l.

    Patching a model with its own states changes nothing, bit for bit: replaced values equal the ones they replace, and
    every other operation is the same.

    Args:
        full: The model that is patched and read.
        batch: Facts, in its own tokens.
        states: From `source_states` with the same scope, [layers, facts, T, width]; cast to the full model's dtype.
        scope: What of a block is replaced.

    Returns:
        [layers, facts, T] in nats, at most 0; higher is more knowledge in the states.

    Raises:
        CheckpointError: The scope is a part of blocks that the family does not have.

    Source: UDS guide, section 3.2.
    """
    branches = full.anatomy.branch(scope)
    entering = _entering(full, batch) if scope == "attention_residual" else [None] * len(branches)
    layers = []
    for branch, new, before in zip(branches, states, entering, strict=True):
        with replacing(branch, partial(_put, batch=batch, new=new, before=before)):
            layers.append(entity_logprobs(full, batch))
    return torch.stack(layers)


@torch.inference_mode()
def patched_last_layer(full: Checkpoint, batch: EntityBatch, states: torch.Tensor) -> torch.Tensor:
    """s^S of the last layer alone, its block's output patched.

    Args:
        full: The model that is patched and read.
        batch: Facts, in its own tokens.
        states: Block outputs of the source's last layer, [facts, T, width].

    Returns:
        [facts, T] in nats, at most 0; higher is more knowledge in the states.
    """
    with replacing(full.anatomy.blocks[-1], partial(_put, batch=batch, new=states, before=None)):
        return entity_logprobs(full, batch)


@torch.inference_mode()
def _patched_greedy(full: Checkpoint, batch: EntityBatch, states: torch.Tensor) -> torch.Tensor:
    """[layers, facts, T]: the full model's most likely token at each place with block l's output patched."""
    layers = []
    for block, new in zip(full.anatomy.blocks, states, strict=True):
        with replacing(block, partial(_put, batch=batch, new=new, before=None)):
            layers.append(greedy_tokens(full.anatomy.readout, _last_states(full, batch)))
    return torch.stack(layers)


def _last_states(full: Checkpoint, batch: EntityBatch) -> torch.Tensor:
    last = full.anatomy.blocks[-1]
    with reading({"last": last}, lambda hidden: gather_positions(hidden, batch.predicting)) as kept:
        run_body(full, batch)
    return kept["last"]


def _put(hidden: torch.Tensor, batch: EntityBatch, new: torch.Tensor, before: torch.Tensor | None) -> torch.Tensor:
    new = new.to(hidden.dtype)
    if before is not None:
        # The stream after attention is what entered the block plus the branch. Adding the difference keeps
        # a model's own states exact: the difference is then 0, where (entered + branch) - entered rounds.
        own = gather_positions(hidden, batch.predicting)
        new = own + (new - (before + own))
    where = batch.predicting.unsqueeze(-1).expand_as(new)
    return hidden.scatter(1, where, new)


def _entering(full: Checkpoint, batch: EntityBatch) -> list[torch.Tensor]:
    blocks = {str(i): block for i, block in enumerate(full.anatomy.blocks)}
    with reading_inputs(blocks, lambda hidden: gather_positions(hidden, batch.predicting)) as kept:
        run_body(full, batch)
    return [kept[str(i)] for i in range(len(blocks))]


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
        patched=_patched_greedy(full, batch, states)[:, 0].tolist(),
        said=greedy_tokens(source.anatomy.readout, states[-1])[0].tolist(),
    )
