"""Scores by class of weights, counted as they pass by: exact while there are few, in narrow buckets from then on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.localization.auc import NO_NUMBER, Auc, Scores, exact_auc
from uds_bench.errors import UdsError

EXACT_SCORES = 1 << 22
"""Scores that are held as they are: 16 MiB."""
LOW = 10
"""Bits of a float32 that a bucket leaves out: it keeps 13 of the 23 behind the point, so that it is 1/8192 wide."""
BUCKETS = 1 << (32 - LOW)
ZERO = np.uint32(1 << 31)
"""The place of 0 among all numbers in order."""
OFTEN = 32
"""If so many of the scores added at once share a value, they are counted by that value: these are known ties."""
CROWD = 256
"""If a bucket has one in so many of the scores added at once, it is counted value by value from then on."""
MOST_TIES = 1 << 20
"""Number of values that are listed before repeated ones are put together."""
Keys = NDArray[np.uint32]
Counts = NDArray[np.int64]


class Tally:
    """The scores of one family over all weights, from which every AUC between classes can be computed.

    A bucket's scores are neighbours among the float32 numbers, and which of two is larger is not known: such pairs are
    `Auc.unsure`. Frequent values are counted one by one instead, such as 0 and the few differences that bfloat16 has.
    So are crowded buckets, such as the one below 1 where injection was taken back whole.
    Memory does not grow with the number of scores: 8 bytes a bucket and class, 12 a value and class.
    """

    def __init__(self, classes: int) -> None:
        self._held: list[list[Scores]] = [[] for _ in range(classes)]
        self._count = 0
        self._buckets: Buckets | None = None

    def add(self, scores: Scores, bounds: Sequence[int]) -> None:
        """Add scores, in order of classes.

        Args:
            scores: [n], any unit.
            bounds: [classes + 1], class i has those from `bounds[i]` to `bounds[i + 1]`.

        Raises:
            UdsError: A score is no number.
        """
        if len(scores) and np.isnan(scores.max()):  # which keeps what is no number
            raise UdsError(NO_NUMBER)
        self._count += len(scores)
        if self._buckets is None and self._count > EXACT_SCORES:
            self._buckets = Buckets(len(self._held))
            for kind, held in enumerate(self._held):
                for piece in held:
                    self._buckets.add(kind, piece)
            self._held.clear()
        for kind, (first, last) in enumerate(pairwise(bounds)):
            if self._buckets is None:
                self._held[kind].append(scores[first:last])
            else:
                self._buckets.add(kind, scores[first:last])

    def auc(self, wanted: Sequence[int], others: Sequence[int]) -> Auc:
        """The AUC of some classes against others.

        Args:
            wanted: Classes that are to be found.
            others: Those that they are held against.

        Returns:
            0 to 1, higher: found better; `unsure` is 0 up to `EXACT_SCORES` scores.

        Source: Lacuna, section 4.2.

        Example:
            >>> seen = Tally(2)
            >>> seen.add(np.float32([2, 3, 1, 2]), [0, 2, 4])
            >>> seen.auc([0], [1])
            Auc(twice_wins=7, positives=2, negatives=2, unsure=0)
        """
        if self._buckets is not None:
            return self._buckets.auc(wanted, others)
        return exact_auc(*([piece for kind in side for piece in self._held[kind]] for side in (wanted, others)))


class Buckets:
    """Counts of scores by class and by the upper bits of a float32; frequent values are counted by all bits."""

    def __init__(self, classes: int) -> None:
        self._counts = np.zeros((classes, BUCKETS), np.int64)
        self._ties: list[list[tuple[Keys, Counts]]] = [[] for _ in range(classes)]
        self._crowded = np.zeros(BUCKETS, np.bool_)
        self._listed, self._room = 0, MOST_TIES

    def add(self, kind: int, scores: Scores) -> None:
        """More scores of a class; none of them NaN."""
        keys = _in_order(scores)
        keys.sort()
        some = keys[:: max(OFTEN, len(keys) // CROWD)]
        buckets = some >> np.uint32(LOW)
        self._crowded[buckets[1:][(buckets[1:] == buckets[:-1]) & (some[1:] != some[:-1])]] = True
        first = np.flatnonzero(np.diff(keys, prepend=~keys[:1]))
        values, counts = keys[first], np.diff(first, append=len(keys))
        places = (values >> np.uint32(LOW)).astype(np.intp)
        listed = (counts >= OFTEN) | (values == ZERO) | self._crowded[places]
        self._ties[kind].append((values[listed], counts[listed]))
        np.add.at(self._counts[kind], places[~listed], counts[~listed])
        self._listed += int(listed.sum())
        if self._listed > self._room:
            self._ties = [[_together(ties)] for ties in self._ties]
            self._listed = sum(len(values) for ((values, _),) in self._ties)
            self._room = MOST_TIES + 2 * self._listed

    def auc(self, wanted: Sequence[int], others: Sequence[int]) -> Auc:
        """See `Tally.auc`. Pairs across buckets are known; within a bucket, only pairs of frequent values are."""
        rare = [self._counts[list(side)].sum(axis=0) for side in (wanted, others)]
        ties = [_together([pair for kind in side for pair in self._ties[kind]]) for side in (wanted, others)]
        often = [_by_bucket(values >> np.uint32(LOW), counts) for values, counts in ties]
        ours, theirs = (one + other for one, other in zip(rare, often, strict=True))
        at = np.flatnonzero(ours)
        # Whole numbers of Python, as the pairs of 7e9 weights are more than 64 bits hold.
        mine, equal, under, tied = (
            one[at].astype(object) for one in (ours, theirs, np.cumsum(theirs) - theirs, often[0] * often[1])
        )
        twice = int((mine * (2 * under + equal) - tied).sum()) + _twice_wins(*ties)
        return Auc(twice, int(ours.sum()), int(theirs.sum()), int((mine * equal - tied).sum()))


def _twice_wins(ours: tuple[Keys, Counts], theirs: tuple[Keys, Counts]) -> int:
    """Counts the pairs within a bucket: twice if ours is above, once if both are equal."""
    (values, counts), (others, weights) = ours, theirs
    passed = np.concatenate([[0], np.cumsum(weights)])
    bucket = (values >> np.uint32(LOW)) << np.uint32(LOW)
    below, to = others.searchsorted(values, "left"), others.searchsorted(values, "right")
    start = others.searchsorted(bucket, "left")
    lost = passed[below] + passed[to] - 2 * passed[start]
    return int((counts.astype(object) * lost.astype(object)).sum())


def _together(ties: Sequence[tuple[Keys, Counts]]) -> tuple[Keys, Counts]:
    """Each value once, in order, with how often it is there."""
    values = np.concatenate([np.empty(0, np.uint32), *(values for values, _ in ties)])
    counts = np.concatenate([np.empty(0, np.int64), *(counts for _, counts in ties)])
    order = values.argsort()
    values, counts = values[order], counts[order]
    first = np.flatnonzero(np.diff(values, prepend=~values[:1]))
    return values[first], np.add.reduceat(counts, first) if len(first) else counts


def _by_bucket(buckets: Keys, counts: Counts) -> Counts:
    found = np.zeros(BUCKETS, np.int64)
    np.add.at(found, buckets.astype(np.intp), counts)
    return found


def _in_order(scores: Scores) -> Keys:
    """Whole numbers that are in the order of the scores, -0 being 0."""
    bits = (scores + np.float32(0)).view(np.int32)
    flipped: Keys = (bits ^ ((bits >> 31) | np.int32(-(1 << 31)))).view(np.uint32)
    return flipped
