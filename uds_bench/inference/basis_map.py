"""Maps from a model's block outputs into the full model's basis, one a layer, fitted on text that both are to keep.

A model can carry the same function in another basis: its residual stream permuted, rotated or scaled. Patched as they
are, its states mean nothing to the full model, which looks like erasure. The best orthogonal map undoes it exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    """Sums over positions of a source's states x and the full model's y, of every layer, in main memory: of a model of
    eight billion weights they take four GB in float64, which a GPU that holds two models may not have.

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
        sums, squares = ([one.sum(1).cpu() for one in (x, y)], [one.square().sum((1, 2)).cpu() for one in (x, y)])
        xy = torch.stack([(one.mT @ other).cpu() for one, other in zip(x, y, strict=True)])
        return cls(x.shape[1], sums[0], sums[1], squares[0], squares[1], xy)

    def __add__(self, other: PairMoments) -> PairMoments:
        sums = (getattr(self, name) + getattr(other, name) for name in ("count", "x", "y", "xx", "yy", "xy"))
        return PairMoments(*sums)

    def about(self, x: torch.Tensor, y: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """`xx`, `yy` and `xy` of the states less these means, [layers, width] each, layer by layer."""
        for a, b, x_sum, y_sum, xx, yy, xy in zip(x, y, self.x, self.y, self.xx, self.yy, self.xy, strict=True):
            outer = torch.outer(a, y_sum) + torch.outer(x_sum, b)
            yield (
                xx - 2 * (a * x_sum).sum() + self.count * a.square().sum(),
                yy - 2 * (b * y_sum).sum() + self.count * b.square().sum(),
                xy - outer + self.count * torch.outer(a, b),
            )


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
    def fit(cls, found: PairMoments, device: torch.device | str = "cpu") -> Map:
        """The orthogonal map with the least squared error, and the factor that gives both sides the same spread.

        Source: orthogonal Procrustes problem, Schoenemann 1966. NaN of a layer whose states are not finite.
        """
        x, y = found.x / found.count, found.y / found.count
        turns, still, missing = [], [], max(0, x.shape[-1] + 1 - found.count)
        for xx, yy, xy in found.about(x, y):
            known = xy.nan_to_num().to(device)
            # A map that is open in any case is any that fits: on a GPU the singular values of a wide one take minutes.
            turned, left_open = nearest_orthogonal(_filled(known) if missing else known)
            turned = turned.cpu() if torch.isfinite(xy).all() else torch.full_like(xy, torch.nan)
            turns.append(turned * (yy / xx).sqrt())
            still.append(max(left_open, missing))
        return cls(x, y, torch.stack(turns), np.array(still, np.float64))

    def explained(self, found: PairMoments) -> NDArray[np.float64]:
        """Share of the full model's variance that the map explains at some positions, [layers], at most 1."""
        spread, shares = found.yy - found.y.square().sum(-1) / found.count, []
        for turn, whole, (xx, yy, xy) in zip(self.turn, spread, found.about(self.source, self.target), strict=True):
            square = turn.square().sum() / len(turn)  # an orthogonal map times its factor
            error = yy - 2 * (turn * xy).sum() + square * xx
            shares.append(float(1 - error / whole))
        return np.array(shares)

    def __call__(self, states: torch.Tensor) -> torch.Tensor:
        """States [layers, facts, T, width] in the full model's basis."""
        # One product a layer: over facts as well, each would get a copy of the whole map.
        moved = torch.empty_like(states)
        for at, parts in enumerate(zip(self.source, self.target, self.turn, strict=True)):
            source, target, turn = (part.to(states.device) for part in parts)
            aligned = (states[at].double().flatten(0, 1) - source) @ turn + target
            moved[at] = aligned.view_as(states[at])
        return moved


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
    halves = Map.fit(second, x.device), Map.fit(first, x.device)
    fit = np.minimum(halves[0].explained(first), halves[1].explained(second))
    return Alignment(Map.fit(first + second, x.device), halves, tuple(half_of), fit, turned)


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
