"""The matrix through which each block's feed-forward module writes into the stream, whatever the family calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from uds_bench.checkpoints.anatomy import LAYOUTS, USUAL, find_anatomy
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
    """One a block. Raises CheckpointError where a block has no single plain one, as with experts or an adapter."""
    anatomy = find_anatomy(model)
    layout, found = LAYOUTS.get(anatomy.family, USUAL), []
    for place, (block, branch) in enumerate(zip(anatomy.blocks, anatomy.mlp, strict=True)):
        inner = getattr(block, layout.mlp, None)
        linear = getattr(inner, layout.down, None)
        if type(linear) not in PLAIN:
            what = "none" if linear is None else f"a {type(linear).__name__}"
            raise CheckpointError(
                f"family {anatomy.family}, block {place}: {layout.mlp}.{layout.down} is to be one plain matrix and is "
                f"{what}: experts, adapters and quantized weights cannot be edited; other names go into LAYOUTS"
            )
        assert isinstance(linear, nn.Module)
        found.append(Projection(linear, None if branch is inner else branch))
    return tuple(found)
