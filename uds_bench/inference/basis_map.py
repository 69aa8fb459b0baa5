"""Maps from a model's block outputs into the full model's basis, one a layer, fitted on text that both are to keep.

A model can carry the same function in another basis: its residual stream permuted, rotated or scaled. Patched as they
are, its states mean nothing to the full model, which looks like erasure. The best orthogonal map undoes it exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from uds_bench.checkpoints import Checkpoint
from uds_bench.inference.batches import EntityBatch
from uds_bench.inference.hooks import reading
from uds_bench.inference.polar import nearest_orthogonal
from uds_bench.inference.states import run_body
from uds_bench.statistics import SEED

HALVES = 2
FILLED = 1e-9
"""Share of a matrix's length: more than rounding, and less than any direction that a position fixes."""
Align = Callable[[torch.Tensor, Sequence[int]], torch.Tensor]
"""States [layers, facts, T, width] of the facts in these places of the set, in the full model's basis."""


@dataclass(frozen=True)
class PairMoments:
    """Sums over positions of a source's states x and the full model's y, of every layer.

    `count`: positions; `x`, `y`: [layers, width]; `xx`, `yy`: [layers], squared lengths; `xy`: [layers, width, width].
    """

    count: int
    x: torch.Tensor
    y: torch.Tensor
    xx: torch.Tensor
    yy: torch.Tensor
    xy: torch.Tensor

    @classmethod
    def of(cls, x: torch.Tensor, y: torch.Tensor) -> PairMoments:
        """Of the states at some positions, each [layers, positions, width]."""
        x, y = x.double(), y.double()
        return cls(x.shape[1], x.sum(1), y.sum(1), x.square().sum((1, 2)), y.square().sum((1, 2)), x.mT @ y)

    def __add__(self, other: PairMoments) -> PairMoments:
        sums = (getattr(self, name) + getattr(other, name) for name in ("count", "x", "y", "xx", "yy", "xy"))
        return PairMoments(*sums)

    def about(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """`xx`, `yy` and `xy` of the states less these means, [layers, width] each."""
        xx = self.xx - 2 * (x * self.x).sum(-1) + self.count * x.square().sum(-1)
        yy = self.yy - 2 * (y * self.y).sum(-1) + self.count * y.square().sum(-1)
        outer = torch.einsum("li,lj->lij", x, self.y) + torch.einsum("li,lj->lij", self.x, y)
        return xx, yy, self.xy - outer + self.count * torch.einsum("li,lj->lij", x, y)


@dataclass(frozen=True)
class Map:
    """x -> (x - source) @ turn + target, a layer each; `turn` is orthogonal but for one factor a layer.

    `source`, `target`: [layers, width]; `turn`: [layers, width, width]. `open`: [layers], directions that the positions
    leave open, 0 where there is one best map. Fewer positions than the width and one more leave so many open at least.
    """

    source: torch.Tensor
    target: torch.Tensor
    turn: torch.Tensor
    open: NDArray[np.float64]

    @classmethod
    def fit(cls, found: PairMoments) -> Map:
        """The orthogonal map with the least squared error, and the factor that gives both sides the same spread.

        Source: orthogonal Procrustes problem, Schoenemann 1966. NaN of a layer whose states are not finite.
        """
        x, y = found.x / found.count, found.y / found.count
        xx, yy, xy = found.about(x, y)
        turns, still, missing = [], [], max(0, x.shape[-1] + 1 - found.count)
        for one in xy:
            known = one.nan_to_num()
            # A map that is open in any case is any that fits: on a GPU the singular values of a wide one take minutes.
            turned, left_open = nearest_orthogonal(_filled(known) if missing else known)
            turns.append(turned if torch.isfinite(one).all() else torch.full_like(one, torch.nan))
            still.append(max(left_open, missing))
        return cls(x, y, torch.stack(turns) * (yy / xx).sqrt()[:, None, None], np.array(still, np.float64))

    def explained(self, found: PairMoments) -> NDArray[np.float64]:
        """Share of the full model's variance that the map explains at some positions, [layers], at most 1."""
        xx, yy, xy = found.about(self.source, self.target)
        square = self.turn.square().sum((1, 2)) / self.turn.shape[-1]  # an orthogonal map times its factor
        error = yy - 2 * (self.turn * xy).sum((1, 2)) + square * xx
        spread = found.about(found.x / found.count, found.y / found.count)[1]
        share: NDArray[np.float64] = (1 - error / spread).cpu().numpy()
        return share

    def __call__(self, states: torch.Tensor) -> torch.Tensor:
        """States [layers, facts, T, width] in the full model's basis."""
        # One product a layer: over facts as well, each would get a copy of the whole map.
        moved = (states.double().flatten(1, 2) - self.source[:, None]) @ self.turn + self.target[:, None]
        return moved.to(states.dtype).view_as(states)


def _filled(matrix: torch.Tensor) -> torch.Tensor:
    """The matrix with a little of every direction in it."""
    filled: torch.Tensor = matrix + FILLED * matrix.norm() * torch.eye(len(matrix)).to(matrix)
    return filled


@dataclass(frozen=True)
class Alignment:
    """The map of one source, fitted on all of the text that is kept, and on each half of the people in it.

    `halves`: the map that was fitted without a half, by half. `half_of`: of each fact of that text. `fit`: [layers],
    variance explained in the half that a map was not fitted on, the lower of both.
    """

    whole: Map
    halves: tuple[Map, ...]
    half_of: tuple[int, ...]
    fit: NDArray[np.float64]
    turned: bool = False

    def elsewhere(self, states: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
        """States of facts that the map was not fitted on, aligned."""
        return self.whole(turn(states) if self.turned else states)

    def held_out(self, states: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
        """States of facts of that text, each aligned by the map that was fitted without its half."""
        aligned = [one(turn(states) if self.turned else states) for one in self.halves]
        return torch.stack([aligned[self.half_of[row]][:, at] for at, row in enumerate(rows)], dim=1)


def turn(states: torch.Tensor) -> torch.Tensor:
    """States in a basis drawn at random: the same function, were the weights turned with them.

    Args:
        states: [..., width].

    Returns:
        [..., width], in float64: not rounded, so that a map can bring back the very states. Lengths stay as they were.

    Example:
        >>> states = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
        >>> turn(states).norm(dim=-1)
        tensor([5., 0.], dtype=torch.float64)
    """
    width = states.shape[-1]
    drawn = torch.randn(width, width, generator=torch.Generator().manual_seed(SEED), dtype=torch.float64)
    basis = torch.linalg.qr(drawn)[0].to(states.device)
    turned: torch.Tensor = states.double() @ basis  # not rounded: the map is to bring back the very states
    return turned


@torch.inference_mode()
def align(
    source: Checkpoint,
    batches: Sequence[EntityBatch],
    targets: Iterable[torch.Tensor],
    half_of: Sequence[int],
    turned: bool = False,
) -> Alignment:
    """Fit a source's maps into the full model's basis, at every position of the batches' text.

    Args:
        source: The model whose states are mapped.
        batches: Facts that are to be kept: none of them is to be forgotten.
        targets: Of each batch the full model's states, see `block_states`.
        half_of: 0 or 1 of each fact; the facts of one person are in one half.
        turned: Whether the source's states are turned first, as a control.

    Returns:
        The maps, and how well they fit.
    """
    sums: list[PairMoments | None] = [None] * HALVES
    for batch, y in zip(batches, targets, strict=True):
        x = block_states(source, batch)
        x = turn(x) if turned else x
        for half in range(HALVES):
            inside = torch.tensor([half_of[row] == half for row in batch.rows], device=batch.mask.device)
            kept = batch.mask.bool() & inside[:, None]
            if kept.any():
                found = PairMoments.of(x[:, kept], y[:, kept].to(x.device))
                before = sums[half]
                sums[half] = found if before is None else before + found
    first, second = sums
    assert first is not None
    assert second is not None
    halves = Map.fit(second), Map.fit(first)
    fit = np.minimum(halves[0].explained(first), halves[1].explained(second))
    return Alignment(Map.fit(first + second), halves, tuple(half_of), fit, turned)


@torch.inference_mode()
def block_states(model: Checkpoint, batch: EntityBatch) -> torch.Tensor:
    """Every block's output at every position of a batch.

    Args:
        model: The model that is read.
        batch: Facts, [facts, length] with its padding.

    Returns:
        [layers, facts, length, width], in the model's dtype; what stands at padding means nothing.
    """
    blocks = {str(i): block for i, block in enumerate(model.anatomy.blocks)}
    with reading(blocks, lambda hidden: hidden) as kept:
        run_body(model, batch)
    return torch.stack([kept[str(i)] for i in range(len(blocks))])
