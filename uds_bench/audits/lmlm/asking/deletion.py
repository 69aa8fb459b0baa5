"""Which rows go when a fact is deleted from a database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.facts.lookup_prompts import LookupPrompts
from uds_bench.retrieval.blocks import DECIMALS, Places, RowPlaces
from uds_bench.retrieval.encoder import BLOCK, Encoder, VectorTable

Policy = Literal["alias_closure", "exact", "radius_closure", "canonical"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
EMBEDDING: tuple[Policy, ...] = ("radius_closure", "canonical")
"""Those that compare keys by an encoder."""
RADIUS = 0.6
"""Cosine from which rows lie within the radius: the published threshold, so that what is left cannot be retrieved by
the deleted row's own key."""
AT_ONCE = 512
"""Keys whose neighbours are looked for together."""


@dataclass(frozen=True)
class Deletion:
    """Deletes facts from one database by a policy.

    `alias_closure`: every row whose subject, relation and object all match the fact's under the aliases (LMLM audit,
    section 4). `exact`: rows equal to the fact alone; it leaves aliases, and is here to be caught. `radius_closure`:
    also every row whose key's embedding lies within `radius` of the fact's own (section 7, future work). `canonical`:
    aliases and paraphrases were written as pointers to one record (the same object, and an alias or a key within
    `radius`), which goes as a whole (section 7).
    """

    source: LookupPrompts
    policy: Policy = "alias_closure"
    encoder: Encoder | None = None
    radius: float = RADIUS

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ConfigurationError(
                f"deletion policy {self.policy!r} is unknown: {did_you_mean(self.policy, POLICIES)}"
            )
        if self.policy in EMBEDDING and self.encoder is None:
            raise ConfigurationError(f"deletion policy {self.policy} needs an encoder: name one under retriever")

    def rows(self) -> Mapping[int, Set[int]]:
        """By fact, the places of the rows that go with it."""
        if self.policy == "exact":
            return {id: frozenset(rows) for id, rows in self.source.equal.items()}
        closed = self.source.matching
        if self.policy == "alias_closure":
            return dict(closed)
        assert self.encoder is not None
        table = self.encoder.table([row.key for row in self.source.database])
        if self.policy == "radius_closure":
            return self._within(table, closed)
        records = Records(self.source, table, self.radius)
        return {id: records.with_any(rows) for id, rows in closed.items()}

    def _within(self, table: VectorTable, closed: Mapping[int, Set[int]]) -> dict[int, RowPlaces]:
        """The closure of each fact with all rows that lie within the radius of one of it."""
        rows = self.source.database
        # Rows of one key lie at the same place: one of them stands for all.
        own = {id: list({rows[at].key: at for at in places}.values()) for id, places in closed.items()}
        near: dict[int, list[Places]] = {id: [np.array(sorted(places), np.int32)] for id, places in closed.items()}
        for ids in _parts(own):
            vectors = table.of(np.concatenate([own[id] for id in ids]))
            starts = np.cumsum([0, *(len(own[id]) for id in ids[:-1])])
            for start, block in table:
                # Rounded as a retriever rounds: what it would find must not be left.
                within = np.round(vectors @ block.T, DECIMALS) >= self.radius
                of, column = np.nonzero(np.logical_or.reduceat(within, starts, axis=0))
                for at, places in enumerate(np.split(column + start, np.searchsorted(of, range(1, len(ids))))):
                    near[ids[at]].append(places.astype(np.int32))
        return {id: RowPlaces(np.concatenate(parts)) for id, parts in near.items()}


def _parts(own: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Facts in order, so many together that their keys come to `AT_ONCE` at most, or one that has more alone."""
    parts: list[list[int]] = []
    held = AT_ONCE
    for id, keys in own.items():
        if held + len(keys) > AT_ONCE:
            parts.append([])
            held = 0
        parts[-1].append(id)
        held += len(keys)
    return parts


SLACK = 2 * 10.0**-DECIMALS
"""By how much two orders of the same product may differ once rounded."""


class Records:
    """The records of a database. A row is written into that of the first earlier row with the same object that it is
    another form of: an alias, or a key within `radius`. Only rows whose object some fact means are looked at, and each
    when it is asked for."""

    def __init__(self, source: LookupPrompts, table: VectorTable, radius: float) -> None:
        self._table, self._radius = table, radius
        self._spelled = source.database.spelled
        self._meeting = [cache(lambda text, names=names: names.meeting([text])) for names in source.names]
        wanted, left = set[str](), {text for fact in source.facts for text in self._meeting[2](fact.triplet.object)}
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
