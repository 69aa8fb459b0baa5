"""Per-fact gradients with respect to the weight matrices of a decoder's blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import EncodedFact
from uds_bench.inference.batches import EntityBatch, entity_batches, gather_positions
from uds_bench.inference.hooks import reading
from uds_bench.inference.logprobs import token_logprobs
from uds_bench.inference.states import run_body

TOGETHER = 8
"""Facts in one pass: what autograd keeps for them must fit beside one fact's gradients."""
PLAIN = (nn.Linear, Conv1D)
"""Layers whose gradient is known from input and output; a subclass may compute otherwise."""


def entity_gradients(model: Checkpoint, encoded: Sequence[EncodedFact]) -> Iterator[tuple[int, list[torch.Tensor]]]:
    """The place of each fact, and the gradient of -mean log p(entity) by block, one fact at a time, longest first.

    A block's gradient is flat, [weights of the block], float32: those of its weight matrices (attention, MLP, experts
    and their router) one after the other; norms, biases, embeddings and head are left out. Quantized weights count as
    what they stand for, and an adapter that lies beside its base as part of it. The model is as before afterwards.
    """
    with _differentiable(model) as blocks:
        weights = [weight for block in blocks for weight in block]
        layers = _layers(model, weights, encoded)
        for batch in entity_batches(encoded, TOGETHER if layers else 1, model.device):
            gradients = _by_fact(model, batch, layers) if layers else _of_one(model, batch, weights)
            for row, flat in zip(batch.rows, map(iter, gradients), strict=True):
                yield row, [torch.cat([next(flat).float().reshape(-1) for _ in block]) for block in blocks]


def _of_one(model: Checkpoint, batch: EntityBatch, weights: Sequence[nn.Parameter]) -> Iterator[Sequence[torch.Tensor]]:
    """The gradients of a batch of one fact."""
    with torch.enable_grad():
        yield torch.autograd.grad(_loss(model, batch), weights, materialize_grads=True)


def _by_fact(model: Checkpoint, batch: EntityBatch, layers: Sequence[nn.Module]) -> Iterator[Iterator[torch.Tensor]]:
    """The gradients of each fact of a batch from one pass: over its tokens, input times gradient of the output."""
    with torch.enable_grad(), _calls(layers) as calls:
        loss = _loss(model, batch)
        inputs, outputs = zip(*(calls[layer][0] for layer in layers), strict=True)
        gradients = torch.autograd.grad(loss, outputs, materialize_grads=True)
    for i in range(len(batch.rows)):
        yield (
            x[i].T @ gradient[i] if type(layer) is Conv1D else gradient[i].T @ x[i]
            for layer, x, gradient in zip(layers, inputs, gradients, strict=True)
        )


def _layers(model: Checkpoint, weights: Sequence[nn.Parameter], encoded: Sequence[EncodedFact]) -> list[nn.Module]:
    """The layer of each matrix; none at all where one is no plain layer's that sees each fact once and apart.

    Experts and their routers see tokens without their facts.
    """
    plain = [m for block in model.anatomy.blocks for m in block.modules() if type(m) in PLAIN]
    owners = {id(layer.weight): layer for layer in plain}
    shared = len(owners) < len(plain)
    if not encoded or shared or not all(id(weight) in owners for weight in weights):
        return []
    layers, batch = [owners[id(weight)] for weight in weights], entity_batches(encoded, 2, model.device)[-1]
    with torch.inference_mode(), _calls(layers) as calls:
        run_body(model, batch)
    whole = batch.ids.shape
    once = all(len(calls[layer]) == 1 and calls[layer][0][0].shape[:-1] == whole for layer in layers)
    return layers if once else []


@contextmanager
def _calls(layers: Sequence[nn.Module]) -> Iterator[dict[nn.Module, list[tuple[torch.Tensor, torch.Tensor]]]]:
    """While open, input and output of each call of each layer land in the yielded dict."""
    calls: dict[nn.Module, list[tuple[torch.Tensor, torch.Tensor]]] = {layer: [] for layer in layers}

    def keep(layer: nn.Module, args: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        calls[layer].append((args[0].detach(), output))

    with ExitStack() as stack:
        for layer in calls:
            stack.callback(layer.register_forward_hook(keep).remove)
        yield calls


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
