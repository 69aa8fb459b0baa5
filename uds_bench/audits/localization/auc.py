"""Exact ROC AUC of a score a weight, however many weights there are: positives are held, negatives only pass by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.localization.families import FAMILIES, Family
from uds_bench.audits.localization.names import Target
from uds_bench.audits.localization.reading import CheckpointSet, Marks
from uds_bench.checkpoints.masks import Masks
from uds_bench.errors import UdsError
from uds_bench.statistics import LEVEL, Interval, zero_rate_bound

Scores = NDArray[np.float32]
CHUNK = 1 << 23
"""Negatives that are sorted at a time, from however many pieces: 32 MiB."""
ROOM = 16
"""Where positives need more room, a share of 1/16 is made beyond what they need."""
BLOCK = 1 << 14
"""Scores that are looked up at a time: what lies between them fits into a processor's cache."""


@dataclass(frozen=True)
class Auc:
    """P(positive > negative) + P(tie)/2 as a ratio of whole numbers: `twice_wins` of 2 x positives x negatives.

    0 to 1; 0.5 is what scores give that know nothing of the labels. NaN where either side is empty. `unsure`: pairs so
    near each other that which is above was not looked at; they count as ties, and the interval has them either way.
    """

    twice_wins: int
    positives: int
    negatives: int
    unsure: int = 0

    @property
    def value(self) -> float:
        """P(positive > negative) + P(tie)/2, 0 to 1; NaN where either side is empty."""
        pairs = 2 * self.positives * self.negatives
        return self.twice_wins / pairs if pairs else math.nan

    @property
    def slack(self) -> float:
        """How far the value may be from that of all pairs looked at, 0 to 0.5; 0: it is exact."""
        pairs = 2 * self.positives * self.negatives
        return self.unsure / pairs if pairs else math.nan

    @property
    def interval(self) -> Interval:
        """As `interval_of` one family."""
        return self.interval_of(1)

    def interval_of(self, families: int) -> Interval:
        """Bounds of the AUC that weights drawn independently would show, whatever the scores are distributed like.

        Normal, with the largest variance that an AUC can have: value (1 - value) / min(positives, negatives). Where
        every pair is in the same order, that has no width, and the exact bound of as many independent pairs takes its
        place.

        Args:
            families: So many are looked at and one is chosen for its value: each is given its share of the error.

        Returns:
            Bounds within 0 to 1, wider the more families; NaN over none where a side is empty.

        Source: Birnbaum and Klose, 1957.

        Example:
            Half in order of 100 against 100 weights, 0.5 -+ 1.96 * sqrt(0.25 / 100):

            >>> found = Auc(10_000, 100, 100).interval
            >>> round(found.low, 3), round(found.high, 3)
            (0.402, 0.598)
        """
        units, level = min(self.positives, self.negatives), 1 - (1 - LEVEL) / families
        if not units:
            return Interval(math.nan, math.nan, "no weights on one side", 0)
        if self.value in (0.0, 1.0):
            reach = zero_rate_bound(units, level)
            low, high = (0.0, reach) if self.value == 0.0 else (1.0 - reach, 1.0)
            return Interval(low, high, "exact bound, all pairs in one order", units)
        wide = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(self.value * (1 - self.value) / units) + self.slack
        return Interval(max(0.0, self.value - wide), min(1.0, self.value + wide), "largest variance of an AUC", units)


def null_band(positives: int, negatives: int, families: int = 1) -> Interval:
    """Where the AUC of scores that know nothing of the labels lies, 95% of the time.

    Args:
        positives: Weights to be found.
        negatives: Weights that they are held against.
        families: So many are looked at and the highest is taken: each is given its share of the error.

    Returns:
        Bounds about 0.5, wider the more families and the fewer weights; NaN over none where a side is empty.

    Source: The variance of Mann and Whitney, 1947.

    Example:
        0.5 - 1.96 * sqrt(9 / (12 * 4 * 4)):

        >>> round(null_band(4, 4).low, 4)
        0.0757
    """
    if not positives or not negatives:
        return Interval(math.nan, math.nan, "no weights on one side", 0)
    deviation = math.sqrt((positives + negatives + 1) / (12 * positives * negatives))
    wide = NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / families) * deviation
    return Interval(
        0.5 - wide, 0.5 + wide, f"null of continuous scores, {families} families", min(positives, negatives)
    )


def exact_auc(positives: Iterable[Scores], negatives: Iterable[Scores]) -> Auc:
    """The AUC of scores that come in pieces; positives are kept and sorted, of negatives one piece at a time.

    Memory above the pieces: the positives, a sixteenth of them, and one chunk of negatives.

    Args:
        positives: Scores of the weights to be found, in pieces of any shape.
        negatives: Scores of those that they are held against, the same unit.

    Returns:
        A ratio of whole numbers, 0 to 1; higher: found better.

    Raises:
        UdsError: A score is no number: a rank among numbers it does not have.

    Source: Lacuna, section 4.2.

    Example:
        Of four pairs three are won and one is tied, 7 of 8 half wins:

        >>> exact_auc([np.float32([2]), np.float32([3])], [np.float32([1, 2])])
        Auc(twice_wins=7, positives=2, negatives=2, unsure=0)
    """
    held = _in_order(_gathered(positives))
    twice, passed = 0, 0
    for chunk in _chunks(negatives):
        passed += len(chunk)
        twice += _twice_wins(held, chunk)
    return Auc(twice, len(held), passed)


def _twice_wins(ours: Scores, theirs: Scores) -> int:
    """Twice the pairs in which ours is above, and once those in which it is equal; both sides in order.

    The fewer are looked up among the more, in blocks.
    """
    if len(ours) > len(theirs):
        return 2 * len(ours) * len(theirs) - _twice_wins(theirs, ours)
    twice = 0
    for start in range(0, len(ours), BLOCK):
        block = ours[start : start + BLOCK]
        first, last = theirs.searchsorted(block[0], "left"), theirs.searchsorted(block[-1], "right")
        between = theirs[first:last]
        below = between.searchsorted(block, "left")
        twice += 2 * (int(first) * len(block) + int(below.sum()))
        if len(between):
            # Only where the next is equal are there ties, and only these are looked up a second time.
            equal = between.take(below, mode="clip") == block
            twice += int((between.searchsorted(block[equal], "right") - below[equal]).sum())
    return twice


def _gathered(pieces: Iterable[Scores]) -> Scores:
    held, filled = np.empty(0, np.float32), 0
    for piece in pieces:
        flat = piece.reshape(-1)
        if filled + len(flat) > len(held):
            # Grown where it lies: to put pieces together afterwards would take the same room once more.
            held.resize(filled + len(flat) + filled // ROOM, refcheck=False)
        held[filled : filled + len(flat)] = flat
        filled += len(flat)
    return held[:filled]


def _chunks(pieces: Iterable[Scores]) -> Iterator[Scores]:
    room, filled = np.empty(CHUNK, np.float32), 0
    for piece in pieces:
        flat = piece.reshape(-1)
        while len(flat):
            taken = flat[: CHUNK - filled]
            room[filled : filled + len(taken)] = taken
            filled, flat = filled + len(taken), flat[len(taken) :]
            if filled == CHUNK:
                yield _in_order(room)
                filled = 0
    if filled:
        yield _in_order(room[:filled])


def _in_order(scores: Scores) -> Scores:
    scores.sort()
    if len(scores) and np.isnan(scores[-1]):  # where sorting puts what is no number
        raise UdsError("a weight's score is no number: look for NaN or infinite weights in the checkpoints")
    return scores


def sides(masks: Masks, name: str, rows: slice, target: Target) -> tuple[Marks, Marks]:
    """Of some rows of a tensor, the weights to be found and those that they are held against."""
    named = masks.named("forget", "retain") if target == "forget_or_retain" else masks.named("forget")
    wanted = masks.among(name, rows, *named)
    among_groups = target == "forget_among_groups"
    return wanted, masks.among(name, rows, *masks.named("retain", "held_out")) if among_groups else ~wanted


def auc_of(lineup: CheckpointSet, family: Family, target: Target) -> Auc:
    """How well a score finds the target; every file is read twice, and only the wanted weights' scores are kept.

    Args:
        lineup: The checkpoints, side by side.
        family: The score.
        target: The weights to be found, and those that they are held against.

    Returns:
        An AUC, 0 to 1, higher: found better.

    Source: Lacuna, section 4.2; `forget_among_groups` is ours.
    """

    def picked(side: int) -> Iterator[Scores]:
        for name, rows, scores in lineup.scores(family):
            yield scores[sides(lineup.masks, name, rows, target)[side]]

    return exact_auc(picked(0), picked(1))


def edited(lineup: CheckpointSet) -> CheckpointSet:
    """The same update, scored within the tensors that it changed at all.

    It is what a method that chooses components can be asked.

    Raises:
        CheckpointError: It changed none, or no group has a weight there.

    Source: Lacuna, section 4.3.
    """
    raw, moved = FAMILIES["raw"], dict[str, bool]()
    for name, _, size in lineup.scores(raw):
        moved[name] = moved.get(name, False) or bool(size.any())
    words = {name: word for name, word in lineup.masks.words.items() if moved[name]}
    return CheckpointSet(lineup.folders, Masks(words, lineup.masks.groups))
