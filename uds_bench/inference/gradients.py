"""Per-fact gradients with respect to the weight matrices of a decoder's blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from uds_bench.checkpoints import Checkpoint
from uds_bench.checkpoints.placement import is_spread
from uds_bench.checkpoints.projections import PLAIN
from uds_bench.errors import CheckpointError
from uds_bench.facts import EncodedFact
from uds_bench.inference.batches import EntityBatch, entity_batches, gather_positions
from uds_bench.inference.hooks import reading
from uds_bench.inference.logprobs import token_logprobs
from uds_bench.inference.states import run_body

TOGETHER = 8
"""Facts in one pass: what autograd keeps for them must fit beside one fact's gradients."""
PLACES_PER_STEP = 512
"""Entries of a matrix summed at once: what they are summed of stays in the processor's cache."""
Parts = Sequence[torch.Tensor | None]
"""For each of several flat gradients, indices into it; None: all of it."""


def entity_gradients(
    model: Checkpoint,
    encoded: Sequence[EncodedFact],
    places: Sequence[torch.Tensor] | None = None,
    which: slice = slice(None),
) -> Iterator[tuple[int, list[torch.Tensor]]]:
    """The gradient of -mean log p(entity) by the weights of each block, one fact at a time, the longest first.

    A block's weights are its matrices (attention, MLP, experts and their router), one after the other; norms, biases,
    embeddings and head are left out. Quantized weights count as what they stand for, and an adapter that lies beside
    its base as part of it. The model is as before afterwards.

    Args:
        model: The model whose gradients are taken.
        encoded: The facts in its own tokens, [facts].
        places: For each block of `which`, indices into its weights; without it, all of them.
        which: Blocks; nothing is kept of the others.

    Yields:
        The place of each fact, and a flat gradient a block, [weights of the block] or [places] in their order, float32,
        in nats a unit of weight.

    Raises:
        CheckpointError: The model is spread over a GPU and main memory.
    """
    with _differentiable(model, which) as blocks:
        weights = [weight for block in blocks for weight in block]
        layers = _layers(model, weights, encoded)
        asked: Parts = [None for _ in blocks] if places is None else places
        chosen = [_chosen(*pair, model.device) for pair in zip(blocks, asked, strict=True)]
        parts = [part for block, _ in chosen for part in block]
        for batch in entity_batches(encoded, TOGETHER if layers else 1, model.device):
            found = iter(_by_fact(model, batch, layers, parts) if layers else _of_one(model, batch, weights, parts))
            by_block = [([next(found) for _ in block], order) for block, order in chosen]
            for row in batch.rows:
                yield row, [torch.cat([next(facts) for facts in block])[order] for block, order in by_block]


def _chosen(
    block: Sequence[nn.Parameter], places: torch.Tensor | None, device: torch.device
) -> tuple[Parts, torch.Tensor | slice]:
    """For each matrix of a block, the places in it, flat and ascending; and how all these come into their order."""
    if places is None:
        return [None for _ in block], slice(None)
    sizes = torch.tensor([weight.numel() for weight in block], device=device)
    ascending, order = places.to(device).sort()
    ends = sizes.cumsum(0)
    counts = torch.searchsorted(ascending, ends).diff(prepend=sizes.new_zeros(1))
    starts = (ends - sizes).repeat_interleave(counts)
    return torch.split(ascending - starts, counts.tolist()), order.argsort()


def _of_one(
    model: Checkpoint, batch: EntityBatch, weights: Sequence[nn.Parameter], parts: Parts
) -> list[Iterator[torch.Tensor]]:
    """Of each matrix, the gradient of a batch of one fact."""
    with torch.enable_grad():
        gradients = torch.autograd.grad(_loss(model, batch), weights, materialize_grads=True)
    flat = [gradient.reshape(-1) for gradient in gradients]
    asked = [g if at is None else g[at] for g, at in zip(flat, parts, strict=True)]
    return [map(torch.Tensor.float, [each]) for each in asked]  # widened one at a time, when its turn comes


def _by_fact(
    model: Checkpoint, batch: EntityBatch, layers: Sequence[nn.Module], parts: Parts
) -> list[Iterator[torch.Tensor]]:
    """Of each matrix, the gradients of each fact from one pass: over its tokens, input times gradient of the output."""
    with torch.enable_grad(), _calls(layers) as calls:
        loss = _loss(model, batch)
        inputs, outputs = zip(*(calls[layer][0] for layer in layers), strict=True)
        gradients = torch.autograd.grad(loss, outputs, materialize_grads=True)
    return [
        _products(x, gradient, at) if type(layer) is Conv1D else _products(gradient, x, at)
        for layer, x, gradient, at in zip(layers, inputs, gradients, parts, strict=True)
    ]


def _products(left: torch.Tensor, right: torch.Tensor, at: torch.Tensor | None) -> Iterator[torch.Tensor]:
    """`left.T @ right` of each fact, flat: [facts, tokens, rows] and [facts, tokens, columns].

    At some places only, the matrix is never formed. Each place is summed over a row of memory of its own: on the CPU it
    comes out the same to the last bit whatever others are asked for, and a reference's distance to itself is 0.
    """
    if at is None:
        yield from ((a.T @ b).float().reshape(-1) for a, b in zip(left, right, strict=True))
    else:
        rows, columns = left.mT.float().contiguous(), right.mT.float().contiguous()
        steps = [(some // columns.shape[1], some % columns.shape[1]) for some in torch.split(at, PLACES_PER_STEP)]
        yield from torch.cat([(rows.index_select(1, i) * columns.index_select(1, j)).sum(-1) for i, j in steps], dim=1)


def _layers(model: Checkpoint, weights: Sequence[nn.Parameter], encoded: Sequence[EncodedFact]) -> list[nn.Module]:
    """The layer of each matrix; none at all where one is no plain layer's that sees each fact once and apart.

    Experts and their routers see tokens without their facts.
    """
    # Their gradient is known from input and output; a subclass may compute otherwise.
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
def _differentiable(model: Checkpoint, which: slice) -> Iterator[list[list[nn.Parameter]]]:
    """While open, the weight matrices of each of these blocks can be differentiated by; no other weight can.

    Raises CheckpointError for a model that is spread over a GPU and main memory.
    """
    if is_spread(model.model):
        raise CheckpointError(
            f"{model.spec.model} does not fit into the GPU whole, where its gradients are taken: use a GPU with more "
            "memory, or leave out metrics of gradients (fisher)"
        )
    wanted = {id(p): p.requires_grad for p in model.model.parameters()}
    swapped = [] if model.spec.quantization is None else _dequantize(model.anatomy.blocks, model.model.dtype)
    blocks = [_matrices(block) for block in model.anatomy.blocks[which]]
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


def block_sizes(model: Checkpoint) -> list[int]:
    """How many weights of each block `entity_gradients` gives: of quantized ones, what they stand for.

    Args:
        model: The model whose gradients would be taken.

    Returns:
        Weights, [layers].

    Raises:
        CheckpointError: The model is spread over a GPU and main memory.
    """
    with _differentiable(model, slice(None)) as blocks:
        return [sum(weight.numel() for weight in block) for block in blocks]


def _dequantize(blocks: Sequence[nn.Module], dtype: torch.dtype) -> list[tuple[nn.Module, str, nn.Module]]:
    """Put plain layers in the place of quantized ones, whose weights have no gradient; returns what stood where."""
    from uds_bench.checkpoints.quantization import QUANTIZED, compute_dtype, dequantized  # takes seconds to import

    found: list[tuple[nn.Module, str, nn.Module]] = []
    for block in blocks:
        for parent in list(block.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, QUANTIZED):
                    plain = nn.Linear(child.in_features, child.out_features, bias=False, device="meta")
                    plain.weight = nn.Parameter(dequantized(child).to(compute_dtype(child) or dtype))
                    plain.bias = child.bias
                    setattr(parent, name, plain)
                    found.append((parent, name, child))
    return found
