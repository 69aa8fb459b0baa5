"""Subjects whose verdict is known: replies changed by rule, deletions that are incomplete, an index that is stale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from uds_bench.audits.lmlm.cell import Cell
from uds_bench.audits.lmlm.judged import Judged
from uds_bench.audits.lmlm.matching import incomplete
from uds_bench.audits.lmlm.record import Reply, State

T = TypeVar("T")


def knowing_all(judged: Sequence[Judged]) -> list[Judged]:
    """The same askers, who complete every value themselves and rightly."""
    return [_replied(one, self_completed=Reply(one.fact.triplet.object)) for one in judged]


def nothing_deleted(judged: Sequence[Judged], topology: str) -> list[Judged]:
    """The prompts of a topology, with what was answered while every row was in place."""
    return [_replied(one, del_on=one.replies["full"]) for one in judged if one.topology == topology]


def alike_in_wording(judged: Sequence[Judged]) -> list[Judged]:
    """Every fact's prompts answered as the first of them."""
    first: dict[tuple[str, int], Reply] = {}
    for one in judged:
        first.setdefault((one.cell.name, one.fact.id), one.replies["del_on"])
    return [_replied(one, del_on=first[one.cell.name, one.fact.id]) for one in judged]


def right_in_one_wording(judged: Sequence[Judged]) -> list[Judged]:
    """Answers that are right in the first wording, for every second fact, and wrong in every other."""
    wording = judged[0].wording
    return [
        _replied(one, del_on=Reply(one.fact.triplet.object if one.wording == wording and one.fact.id % 2 == 0 else ""))
        for one in judged
    ]


def stale(judged: Sequence[Judged]) -> list[Judged]:
    """The same prompts answered from an index in which every place holds the row half a database further on."""
    found = []
    for one in judged:
        rows = one.cell.asked.database
        at = rows.index(one.fact.triplet) + len(rows) // 2
        found.append(_replied(one, full=Reply(rows[at % len(rows)].object)))
    return found


def left_over(cells: Sequence[Cell], deletions: Mapping[str, Mapping[int, frozenset[int]]]) -> int:
    """How many facts are still said by some row of their database, by the matcher."""
    return sum(
        len(incomplete(cell.asked.database, ((fact, deletions[cell.name][fact.id]) for fact in cell.asked.facts)))
        for cell in cells
    )


def retained(judged: Sequence[Judged], state: State = "del_on") -> int:
    """Prompts in whose trace a candidate that was not deleted says the same as the fact."""
    return sum(one.retains_gold(state) for one in judged)


def if_any_alias(cells: Sequence[Cell], control: T) -> list[T]:
    """The control where some fact has another form in its database: without one, equal rows are all there is."""
    several = any(len(rows) > 1 for cell in cells for rows in cell.deletions().values()) if cells else False
    return [control] if several else []


def _replied(one: Judged, **changed: Reply) -> Judged:
    told: dict[State, Reply] = {state: changed.get(state, reply) for state, reply in one.replies.items()}
    return replace(one, replies=told)
