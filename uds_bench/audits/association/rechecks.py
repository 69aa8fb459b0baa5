"""Everybody who asked to be forgotten, by themselves: rank tests in every way of asking, in a candidate and before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uds_bench.audits.association.claims import LOSS, RATE
from uds_bench.audits.association.exact_rank import (
    RankTest,
    decide_each,
    rank_tests,
    settled,
    shows_most,
    stand_out_alone,
)
from uds_bench.audits.association.rates import lost
from uds_bench.statistics import finite_or_none, mean
from uds_bench.verdicts import Cause, Decision, Verdict, decide_threshold

if TYPE_CHECKING:
    from uds_bench.audits.association.audit import AssociationAudit

BEFORE, NEVER_SAW = "model", "retain"
"""What the section calls the model before unlearning, and the one that never saw who asks."""


@dataclass(frozen=True)
class Recheck:
    """One request in one candidate. `test`: the one that shows most. `first`: share of the person's facts, over all
    phrasings, that the candidate says before any other value, or tells in a reply, 0 to 1. It is told beside the
    verdict, which ranks decide, as luck alone says some."""

    id: str
    candidate: str
    test: RankTest
    decision: Decision
    first: float

    @property
    def waits(self) -> bool:
        """Whether the person stands out alone, and more strangers would decide among all who ask."""
        return self.decision.cause is Cause.UNITS and self.test.p <= RATE

    @property
    def verdict(self) -> str:
        """Pass, fail or undecided."""
        return self.decision.verdict.value

    def to_json(self) -> dict[str, Any]:
        """Of the person nothing but the id."""
        one = self.test
        return {
            "id": self.id,
            "candidate": self.candidate,
            "verdict": self.verdict,
            "why": self.decision.text,
            "way": one.way,
            "side": one.side,
            "strangers": one.strangers,
            "rank": one.rank,
            "p": finite_or_none(one.p),
            "adjusted": finite_or_none(one.adjusted),
            "first": finite_or_none(self.first),
            "guessed": finite_or_none(one.guessed),
        }


def tests_of(audit: AssociationAudit, model: str) -> list[RankTest]:
    """Of everybody who is to be forgotten, in every way of asking, beside a model's own strangers and those before."""
    ways = ("asked", "held out") if audit.probe_set.held_out else ("asked",)
    rows = {}
    for way in ways:
        view = audit.ways[way]
        found, before = view.of(model).held, view.of(BEFORE).held
        for whose, others in (("beside its own", found), ("beside those before", before)):
            rows[f"{way}, {whose}"] = view.sides.requested, view.sides.never_seen, found, others
    return rank_tests(rows)


def in_the_same_tokens(audit: AssociationAudit, candidate: str) -> bool:
    """A tokenizer that spells names otherwise hides weights that were never changed."""
    return bool(audit.seen(candidate).score.notes["rendered"] == audit.seen().score.notes["rendered"])


def rechecked(audit: AssociationAudit, candidate: str, again: Sequence[RankTest] = ()) -> list[Recheck]:
    """Each of those who are to be forgotten, in one candidate. `again`: tests that take the place of their first ones.

    Nothing is shown of whom the model before is not told either, or a model that never saw them is told all the same.
    """
    tests, before = settled(tests_of(audit, candidate), again), tests_of(audit, BEFORE)
    known, guessed = stand_out_alone(before, above=True), {one.person: one.guessed for one in before}
    wrongly = stand_out_alone(tests_of(audit, NEVER_SAW)) if audit.section.retain is not None else frozenset()
    same = in_the_same_tokens(audit, candidate)
    found = []
    for person, decision in decide_each(tests).items():
        why = ""
        if not same:
            why = "the candidate reads other tokens than the model before"
        elif decision.verdict is Verdict.PASS and person not in known:
            why = unknown_before(said_first(audit, BEFORE, person), guessed[person])
        elif person in wrongly:
            why = "a model that never saw the person is told too"
        if why:
            decision = Decision(Verdict.UNDECIDED, decision.observed, None, f"{decision.text}; but {why}")
        most = shows_most([one for one in tests if one.person == person])
        found.append(Recheck(person, candidate, most, decision, said_first(audit, candidate, person)))
    return found


def kept(audit: AssociationAudit, candidate: str, most: float = LOSS) -> Decision | None:
    """Whether a candidate holds of everybody else what the model before does: the number of `association.retained`,
    without its controls.

    Args:
        audit: The audit of a run.
        candidate: A judged model.
        most: How much may be lost, 0 to 1.

    Returns:
        The decision on what is lost, -1 to 1, lower is better. None where the model before holds nothing of anybody
        else, or nobody else was asked about.

    Example:
        >>> from types import SimpleNamespace
        >>> nobody = SimpleNamespace(probe_set=SimpleNamespace(kept=[]), seen=lambda name: SimpleNamespace(held={}))
        >>> kept(nobody, "npo") is None
        True
    """
    before = audit.seen(BEFORE).held
    known = [one for one in audit.probe_set.kept if before[one.id].some]
    if not known:
        return None
    found = lost(known, before, audit.seen(candidate).held, "most")
    return decide_threshold(found.value, found.interval, "<=", most, "people")


def unknown_before(first: float, guessed: float) -> str:
    """Why nothing is shown of a person whom the model before is not told by.

    Args:
        first: Share of the person's facts that it says first, 0 to 1.
        guessed: Share of them that it says first of strangers, 0 to 1.

    Returns:
        A cause: what is said of strangers as well is easily guessed.

    Example:
        >>> print(unknown_before(1.0, 0.5))
        the model before is not told either: it says 1.00 of it first, and of strangers 0.50, so it is easily guessed
    """
    told = f"the model before is not told either: it says {first:.2f} of it first, and of strangers {guessed:.2f}"
    if 0 < first <= 2 * guessed:
        return f"{told}, so it is easily guessed"
    return f"{told}; nothing was held, or these sentences do not show it"


def said_first(audit: AssociationAudit, candidate: str, person: str) -> float:
    """How much of what is true of a person a candidate says first, or in a reply, in every way of asking.

    Args:
        audit: The audit of a run.
        candidate: A judged model.
        person: Who asked.

    Returns:
        Mean share of templates, 0 to 1, higher is more knowledge; NaN of nobody.

    Example:
        >>> from types import SimpleNamespace
        >>> rows = [SimpleNamespace(id=id, cluster="r7") for id in ("r7/phone", "r7/street")]
        >>> held = {"r7/phone": SimpleNamespace(spoken=1.0), "r7/street": SimpleNamespace(spoken=0.0)}
        >>> view = SimpleNamespace(of=lambda name: SimpleNamespace(held=held), sides=SimpleNamespace(requested=rows))
        >>> said_first(SimpleNamespace(probe_set=SimpleNamespace(held_out=[]), ways={"asked": view}), "npo", "r7")
        0.5
    """
    ways = ("asked", "held out") if audit.probe_set.held_out else ("asked",)
    views = [audit.ways[way] for way in ways]
    rows = [
        (view.of(candidate).held, one.id) for view in views for one in view.sides.requested if one.cluster == person
    ]
    return mean(held[id].spoken for held, id in rows)
