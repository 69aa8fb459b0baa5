"""Rows of a database by their places: sets that may hold a good part of a million rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int32]


class Rows(Set[int]):
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
        return f"Rows({self.places.tolist()})"


def places_of(rows: Iterable[int]) -> Places:
    """The places of a set of rows, sorted."""
    return (rows if isinstance(rows, Rows) else Rows(rows)).places
