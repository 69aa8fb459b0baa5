"""Which rows go when a fact is deleted from a database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompts
from uds_bench.retrieval.scorers import DECIMALS

Policy = Literal["alias_closure", "exact", "radius_closure", "canonical"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
EMBEDDING: tuple[Policy, ...] = ("radius_closure", "canonical")
"""Those that compare keys by an encoder."""
RADIUS = 0.6
"""Cosine from which rows lie within the radius: the published threshold, so that what is left cannot be retrieved by
the deleted row's own key."""
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Deletion:
    """Deletes facts from one database by a policy.

    `alias_closure`: every row whose subject, relation and object all match the fact's under the aliases (LMLM audit,
    section 4). `exact`: rows equal to the fact alone; it leaves aliases, and is here to be caught. `radius_closure`:
    also every row whose key's embedding lies within `radius` of the fact's own (section 7, future work). `canonical`:
    aliases and paraphrases were written as pointers to one record (the same object, and an alias or a key within
    `radius`), which goes as a whole (section 7).
    """

    asked: LookupPrompts
    policy: Policy = "alias_closure"
    embed: Embed | None = None
    radius: float = RADIUS

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ConfigurationError(
                f"deletion policy {self.policy!r} is unknown: {did_you_mean(self.policy, POLICIES)}"
            )
        if self.policy in EMBEDDING and self.embed is None:
            raise ConfigurationError(f"deletion policy {self.policy} needs an encoder: name one under retriever")

    def rows(self) -> dict[int, frozenset[int]]:
        """By fact, the places of the rows that go with it."""
        closed = self.asked.matching
        if self.policy == "alias_closure":
            return dict(closed)
        if self.policy == "exact":
            return {fact.id: self._equal(fact) for fact in self.asked.facts}
        if self.policy == "radius_closure":
            return {id: rows | self._near(rows) for id, rows in closed.items()}
        record = self._records()
        members: dict[int, set[int]] = defaultdict(set)
        for row, of in enumerate(record):
            members[of].add(row)
        return {id: frozenset().union(*(members[record[row]] for row in rows)) for id, rows in closed.items()}

    def _equal(self, fact: LookupFact) -> frozenset[int]:
        return frozenset(at for at, row in enumerate(self.asked.database) if row == fact.triplet)

    def _near(self, rows: frozenset[int]) -> frozenset[int]:
        near = self._similar[sorted(rows)] >= self.radius
        return frozenset(np.flatnonzero(near.any(axis=0)).tolist()) if rows else frozenset()

    @cached_property
    def _similar(self) -> NDArray[np.float32]:
        """Cosine of every two rows' keys, rounded as a retriever rounds it: what it would find must not be left."""
        assert self.embed is not None
        vectors = self.embed([row.key for row in self.asked.database])
        similar: NDArray[np.float32] = np.round(vectors @ vectors.T, DECIMALS)
        return similar

    def _records(self) -> list[int]:
        """For each row the record that it was written into: that of the first row with the same object that it is
        another form of."""
        subjects, relations, objects = self.asked.names
        rows, similar = list(self.asked.database), self._similar
        record = list(range(len(rows)))
        for at, row in enumerate(rows):
            for earlier in range(at):
                known = rows[earlier]
                alike = subjects.same(row.subject, known.subject) and relations.same(row.relation, known.relation)
                if objects.same(row.object, known.object) and (alike or similar[at, earlier] >= self.radius):
                    record[at] = record[earlier]
                    break
        return record
