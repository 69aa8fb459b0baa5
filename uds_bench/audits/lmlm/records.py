"""Which rows were written into one record: those with the same object that are other forms of one another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set
from functools import cache

import numpy as np
from numpy.typing import NDArray

from uds_bench.facts.lookup_prompts import LookupPrompts
from uds_bench.retrieval.blocks import DECIMALS
from uds_bench.retrieval.encoder import BLOCK, Table

SLACK = 2 * 10.0**-DECIMALS
"""By how much two orders of the same product may differ once rounded."""


class Records:
    """The records of a database. A row is written into that of the first earlier row with the same object that it is
    another form of: an alias, or a key within `radius`. Only rows whose object some fact means are looked at, and each
    when it is asked for."""

    def __init__(self, asked: LookupPrompts, table: Table, radius: float) -> None:
        self._table, self._radius = table, radius
        self._spelled = asked.database.spelled
        self._meeting = [cache(lambda text, names=names: names.meeting([text])) for names in asked.names]
        wanted, left = set[str](), {text for fact in asked.facts for text in self._meeting[2](fact.triplet.object)}
        while left:
            wanted |= left
            left = {text for one in left for text in self._meeting[2](one)} - wanted
        by_object: dict[str, list[int]] = defaultdict(list)
        for at, text in enumerate(self._spelled[2]):
            if text in wanted:
                by_object[text].append(at)
        self._by_object = {text: np.array(rows) for text, rows in by_object.items()}
        self._home: dict[int, int] = {}
        self._members: dict[int, frozenset[int]] = {}

    def with_any(self, rows: Set[int]) -> frozenset[int]:
        """All rows of the records that some rows were written into."""
        return frozenset().union(*(self._of(self._root(row)) for row in rows))

    def _root(self, row: int) -> int:
        while (home := self._parent(row)) != row:
            row = home
        return row

    def _of(self, root: int) -> frozenset[int]:
        if root not in self._members:
            found, left = {root}, [root]
            while left:
                row = left.pop()
                near = self._alike(row, self._beside(row, later=True), self._radius - SLACK)
                new = [one for one in near if one not in found and self._parent(one) == row]
                found.update(new)
                left += new
            self._members[root] = frozenset(found)
        return self._members[root]

    def _parent(self, row: int) -> int:
        """The first earlier row that it is another form of, else itself."""
        if row not in self._home:
            self._home[row] = next(self._alike(row, self._beside(row, later=False), self._radius), row)
        return self._home[row]

    def _beside(self, row: int, later: bool) -> NDArray[np.int64]:
        """The rows before or after one that have its object."""
        same = [self._by_object[text] for text in self._meeting[2](self._spelled[2][row]) if text in self._by_object]
        others: NDArray[np.int64] = np.sort(np.concatenate(same))
        return others[others > row] if later else others[others < row]

    def _alike(self, row: int, others: NDArray[np.int64], radius: float) -> Iterator[int]:
        """Those of some rows that are other forms of a row, in order."""
        own = self._table.of(np.array([row]))[0]
        subjects, relations = (self._meeting[at](self._spelled[at][row]) for at in range(2))
        for start in range(0, len(others), BLOCK):
            some = others[start : start + BLOCK]
            near = np.round(self._table.of(some) @ own, DECIMALS) >= radius
            for at, is_near in zip(some.tolist(), near.tolist(), strict=True):
                if is_near or (self._spelled[0][at] in subjects and self._spelled[1][at] in relations):
                    yield at
