"""The matrices by which blocks write into the residual stream, which edits change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from uds_bench.checkpoints.anatomy import find_anatomy
from uds_bench.checkpoints.probe import seen, verify
from uds_bench.errors import CheckpointError

PLAIN = (nn.Linear, Conv1D)
"""What is edited; an adapter or quantized weights would answer otherwise than their matrix says."""


@dataclass(frozen=True)
class Projection:
    """`linear` maps keys [..., inner] to [..., width]; `norm`: what its output passes before it is added, if any."""

    linear: nn.Module
    norm: nn.Module | None

    def shift(self, wanted: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """By how much `output` of the matrix has to move so that what is added to the stream moves by `wanted`.

        Both [..., width]. Behind an RMS norm (OLMo 2, Gemma) the direction is exact and the length right for small
        shifts: the norm divides by the output's own length. A dimension that its gain cuts off stays.
        """
        if self.norm is None:
            return wanted
        gain = self.norm(torch.ones_like(output[:1]))
        length = output.square().mean(-1, keepdim=True).sqrt()
        return torch.where(gain == 0, 0.0, wanted * length / gain)

    def add(self, change: torch.Tensor) -> None:
        """Add [width, inner] to the matrix, in its own layout."""
        weight = self.linear.weight
        assert isinstance(weight, torch.Tensor)
        with torch.no_grad():
            weight.add_((change.T if type(self.linear) is Conv1D else change).to(weight.dtype))


def find_projections(model: Any) -> tuple[Projection, ...]:
    """One projection a block: the plain matrix that gives what its MLP adds, as a forward pass shows.

    Raises CheckpointError where a block has none, as with experts or an adapter.
    """
    anatomy = verify(model, find_anatomy(model))
    branches = anatomy.branch("mlp")
    outputs, inputs, _ = seen(model, [*branches, *(each for block in anatomy.blocks for each in _plain(block))])
    found = []
    for place, (block, branch) in enumerate(zip(anatomy.blocks, branches, strict=True)):
        own = _plain(branch)
        # A norm has no matrix of its own: it takes what one of the block gives.
        norm, given = (None, outputs[branch]) if own else (branch, inputs[branch])
        writing = [each for each in own or _plain(block) if each in outputs and torch.equal(outputs[each], given)]
        if not writing:
            raise CheckpointError(
                f"family {anatomy.family}, block {place}: what its MLP adds is given by no plain matrix: experts, "
                "adapters and quantized weights cannot be edited"
            )
        found.append(Projection(writing[-1], norm))
    return tuple(found)


def _plain(module: nn.Module) -> list[nn.Module]:
    """The plain layers in a module, or itself, but not those below an adapter."""
    return [each for name, each in module.named_modules() if type(each) in PLAIN and not name.endswith("base_layer")]
