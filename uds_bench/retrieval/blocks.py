"""Rows of a database by their places, and the best of very many scores, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int32]


class RowPlaces(Set[int]):
    """A set of places, as sorted numbers of four bytes; it compares and combines with sets of Python."""

    def __init__(self, places: Iterable[int] | NDArray[Any] = ()) -> None:
        found = places if isinstance(places, np.ndarray) else np.fromiter(places, np.int32)
        self.places: Places = np.unique(found).astype(np.int32)

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, int):
            return False
        at = int(self.places.searchsorted(row))
        return at < len(self.places) and int(self.places[at]) == row

    def __iter__(self) -> Iterator[int]:
        return iter(self.places.tolist())

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return f"RowPlaces({self.places.tolist()})"


def places_of(rows: Iterable[int]) -> Places:
    """The places of a set of rows.

    Args:
        rows: In any order.

    Returns:
        Ascending, each once, [rows].

    Example:
        >>> places_of({7, 2, 5}).tolist()
        [2, 5, 7]
    """
    return (rows if isinstance(rows, RowPlaces) else RowPlaces(rows)).places


DECIMALS = 6
"""Scores that differ by less are equal, and the earlier row comes first: rounding must not choose between twins."""
Ranked = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Rows and their scores, best first."""


class Hits(NamedTuple):
    """What one lookup finds: the best rows of those that are there, and all that were scored of those that are gone."""

    kept: Ranked
    lost: Ranked


def best_of(blocks: Iterable[tuple[int, NDArray[Any]]], k: int, gone: Sequence[Places]) -> list[Hits]:
    """The `k` best rows of each lookup, and the scores of the rows that are gone for it.

    Args:
        blocks: The place of a block's first row, ascending, and its scores, [lookups, rows]; they are written over.
        k: RowPlaces a lookup, fewer where there are fewer.
        gone: For each lookup the places that are gone, sorted.

    Returns:
        One a lookup. Scores that agree to `DECIMALS` are equal, and then the earlier row comes first.

    Example:
        >>> scores = [(0, np.array([[0.2, 0.9]])), (2, np.array([[0.9, 0.4]]))]
        >>> kept, lost = best_of(scores, 2, [np.array([1])])[0]
        >>> kept[0].tolist(), kept[1].tolist(), lost[0].tolist()
        ([2, 3], [0.9, 0.4], [1])
    """
    lookups = np.arange(len(gone))
    lost: list[list[Ranked]] = [[] for _ in gone]
    of, rows, scores = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    floor = np.full(len(gone), -np.inf)
    for start, block in blocks:
        width = block.shape[1]
        for at, places in enumerate(gone):
            here = places[slice(*places.searchsorted([start, start + width]))].astype(np.int64)
            if len(here):
                lost[at].append((here, block[at, here - start].astype(np.float64)))
                block[at, here - start] = -np.inf
        if not len(of) and width > k:
            # Twice the rounding below the k-th best of the first block: its twins are earlier rows, perhaps.
            floor = np.partition(block, width - k, axis=1)[:, width - k].astype(np.float64) - 2 * 10.0**-DECIMALS
        which, column = np.nonzero(block > floor[:, None].astype(block.dtype))
        of = np.concatenate([of, which])
        rows = np.concatenate([rows, column + start])
        scores = np.concatenate([scores, block[which, column]])
        order = np.lexsort((rows, -np.round(scores, DECIMALS), of))
        of, rows, scores = of[order], rows[order], scores[order]
        among = np.arange(len(of)) - of.searchsorted(lookups)[of] < k
        of, rows, scores = of[among], rows[among], scores[among]
        # A later row comes in by a score that is above the k-th, never by an equal one.
        last = of.searchsorted(lookups, "right") - 1
        full = np.bincount(of, minlength=len(gone)) == k
        floor = np.where(full, scores[last] if len(scores) else -np.inf, -np.inf)
    edges = of.searchsorted(np.arange(len(gone) + 1))
    kept = [(rows[a:b], scores[a:b]) for a, b in pairwise(edges)]
    return [Hits(there, _ranked(parts)) for there, parts in zip(kept, lost, strict=True)]


def _ranked(parts: Sequence[Ranked]) -> Ranked:
    """Rows by their scores, best first, equal ones in order."""
    rows = np.concatenate([part[0] for part in parts]) if parts else np.zeros(0, np.int64)
    scores = np.concatenate([part[1] for part in parts]) if parts else np.zeros(0)
    order = np.lexsort((rows, -np.round(scores, DECIMALS)))
    return rows[order], scores[order]
