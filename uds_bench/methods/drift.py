"""What masked training did to weights of no mask: nothing, or how much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Drift:
    """Weights that could have been masked: how many of no mask moved, of how many, and the furthest by how much."""

    moved: int
    weights: int
    furthest: float

    def __str__(self) -> str:
        if not self.moved:
            return f"none of {self.weights:,} weights of no mask moved"
        return f"{self.moved:,} of {self.weights:,} weights of no mask moved, the furthest by {self.furthest:.3g}"


def drift(
    before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor], words: Mapping[str, torch.Tensor]
) -> Drift:
    """What moved outside every mask, among the parameters of `words` (of the masks); a NaN has moved, by NaN."""
    moved, weights, furthest = 0, 0, torch.tensor(0.0, dtype=torch.float64)
    for name, word in words.items():
        outside = word.cpu() == 0
        one, two = before[name].detach().cpu()[outside], after[name].detach().cpu()[outside]
        moved, weights = moved + int((one != two).sum()), weights + one.numel()
        if one.numel():
            furthest = torch.maximum(furthest, (two.double() - one.double()).abs().max())
    return Drift(moved, weights, float(furthest))
