"""Which rows go when a fact is deleted from a database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from uds_bench.audits.lmlm.records import Records
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.facts.lookup_prompts import LookupPrompts
from uds_bench.retrieval.blocks import DECIMALS
from uds_bench.retrieval.encoder import Encoder, Table
from uds_bench.retrieval.rows import Places, Rows

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

    asked: LookupPrompts
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
            return {id: frozenset(rows) for id, rows in self.asked.equal.items()}
        closed = self.asked.matching
        if self.policy == "alias_closure":
            return dict(closed)
        assert self.encoder is not None
        table = self.encoder.table([row.key for row in self.asked.database])
        if self.policy == "radius_closure":
            return self._within(table, closed)
        records = Records(self.asked, table, self.radius)
        return {id: records.with_any(rows) for id, rows in closed.items()}

    def _within(self, table: Table, closed: Mapping[int, Set[int]]) -> dict[int, Rows]:
        """The closure of each fact with all rows that lie within the radius of one of it."""
        rows = self.asked.database
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
        return {id: Rows(np.concatenate(parts)) for id, parts in near.items()}


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
