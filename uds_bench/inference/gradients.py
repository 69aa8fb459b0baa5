"""Per-fact gradients with respect to the weight matrices of a decoder's blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import EncodedFact
from uds_bench.inference.batches import EntityBatch, entity_batches, gather_positions
from uds_bench.inference.hooks import reading
from uds_bench.inference.logprobs import token_logprobs
from uds_bench.inference.states import run_body


def entity_gradients(model: Checkpoint, encoded: Sequence[EncodedFact]) -> Iterator[tuple[int, list[torch.Tensor]]]:
    """The place of each fact, and the gradient of -mean log p(entity) by block, one fact at a time, longest first.

    A block's gradient is flat, [weights of the block], float32: those of its weight matrices (attention, MLP, experts
    and their router) one after the other; norms, biases, embeddings and head are left out. Quantized weights count as
    what they stand for, and an adapter that lies beside its base as part of it. The model is as before afterwards.
    """
    with _differentiable(model) as blocks:
        weights = [weight for block in blocks for weight in block]
        for batch in entity_batches(encoded, 1, model.device):
            with torch.enable_grad():
                flat = iter(torch.autograd.grad(_loss(model, batch), weights, materialize_grads=True))
            yield batch.rows[0], [torch.cat([next(flat).float().reshape(-1) for _ in block]) for block in blocks]


def _loss(model: Checkpoint, batch: EntityBatch) -> torch.Tensor:
    last = {"last": model.anatomy.blocks[-1]}
    with reading(last, lambda hidden: gather_positions(hidden, batch.predicting)) as kept:
        run_body(model, batch)
    return -batch.mean_over_entity(token_logprobs(model.anatomy.readout, kept["last"], batch.targets)).sum()


@contextmanager
def _differentiable(model: Checkpoint) -> Iterator[list[list[nn.Parameter]]]:
    """While open, the weight matrices of each block can be differentiated by; no other weight can."""
    wanted = {id(p): p.requires_grad for p in model.model.parameters()}
    swapped = [] if model.spec.quantization is None else _dequantize(model.anatomy.blocks)
    blocks = [_matrices(block) for block in model.anatomy.blocks]
    try:
        model.model.requires_grad_(False)
        for block in blocks:
            for weight in block:
                weight.requires_grad_(True)
        yield blocks
    finally:
        for parent, name, quantized in swapped:
            setattr(parent, name, quantized)
        for parameter in model.model.parameters():
            parameter.requires_grad_(wanted[id(parameter)])


def _matrices(block: nn.Module) -> list[nn.Parameter]:
    # A LoRA adapter adds its product to its base's output, so that the base's gradient is that of their sum.
    return [weight for name, weight in block.named_parameters() if weight.dim() > 1 and "lora_" not in name]


def _dequantize(blocks: Sequence[nn.Module]) -> list[tuple[nn.Module, str, nn.Module]]:
    """Put plain layers in the place of 4-bit ones, whose weights have no gradient; returns what stood where."""
    from bitsandbytes.nn.modules import Linear4bit  # takes seconds to import

    from uds_bench.checkpoints.quantization import dequantized

    found: list[tuple[nn.Module, str, nn.Module]] = []
    for block in blocks:
        for parent in list(block.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, Linear4bit):
                    plain = nn.Linear(child.in_features, child.out_features, bias=False, device="meta")
                    plain.weight = nn.Parameter(dequantized(child).to(child.compute_dtype or torch.float32))
                    plain.bias = child.bias
                    setattr(parent, name, plain)
                    found.append((parent, name, child))
    return found
