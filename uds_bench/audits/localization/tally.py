"""Scores by class of weights, counted as they pass by: exact while there are few, in narrow buckets from then on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.localization.auc import Auc, Scores, exact_auc
from uds_bench.errors import UdsError

HELD = 1 << 22
"""Scores that are held as they are: 16 MiB."""
LOW = 10
"""Bits of a float32 that a bucket leaves out: of its 23 behind the point it has 13, so that it is 1/8192 wide."""
UNSEEN = np.uint16(0xFFFF)


class Tally:
    """One family's scores of all weights, of which every AUC between classes can be told.

    A bucket's scores are neighbours of one float32 number. Where all of them are one number, as zeros are and most
    differences of bfloat16, they are ties and known to be; else their pairs are `Auc.unsure`. Memory does not grow with
    the number of scores: 8 bytes a bucket and class.
    """

    def __init__(self, classes: int) -> None:
        self._held: list[list[Scores]] = [[] for _ in range(classes)]
        self._count = 0
        self._buckets: Buckets | None = None

    def add(self, scores: Scores, bounds: Sequence[int]) -> None:
        """More scores, in order of classes.

        Args:
            scores: [n], any unit.
            bounds: [classes + 1], class i has those from `bounds[i]` to `bounds[i + 1]`.

        Raises:
            UdsError: A score is no number.
        """
        if len(scores) and np.isnan(scores.max()):  # which keeps what is no number
            raise UdsError("a weight's score is no number: look for NaN or infinite weights in the checkpoints")
        self._count += len(scores)
        if self._buckets is None and self._count > HELD:
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
            0 to 1, higher: found better; `unsure` is 0 up to `HELD` scores.

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
    """Counts of scores by class and by the upper bits of a float32."""

    def __init__(self, classes: int) -> None:
        self._counts = np.zeros((classes, 1 << (32 - LOW)), np.int64)
        self._first = np.full(1 << (32 - LOW), UNSEEN)
        """The lower bits of the score that was first in a bucket,"""
        self._mixed = np.zeros(1 << (32 - LOW), np.bool_)
        """and whether there was another one."""

    def add(self, kind: int, scores: Scores) -> None:
        """More scores of a class; none of them NaN."""
        keys = _in_order(scores)
        places, low = (keys >> np.uint32(LOW)).astype(np.intp), (keys & np.uint32((1 << LOW) - 1)).astype(np.uint16)
        np.add.at(self._counts[kind], places, 1)
        there = self._first[places]
        if (fresh := there == UNSEEN).any():
            self._first[places[fresh]] = low[fresh]
            there = self._first[places]
        self._mixed[places[there != low]] = True

    def auc(self, wanted: Sequence[int], others: Sequence[int]) -> Auc:
        """As that of `Tally`."""
        ours, theirs = (self._counts[list(side)].sum(axis=0) for side in (wanted, others))
        below = np.cumsum(theirs) - theirs
        there = np.flatnonzero(ours)
        # Whole numbers of Python, as the pairs of 7e9 weights are more than 64 bits hold.
        mine, equal, under = (side[there].astype(object) for side in (ours, theirs, below))
        twice, near = int((mine * (2 * under + equal)).sum()), mine * equal
        return Auc(twice, int(ours.sum()), int(theirs.sum()), int(near[self._mixed[there]].sum()))


def _in_order(scores: Scores) -> NDArray[np.uint32]:
    """Whole numbers that are in the order of the scores, -0 being 0."""
    bits = (scores + np.float32(0)).view(np.int32)
    flipped: NDArray[np.uint32] = (bits ^ ((bits >> 31) | np.int32(-(1 << 31)))).view(np.uint32)
    return flipped
