"""Lookups in a database from which rows may be deleted, each with everything that it saw."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from uds_bench.facts.triplets import TripletDatabase, lookup_text
from uds_bench.retrieval.encoder import Encoder, encoder_of
from uds_bench.retrieval.scorers import DECIMALS, scorer_of
from uds_bench.retrieval.settings import Fallback, RetrieverSettings

Query = tuple[str, str]
"""Subject and relation, as a model wrote them."""
NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Hit:
    """A row of the database, by its place in it, and its score."""

    row: int
    score: float


@dataclass(frozen=True)
class Lookup:
    """One lookup. `deleted` and `kept`: what was found, best first, of rows that are gone and of rows that are there.

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
        self._scorer = scorer_of([row.key for row in database], self.settings, encoder) if len(database) else None

    def look_up(
        self, queries: Sequence[Query], deleted: Sequence[Collection[int]] = (), fallback: Fallback | None = None
    ) -> list[Lookup]:
        """The lookups of one batch; `deleted`: for each of them the rows that are gone, none where left out;
        `fallback`: the settings' own where None."""
        gone = [frozenset(rows) for rows in deleted] or [NOTHING] * len(queries)
        if self._scorer is None or not queries:
            return [Lookup(query, (), (), None) for query in queries]
        # As many more as are gone: a deleted row must not take the place of one that is there.
        wanted = self.settings.top_k + max(map(len, gone))
        rows, scores = self._scorer.best([lookup_text(*query) for query in queries], wanted)
        found = [
            [Hit(int(row), float(score)) for row, score in zip(*one, strict=True) if row >= 0]
            for one in zip(rows, scores, strict=True)
        ]
        fallback = fallback or self.settings.fallback
        return [self._decide(*one, fallback) for one in zip(queries, found, gone, strict=True)]

    def _decide(self, query: Query, found: Sequence[Hit], gone: frozenset[int], fallback: Fallback) -> Lookup:
        there = [one for one in found if one.row not in gone][: self.settings.top_k]
        lost = tuple(one for one in found if one.row in gone and self._counts(one))
        kept = tuple(one for one in there if self._counts(one))
        if kept:
            return Lookup(query, lost, kept, kept[0].row)
        if there and fallback == "top1_anyway":
            return Lookup(query, lost, (there[0],), there[0].row, fell_back=True)
        return Lookup(query, lost, (), None)

    def _counts(self, one: Hit) -> bool:
        if self.settings.kind == "bm25" and self.settings.least == 0.0:
            return one.score > 0.0
        return round(one.score, DECIMALS) >= self.settings.least
