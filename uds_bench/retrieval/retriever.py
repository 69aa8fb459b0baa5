"""Lookups in a database from which rows may be deleted, each with everything that it saw."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from uds_bench.facts.triplets import TripletDatabase, lookup_text
from uds_bench.retrieval.blocks import DECIMALS, Hits, Ranked, places_of
from uds_bench.retrieval.encoder import Encoder, encoder_of
from uds_bench.retrieval.scorers import scorer_of
from uds_bench.retrieval.settings import Fallback, RetrieverSettings

Query = tuple[str, str]
"""Subject and relation, as a model wrote them."""


class Hit(NamedTuple):
    """A row of the database, by its place in it, and its score."""

    row: int
    score: float


@dataclass(frozen=True)
class Lookup:
    """One lookup. `deleted` and `kept`: what was found, best first, of rows that are gone (the best `scorers.LOST`)
    and of rows that are there.

    `chosen`: the row that answers, None where none does; `fell_back`: none counted, and the best was taken all the
    same.
    """

    query: Query
    deleted: tuple[Hit, ...]
    kept: tuple[Hit, ...]
    chosen: int | None
    fell_back: bool = False


class Retriever:
    """One database's rows, indexed once; deletions are given with every lookup.

    A lookup with deletions sees what an index without these rows would show (words that only they hold still count in
    the weights of sparse kinds, as in an index that is not rebuilt).
    """

    def __init__(
        self, database: TripletDatabase, settings: RetrieverSettings | None = None, encoder: Encoder | None = None
    ) -> None:
        self.database, self.settings = database, settings or RetrieverSettings()
        if encoder is None and self.settings.embeds:
            encoder = encoder_of(self.settings.model)
        keys = tuple(row.key for row in database)
        self._scorer = scorer_of(keys, self.settings.kind, self.settings.index, encoder) if keys else None

    def look_up(
        self, queries: Sequence[Query], deleted: Sequence[Collection[int]] = (), fallback: Fallback | None = None
    ) -> list[Lookup]:
        """The lookups of one batch; `deleted`: for each of them the rows that are gone, none where left out;
        `fallback`: the settings' own where None."""
        if self._scorer is None or not queries:
            return [Lookup(query, (), (), None) for query in queries]
        gone = [places_of(rows) for rows in deleted] or [places_of(())] * len(queries)
        hits = self._scorer.find([lookup_text(*query) for query in queries], self.settings.top_k, gone)
        fallback = fallback or self.settings.fallback
        return [self._decide(*one, fallback) for one in zip(queries, hits, strict=True)]

    def _decide(self, query: Query, hits: Hits, fallback: Fallback) -> Lookup:
        there, out = (_candidates(ranked) for ranked in hits)
        lost, kept = (tuple(one for one in found if self._counts(one)) for found in (out, there))
        if kept:
            return Lookup(query, lost, kept, kept[0].row)
        if there and fallback == "top1_anyway":
            return Lookup(query, lost, (there[0],), there[0].row, fell_back=True)
        return Lookup(query, lost, (), None)

    def _counts(self, one: Hit) -> bool:
        if self.settings.kind == "bm25" and self.settings.least == 0.0:
            return one.score > 0.0
        return round(one.score, DECIMALS) >= self.settings.least


def _candidates(ranked: Ranked) -> list[Hit]:
    rows, scores = (part.tolist() for part in ranked)
    return [Hit(row, score) for row, score in zip(rows, scores, strict=True)]
