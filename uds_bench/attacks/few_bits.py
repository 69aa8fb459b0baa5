"""Simulated quantization to few bits: from how many on what a model holds is still found (WikiMem, section 6)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import nn
from torch.nn.functional import pad
from transformers.pytorch_utils import Conv1D

from uds_bench.attacks.attack import Attack, load_full
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.errors import CheckpointError, ConfigurationError
from uds_bench.facts import FactSet

MOST_BITS = 8
"""Bits; with more, 16-bit floats no longer tell the levels apart."""
LEAST_SHARE = 0.9
"""Of the blocks' weights that has to be reached, as for NF4: fewer, and the checkpoint is hardly quantized."""
CHUNK = 2**24
"""Weights rounded at once: a bound on the memory that their 64-bit floats take."""


def rounded(weights: torch.Tensor, bits: int, block: int) -> torch.Tensor:
    """The weights, each at the nearest of 2^bits levels of its block.

    With n = 2^bits the levels are scale * {-1, -(n-3)/(n-1), ..., -1/(n-1), 1/(n-1), ..., (n-3)/(n-1), 1}, such as
    scale * {-1, -1/3, 1/3, 1} for 2 bits. The scale is the largest magnitude of the block for 2 bits or more, and the
    mean one for 1 bit, whose levels are scale * {-1, 1}. No level is zero: a zero goes to the lowest positive level,
    and a weight halfway to the outer of the two. Rounding what is rounded changes nothing.

    Args:
        weights: Of any floating dtype, [..., in].
        bits: 1 to 8.
        block: How many weights next to each other along the last dimension share a scale; the last ones may be fewer.

    Returns:
        [..., in], in the dtype of the weights.

    Source: WikiMem, section 6; the scale of 1 bit: XNOR-Net, section 3.1.

    Example:
        >>> rounded(torch.tensor([0.9, -0.5, 0.7, 0.0]), bits=2, block=4)
        tensor([ 0.9000, -0.3000,  0.9000,  0.3000])
    """
    columns = weights.shape[-1]
    block = min(block, columns)
    rest = -columns % block
    # 64 bits: with weights of 32 or fewer, which level is nearest and the mean of equal magnitudes come out exact.
    blocks = pad(weights.double(), (0, rest)).reshape(*weights.shape[:-1], -1, block)
    size, top = blocks.abs(), 2**bits - 1
    if bits == 1:
        counts = torch.full(blocks.shape[-2:-1], block, device=weights.device)
        counts[-1] -= rest
        scale = (size.sum(-1) / counts).unsqueeze(-1)
    else:
        scale = size.amax(-1, keepdim=True)
    halves = (2 * scale).clamp(min=torch.finfo(scale.dtype).tiny)  # a block of zeros stays one
    levels = 2 * (size * top / halves).floor().clamp(max=top // 2) + 1
    values: torch.Tensor = torch.where(blocks < 0, -1, 1) * (levels * scale / top)
    return values.flatten(-2)[..., :columns].to(weights.dtype)


def matrices(checkpoint: Checkpoint) -> Iterator[torch.Tensor]:
    """The weights that are rounded: of the blocks, those that bitsandbytes would quantize, and the matrices of experts.

    The former are linear layers and GPT-2's transposed ones; experts are not reached by bitsandbytes. Embeddings,
    norms, biases, routers, the head and a vision tower are left.

    Args:
        checkpoint: A loaded model, not quantized.

    Yields:
        Views of its own weights, one at a time, each [out, in]: what is written into one changes the model.

    Raises:
        CheckpointError: Whole matrices are not to be had (an adapter beside its base), or too few are found.
    """
    spec, modules = checkpoint.spec, [m for block in checkpoint.anatomy.blocks for m in block.modules()]
    if any(hasattr(module, "base_layer") for module in modules):
        raise CheckpointError(
            f"{spec.model}: its adapter {spec.adapter} lies beside the weights in {checkpoint.model.dtype}, and only "
            'whole matrices can be rounded: load it with dtype = "float32", which merges it'
        )
    found = [view for module in modules for view in _views(module)]
    every = sum(p.numel() for block in checkpoint.anatomy.blocks for p in block.parameters() if p.dim() > 1)
    share = sum(view.numel() for view in found) / max(every, 1)
    if share < LEAST_SHARE:
        raise CheckpointError(
            f"{spec.model}: only {share:.0%} of the weights in the blocks of family {checkpoint.anatomy.family} are "
            f"matrices that {__name__} knows, so that it would hardly be quantized: leave few bits out for this family"
        )
    yield from found


def _views(module: nn.Module) -> Iterator[torch.Tensor]:
    if type(module) is nn.Linear:
        yield module.weight
    elif isinstance(module, Conv1D):
        yield module.weight.T
    elif (transposed := getattr(module, "is_transposed", None)) is not None:  # HF's mark of experts in one tensor
        for parameter in module.parameters(recurse=False):
            if parameter.dim() == 3:
                yield from (parameter.mT if transposed else parameter).unbind()


def _apply(spec: CheckpointSpec, device: str, _facts: FactSet, *, bits: int, block: int) -> Checkpoint:
    checkpoint = load_full(spec, device, f"bits{bits}")
    with torch.no_grad():
        for matrix in matrices(checkpoint):
            for rows in torch.split(matrix, max(CHUNK // matrix.shape[1], 1)):
                rows.copy_(rounded(rows, bits, block))
    return checkpoint


def few_bits(bits: int, block: int = 64) -> Attack:
    """Weights of the blocks rounded to 2^`bits` levels, `block` at a time, and kept as floats: an ablation of ours.

    Simulated: the arithmetic stays in the checkpoint's dtype. Raises ConfigurationError for bits that are not 1 to 8
    and blocks of no weight.
    """
    if type(bits) is not int or not 1 <= bits <= MOST_BITS:
        raise ConfigurationError(f"few_bits: bits = {bits!r} must be a whole number from 1 to {MOST_BITS}")
    if type(block) is not int or block < 1:
        raise ConfigurationError(f"few_bits: block = {block!r} must be a whole number of weights, 1 or more")
    apply = partial(_apply, bits=bits, block=block)
    return Attack(f"bits{bits}", 1, "WikiMem, section 6 (simulated)", apply, {"bits": bits, "block": block})
