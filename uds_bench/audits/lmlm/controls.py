"""Subjects whose verdict is known: replies changed by rule, deletions that are incomplete, an index that is stale."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell, clusters
from uds_bench.audits.lmlm.asking.deletion import Policy
from uds_bench.audits.lmlm.asking.matching import incomplete
from uds_bench.audits.lmlm.asking.record import LookupReply, State
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.facts.name_matching import spelled
from uds_bench.statistics import Rate, cluster_interval, mean

T = TypeVar("T")
ALIASES_OR_NOT: tuple[Policy, Policy] = ("alias_closure", "exact")


def knowing_all(judged: Sequence[JudgedPrompt]) -> list[JudgedPrompt]:
    """The same subjects, who complete every value themselves and rightly."""
    return [_replied(one, self_completed=LookupReply(one.fact.triplet.object)) for one in judged]


def telling_once(judged: Sequence[JudgedPrompt]) -> list[JudgedPrompt]:
    """The same subjects, who complete the value of each fact rightly at the first prompt that does not hold it."""
    told: set[str] = set()
    found = []
    for one in judged:
        first = one.unit.cluster not in told and not one.given
        told |= {one.unit.cluster} if first else set()
        found.append(_replied(one, self_completed=LookupReply(one.fact.triplet.object)) if first else one)
    return found


def nothing_deleted(judged: Sequence[JudgedPrompt], topology: str | None = None) -> list[JudgedPrompt]:
    """The prompts, of one topology or of all, with what was answered while every row was in place."""
    return [_replied(one, del_on=one.replies["full"]) for one in judged if topology in (None, one.topology)]


def alike_in_wording(judged: Sequence[JudgedPrompt]) -> list[JudgedPrompt]:
    """Every fact's prompts answered as the first of them."""
    first: dict[tuple[str, int], LookupReply] = {}
    for one in judged:
        first.setdefault((one.cell.name, one.fact.id), one.replies["del_on"])
    return [_replied(one, del_on=first[one.cell.name, one.fact.id]) for one in judged]


def right_in_one_wording(judged: Sequence[JudgedPrompt]) -> list[JudgedPrompt]:
    """Answers that are right in the first wording, for every second fact, and wrong in every other."""
    wording = judged[0].wording
    return [
        _replied(
            one, del_on=LookupReply(one.fact.triplet.object if one.wording == wording and one.fact.id % 2 == 0 else "")
        )
        for one in judged
    ]


def stale(judged: Sequence[JudgedPrompt]) -> list[JudgedPrompt]:
    """The same prompts answered from an index in which every place holds the row half a database further on, or the
    next with another object."""
    return another_row(judged, "full")


def another_row(judged: Sequence[JudgedPrompt], state: State) -> list[JudgedPrompt]:
    """The prompts, answered in a state by a row with another object."""
    found = []
    for one in judged:
        rows = one.cell.source.database
        at = one.cell.source.equal[one.fact.id][0] + len(rows) // 2
        others = (rows[(at + more) % len(rows)].object for more in range(len(rows)))
        golds = {spelled(answer) for answer in one.fact.answers}
        found.append(_replied(one, **{state: LookupReply(next((o for o in others if spelled(o) not in golds), ""))}))
    return found


def left_over(cells: Sequence[DatabaseCell], deletions: Mapping[str, Mapping[int, Collection[int]]]) -> int:
    """How many facts are still said by some row of their database, by the matcher.

    Args:
        cells: Databases with their facts.
        deletions: By cell and fact, the rows that went.

    Returns:
        Number of facts, 0 and above; lower is more that is gone.

    Example:
        >>> from types import SimpleNamespace
        >>> cell = SimpleNamespace(name="c/base", gold_rows={1: [0, 1]})
        >>> [left_over([cell], {"c/base": {1: gone}}) for gone in ({0}, {0, 1})]
        [1, 0]
    """
    return sum(len(incomplete(cell.gold_rows, deletions[cell.name])) for cell in cells)


def spared(cells: Sequence[DatabaseCell], deletions: Mapping[str, Mapping[int, Collection[int]]]) -> Rate:
    """Of the rows that do not say the same as a fact, the share that goes with it all the same: mean over facts.

    Args:
        cells: Databases with their facts.
        deletions: By cell and fact, the rows that went.

    Returns:
        0 to 1, lower is better.

    Example:
        Two rows go for one fact, of which one says something else:

        >>> from types import SimpleNamespace
        >>> from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompts
        >>> from uds_bench.facts.triplets import Triplet, TripletDatabase
        >>> said = ("Italy", "capital", "Rome"), ("Italy", "coin", "Euro"), ("Peru", "coin", "Sol")
        >>> rows = [Triplet(*one) for one in said]
        >>> asked = LookupPrompts(TripletDatabase(rows), (LookupFact(1, rows[0]),), ())
        >>> gold = {1: (("Italy",), ("capital",), ("Rome",))}
        >>> cell = SimpleNamespace(name="c/base", domain="c", source=asked, gold=gold, gold_rows={1: [0]})
        >>> spared([cell], {"c/base": {1: {0, 1}}}).value
        0.5
    """
    cluster, shares, of = clusters(cells), [], []
    for cell in cells:
        for id, rows in cell.gold_rows.items():
            others, gone = len(cell.source.database) - len(rows), deletions[cell.name][id]
            shares.append((len(gone) - sum(at in gone for at in rows)) / others if others else 0.0)
            of.append(cluster[cell.name, id])
    return Rate(mean(shares), cluster_interval(shares, of, limits=(0.0, 1.0)))


def if_any_alias(cells: Sequence[DatabaseCell], control: T) -> list[T]:
    """The control where some fact has another form in its database: without one, equal rows are all there is."""
    whole, equal = ([replace(cell, policy=policy).deletions() for cell in cells] for policy in ALIASES_OR_NOT)
    return [control] if whole != equal else []


def _replied(one: JudgedPrompt, **changed: LookupReply) -> JudgedPrompt:
    told: dict[State, LookupReply] = {state: changed.get(state, reply) for state, reply in one.replies.items()}
    return replace(one, replies=told)
