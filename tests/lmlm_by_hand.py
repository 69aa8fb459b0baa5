"""A database of four facts whose prompts are answered by hand, and perfect subjects of the embedded ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from hashing import HashingEncoder

from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell, every_prompt
from uds_bench.audits.lmlm.asking.probe import Library, ask_perfectly
from uds_bench.audits.lmlm.asking.record import STATES, LookupRecord, LookupReply, Replies
from uds_bench.audits.lmlm.judged import JudgedPrompt, judge
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.facts.topology import embedded
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.retrieval.retriever import Hit, Lookup

ROWS = (
    Triplet("Mira", "born in", "Oslo"),
    Triplet("Mira Solheim", "born in", "Oslo"),
    Triplet("Lena", "born in", "Faro"),
    Triplet("Idris", "born in", "Oslo"),
    Triplet("Lena", "works as", "writer"),
)
FACTS = (
    LookupFact(0, ROWS[0], (("Mira Solheim",), (), ("Christiania",))),
    LookupFact(1, ROWS[2]),
    LookupFact(2, ROWS[3]),
    LookupFact(3, ROWS[4]),
)
PROMPTS = (
    *(LookupPrompt(fact.id, "direct", f"Tell me: {fact.triplet.key}?") for fact in FACTS),
    LookupPrompt(0, "few_shot", "Ibsen lived in Christiania. Where was Mira born?"),
)
CELL = DatabaseCell("people", "alias", LookupPrompts(TripletDatabase(ROWS), FACTS, PROMPTS))
WRONG: Replies = {state: LookupReply("nobody knows") for state in STATES}
ASKED = ("Mira", "born in")


def by_hand(fact: int = 0, wording: str = "direct", **told: LookupReply) -> JudgedPrompt:
    """One prompt of the cell; states that are not named are answered wrongly."""
    units = every_prompt([CELL])
    judged = judge([CELL], units, {unit.id: {**WRONG, **told} for unit in units})
    (found,) = [one for one in judged if one.fact.id == fact and one.wording == wording]
    return found


def looked_up(answer: str, *kept: int, deleted: Sequence[int] = ()) -> LookupReply:
    lookup = Lookup(
        ASKED,
        tuple(Hit(row, 0.9) for row in deleted),
        tuple(Hit(row, 0.8) for row in kept),
        next(iter(kept), None),
    )
    return LookupReply(answer, (LookupRecord(ASKED, answer, lookup),))


@cache
def perfectly(topology: str, domain: str = "countries") -> tuple[JudgedPrompt, ...]:
    asked = embedded(domain, topology).of(["direct", "cloze"])
    cell = DatabaseCell(domain, topology, asked)
    units, told = ask_perfectly(Library([cell], encoder=HashingEncoder()))
    return tuple(judge([cell], units, {unit.id: one for unit, one in zip(units, told, strict=True)}))


def with_reply(judged: Sequence[JudgedPrompt], which: Sequence[int], **told: LookupReply) -> list[JudgedPrompt]:
    return [replace(one, replies={**one.replies, **told}) if at in which else one for at, one in enumerate(judged)]
