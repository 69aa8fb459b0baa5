"""All families against all targets, and what else is told of an update, in one read of its files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from uds_bench.audits.localization.auc import Auc
from uds_bench.audits.localization.auc_tally import Tally
from uds_bench.audits.localization.families import INJECTION, Change, Family, Part, Weights, in_deviations
from uds_bench.audits.localization.names import HEADLINE, Target
from uds_bench.audits.localization.reading import CheckpointSet, ScoreMoments, group
from uds_bench.audits.localization.sample import WeightSample
from uds_bench.checkpoints.masks import ROLES
from uds_bench.checkpoints.stored import pieces
from uds_bench.grouping import grouped

FORGET, RETAIN, HELD_OUT, NO_MASK = CLASSES = range(4)
SIDES: Mapping[Target, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "forget_among_groups": ((FORGET,), (RETAIN, HELD_OUT)),
    "forget": ((FORGET,), (RETAIN, HELD_OUT, NO_MASK)),
    "forget_or_retain": ((FORGET, RETAIN), (HELD_OUT, NO_MASK)),
}
"""By target the classes of weights to be found, and of those that they are held against, as `composite.sides` has them:
every weight is in one class, that of its group's role or of no group."""
UNMASKED = "unmasked"
"""|D_unmask|: not a family, but what contrasts are held against."""


@dataclass(frozen=True)
class Touched:
    """Of the wanted weights, how many unlearning left as they were; `elsewhere`: how many it moved that are in no
    wanted mask. Where that is 0, AUC = 1 - untouched/2."""

    wanted: int
    untouched: int
    elsewhere: int

    @property
    def share(self) -> float:
        """The share p0 of wanted weights that were left, 0 to 1; NaN where none is wanted."""
        return self.untouched / self.wanted if self.wanted else float("nan")


@dataclass
class Sweep:
    """What one read found; by class `sizes`: weights, `moved`: those that unlearning moved, `squares`: its length's."""

    tallies: dict[str, Tally]
    sizes: list[int] = field(default_factory=lambda: [0 for _ in CLASSES])
    moved: list[int] = field(default_factory=lambda: [0 for _ in CLASSES])
    squares: list[float] = field(default_factory=lambda: [0.0 for _ in CLASSES])

    def auc(self, family: str, target: Target) -> Auc:
        """How well a score finds the target."""
        return self.tallies[family].auc(*SIDES[target])

    @property
    def written(self) -> Auc | None:
        """How far injection moved the forget masks' weights beside those of no mask.

        By one half, or below, the masks may be another injection's, or what was learned beside the facts moved as
        much. None without the model before.
        """
        found = self.tallies.get(INJECTION.name)
        return None if found is None else found.auc([FORGET], [NO_MASK])

    @property
    def unmasked(self) -> Auc | None:
        """How the contrasts' own control is told by the masks that it was made without; None without one."""
        found = self.tallies.get(UNMASKED)
        return None if found is None else found.auc(*SIDES[HEADLINE])

    @property
    def touched(self) -> Touched:
        """What unlearning moved among the groups' weights (Lacuna, section 4.2)."""
        wanted = self.sizes[FORGET]
        return Touched(wanted, wanted - self.moved[FORGET], self.moved[RETAIN] + self.moved[HELD_OUT])

    def inside(self, unmaskable: float = 0.0) -> float:
        """Share of unlearning's squared length that lies inside the forget groups' masks.

        An AUC compares ranks: weights that were moved by next to nothing can stand above those that were left alone,
        while what forgets is moved elsewhere.

        Args:
            unmaskable: The share of that length in tensors that no mask could be in, 0 to 1.

        Returns:
            0 to 1, higher is more in its place; NaN of an update that moved nothing.

        Source: ours; Lacuna, section 4.2, has the ranks alone.

        Example:
            >>> Sweep({}, squares=[3.0, 1.0, 0.0, 0.0]).inside(unmaskable=0.5)
            0.375
        """
        if unmaskable == 1:
            return 0.0
        length = sum(self.squares)
        return (1 - unmaskable) * self.squares[FORGET] / length if length else math.nan


def sweep(lineup: CheckpointSet, families: Sequence[Family], sample: WeightSample | None = None) -> Sweep:
    """Score every weight by every family, each file's tensors read once.

    Memory: the tallies; the largest layer's component, 4 bytes a weight; the largest tensor, 24.

    Args:
        lineup: The checkpoints, side by side.
        families: The scores.
        sample: What is drawn of the same weights on the way.

    Returns:
        Everything that is told of the update.

    Raises:
        CheckpointError: As `CheckpointSet`.
        UdsError: A score is no number.

    Source: Lacuna, section 4.2.
    """
    names = [family.name for family in families]
    pointwise = [family for family in families if family.name not in ("qtile", "layernorm")]
    pointwise += [INJECTION] if "pretrained" in lineup.folders else []
    control = [UNMASKED] if "unmasked" in lineup.folders else []
    found = Sweep({name: Tally(len(CLASSES)) for name in (*names, *(f.name for f in pointwise), *control)})
    for tensors in grouped(lineup.masks.words, group).values():
        sizes, moments = list[list[Weights]](), ScoreMoments()
        for name in tensors:
            sizes.append(_tensor(lineup, name, pointwise, found, moments, sample))
            if "qtile" in names:
                _add(found.tallies["qtile"], quantiles(sizes[-1]))
        if "layernorm" in names:
            for one in sizes:
                _add(found.tallies["layernorm"], [in_deviations(size, moments.spread) for size in one])
    return found


def _tensor(
    lineup: CheckpointSet,
    name: str,
    families: Sequence[Family],
    found: Sweep,
    moments: ScoreMoments,
    sample: WeightSample | None,
) -> list[Weights]:
    """|D_unl| of a tensor by class; what hangs on single weights alone is filled in."""
    sizes: list[list[Weights]] = [[] for _ in CLASSES]
    for rows in pieces(tuple(lineup.masks.words[name].shape)):
        kinds = classes(lineup, name, rows)
        stored = {part: lineup.stored(part, name, rows).reshape(-1) for part in lineup.folders}
        if sample is not None:
            sample.take(name, kinds, stored)
        places = [np.flatnonzero(kinds == kind) for kind in CLASSES]
        order, bounds = np.concatenate(places), [0, *np.cumsum([len(one) for one in places]).tolist()]
        change = _change(lineup, name, stored, order)
        moments.add(change.unlearning)
        for family in families:
            found.tallies[family.name].add(family.score(change), bounds)
        if UNMASKED in found.tallies:
            found.tallies[UNMASKED].add(change.control, bounds)
        size = change.size
        for kind in CLASSES:
            one = size[bounds[kind] : bounds[kind + 1]]
            found.sizes[kind] += len(one)
            found.moved[kind] += int(np.count_nonzero(one))
            found.squares[kind] += float(np.square(one, dtype=np.float64).sum())
            sizes[kind].append(one)
    return [np.concatenate(one) for one in sizes]


def classes(lineup: CheckpointSet, name: str, rows: slice) -> NDArray[np.uint8]:
    """Of some rows of a tensor laid out flat, the class of each weight.

    Args:
        lineup: The checkpoints, side by side.
        name: The tensor.
        rows: Which of its rows.

    Returns:
        Places in `ROLES`, `NO_MASK` of a weight in none, [weights].
    """
    masks, found = lineup.masks, np.full(lineup.masks.words[name][rows].numel(), NO_MASK, np.uint8)
    word = masks.words[name][rows].reshape(-1)
    for kind, role in enumerate(ROLES):
        if named := masks.named(role):
            found[masks.within(word, *named).numpy()] = kind
    return found


def quantiles(sizes: Sequence[Weights]) -> list[Weights]:
    """By class, the share of all that each is further than, ties for half: `qtile` of a tensor, in another order.

    Example:
        >>> [one.tolist() for one in quantiles([np.float32([0.0, 2.0]), np.float32([2.0, 4.0])])]
        [[0.125, 0.5], [0.5, 0.875]]
    """
    # Numbers that are not negative are in the order of their bits; below them lies whose they are.
    keys = np.concatenate([(one.view(np.uint32).astype(np.uint64) << 2) | np.uint64(k) for k, one in enumerate(sizes)])
    keys.sort()
    values, kinds = (keys >> np.uint64(2)).astype(np.uint32), (keys & np.uint64(3)).astype(np.uint8)
    first = np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])
    count = np.diff(first, append=len(values))
    scores = np.repeat(((first + count / 2) / max(1, len(values))).astype(np.float32), count)
    return [scores[kinds == kind] for kind in range(len(sizes))]


def _change(lineup: CheckpointSet, name: str, stored: Mapping[Part, torch.Tensor], order: NDArray[np.int64]) -> Change:
    read: dict[Part, Weights] = {part: lineup.numbers(part, name, one)[order] for part, one in stored.items()}
    unmasked = read["unmasked_unlearned"] - read["unmasked"] if "unmasked" in read else None
    return Change(read.get("pretrained"), read["injected"], read["unlearned"], unmasked)


def _add(tally: Tally, scores: Sequence[Weights]) -> None:
    tally.add(np.concatenate(scores), [0, *np.cumsum([len(one) for one in scores]).tolist()])
