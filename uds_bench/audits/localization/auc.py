"""Exact ROC AUC of a score a weight, with its interval, and where that of blind scores lies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from uds_bench.errors import UdsError
from uds_bench.statistics import LEVEL, Interval, zero_rate_bound

Scores = NDArray[np.float32]
NO_NUMBER = "a weight's score is no number: look for NaN or infinite weights in the checkpoints"


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
    """The AUC of scores that come in pieces.

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
    ours, theirs = (_in_order(side) for side in (positives, negatives))
    if len(ours) > len(theirs):  # the fewer are looked up among the more
        return Auc(2 * len(ours) * len(theirs) - _twice_wins(theirs, ours), len(ours), len(theirs))
    return Auc(_twice_wins(ours, theirs), len(ours), len(theirs))


def _twice_wins(ours: Scores, theirs: Scores) -> int:
    """Twice the pairs in which ours is above, and once those in which it is equal; both sides in order."""
    return sum(int(theirs.searchsorted(ours, side).sum()) for side in ("left", "right"))


def _in_order(pieces: Iterable[Scores]) -> Scores:
    scores = np.concatenate([np.empty(0, np.float32), *(piece.reshape(-1) for piece in pieces)])
    scores.sort()
    if len(scores) and np.isnan(scores[-1]):  # where sorting puts what is no number
        raise UdsError(NO_NUMBER)
    return scores
