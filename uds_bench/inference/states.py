"""What a source model carries at the positions that predict a fact's entity: the states that patching transplants."""

from __future__ import annotations

from typing import Literal

import torch

from uds_bench.checkpoints import Checkpoint
from uds_bench.inference.batches import EntityBatch, gather_positions
from uds_bench.inference.hooks import reading, reading_inputs

Scope = Literal["block", "attention", "attention_residual", "mlp"]


@torch.inference_mode()
def source_states(source: Checkpoint, batch: EntityBatch, scope: Scope = "block") -> torch.Tensor:
    """The source's states at the predicting positions, in one forward pass.

    Taken by hook from the modules themselves: the `hidden_states` that transformers returns hold, for the last layer,
    the state AFTER the final norm.

    Args:
        source: The model that is read.
        batch: Facts, in its own tokens.
        scope: `block`: the block's output; `attention`, `mlp`: what that branch adds to the residual stream;
            `attention_residual`: the stream after the attention branch was added.

    Returns:
        [layers, facts, T, width], in the source's dtype.

    Raises:
        CheckpointError: The scope is a part of blocks that the family does not have.

    Source: UDS guide, section 3.2.
    """
    anatomy = source.anatomy

    def keep(hidden: torch.Tensor) -> torch.Tensor:
        return gather_positions(hidden, batch.predicting)

    branch = anatomy.branch(scope)
    layers = range(len(anatomy.blocks))
    with (
        reading({str(i): branch[i] for i in layers}, keep) as outputs,
        reading_inputs({str(i): anatomy.blocks[i] for i in layers}, keep) as inputs,
    ):
        run_body(source, batch)
    if scope == "attention_residual":
        return torch.stack([inputs[str(i)] + outputs[str(i)] for i in layers])
    return torch.stack([outputs[str(i)] for i in layers])


def run_body(model: Checkpoint, batch: EntityBatch, **kwargs: object) -> None:
    """One pass through the blocks; the head is kept to one position, as hooks read what is needed."""
    # By an index, as a slice is no contiguous piece of memory: a head of 16 bits takes hundreds of times as long on it.
    last = torch.tensor([batch.ids.shape[1] - 1], device=batch.ids.device)
    model.model(**batch.inputs(), **{"use_cache": False, "logits_to_keep": last, **kwargs})


def published_states(source: Checkpoint, states: torch.Tensor) -> torch.Tensor:
    """The released code's variant of block states: the last layer's is taken after the source's final norm.

    Kept for comparability only: patched into the full model it is normed twice, so that patching a model with its
    own states changes its output.

    Args:
        source: The model that the states are of.
        states: Its block outputs, [layers, facts, T, width].

    Returns:
        [layers, facts, T, width].
    """
    return torch.cat([states[:-1], source.anatomy.norm(states[-1]).unsqueeze(0)])
