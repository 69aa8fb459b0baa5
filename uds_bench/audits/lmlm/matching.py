"""An independent look at what is left of a fact: row by row, from what the fact's own prompts declare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from uds_bench.facts.aliases import spelled
from uds_bench.facts.lookup_prompts import LookupFact
from uds_bench.facts.triplets import Triplet


def is_gold(row: Triplet, fact: LookupFact) -> bool:
    """Whether a row says the same as the fact: each of its three fields is a name that the fact goes by."""
    return all(
        spelled(text) in {spelled(own), *map(spelled, others)}
        for text, own, others in zip(row, fact.triplet, fact.aliases, strict=True)
    )


def survivors(database: Sequence[Triplet], deleted: Collection[int], fact: LookupFact) -> list[int]:
    """Rows that say the same as the fact and were not deleted: empty after a complete deletion."""
    return [at for at, row in enumerate(database) if at not in deleted and is_gold(row, fact)]


def incomplete(
    database: Sequence[Triplet], deletions: Iterable[tuple[LookupFact, Collection[int]]]
) -> dict[int, list[int]]:
    """By fact, what a deletion left of it; only facts of which anything is left."""
    found = {fact.id: survivors(database, deleted, fact) for fact, deleted in deletions}
    return {id: rows for id, rows in found.items() if rows}
