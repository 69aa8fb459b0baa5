"""A claim as the page shows it: one statement that a test decided, with the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uds_bench.figures.reading import ABSENT, Interval, interval, number, rows, spell, table, text
from uds_bench.report.words import Word, word


@dataclass(frozen=True)
class Bound:
    """What the interval is held against, and who chose it; `needs` is it in words, where it takes words."""

    relation: str
    value: float | None
    origin: str
    changed: str
    needs: str = ""


@dataclass(frozen=True)
class Control:
    """A subject whose verdict is known in advance; `held` is None where the report does not say."""

    name: str
    must: str
    verdict: str
    observed: float | None
    interval: Interval | None
    held: bool | None
    why: str = ""

    @property
    def sentence(self) -> str:
        if self.held is None:
            return f"must {self.must}: the report does not say whether it did"
        if not self.held:
            why = f" ({self.why})" if self.why else ""
            return f"must {self.must}, but its verdict is {self.verdict or 'absent'}{why}: the gate cannot be trusted"
        if self.verdict == "inconclusive":
            return f"must {self.must}: too near the bound to be decided, and not against it"
        if self.must == "pass":
            return "must pass, and does: the gate lets a model through that never knew"
        return f"must {self.must}, and does: the gate stops a model that knows"


@dataclass(frozen=True)
class Claim:
    """One row of `claims` in the run report; `anchor` is its place on the page."""

    anchor: str
    id: str
    subject: str
    name: str
    audit: str
    kind: str
    verdict: str
    observed: float | None
    interval: Interval | None
    unit: str
    bound: Bound
    shortfall: float | None
    evidence: str
    statement: str
    message: str
    controls: tuple[Control, ...]
    golden: Mapping[str, Any]
    outcome: str
    specimen: str
    expected: Mapping[str, Any]
    waiver: Mapping[str, Any]
    provenance: Mapping[str, Any]
    reproduce: str
    node: str

    @property
    def word(self) -> Word:
        return word(self.verdict)

    @property
    def meaning(self) -> str:
        """Of its verdict; a claim may also fail by coming out otherwise than declared."""
        if self.verdict == "fail" and self.outcome not in ("", "fail"):
            return f"It came out {self.outcome}, which is not what it is held to: see its message."
        return self.word.meaning

    @property
    def needs(self) -> str:
        """The bound in words; for an identity, how far off it may be, for an equivalence, how far from 0."""
        if self.bound.value is None:
            return ABSENT
        if self.bound.needs:
            return self.bound.needs
        value = spell(self.bound.value)
        if self.kind == "identity":
            return f"equal within {value}" if self.bound.value else "exactly equal"
        return f"within ±{value} of 0" if self.kind == "equivalence" else f"{self.bound.relation} {value}"

    @property
    def stops(self) -> bool:
        """Whether this claim alone makes the run red."""
        return self.word.tone == "bad"

    @property
    def excuse(self) -> str:
        """Why a miss was declared or waived beforehand; empty where it was not."""
        if self.expected and self.verdict == "expected miss":
            return f"declared in the manifest: {text(self.expected.get('reason')) or 'no reason given'}"
        if self.waiver and self.verdict == "waived":
            until = text(self.waiver.get("expires"))
            reason = text(self.waiver.get("reason")) or "no reason given"
            return f"waived{' until ' + until if until else ''}: {reason}"
        return ""


def _bound(value: Any) -> Bound:
    found = table(value)
    return Bound(
        text(found.get("relation")),
        number(found.get("value")),
        text(found.get("origin")),
        text(found.get("changed")),
        text(found.get("needs")),
    )


def _control(row: Mapping[str, Any]) -> Control:
    held = row.get("held")
    return Control(
        text(row.get("name")) or "unnamed",
        text(row.get("must")),
        text(row.get("verdict")),
        number(row.get("observed")),
        interval(row.get("interval")),
        held if isinstance(held, bool) else None,
        text(row.get("why")),
    )


def _claim(index: int, row: Mapping[str, Any]) -> Claim:
    identity = text(row.get("id"))
    name = text(row.get("name")) or identity or "unnamed claim"
    return Claim(
        anchor=f"claim-{index}",
        id=identity or name,
        subject=text(row.get("subject")),
        name=name,
        audit=text(row.get("audit")) or identity.partition(".")[0] or "other",
        kind=text(row.get("kind")),
        verdict=text(row.get("verdict")),
        observed=number(row.get("observed")),
        interval=interval(row.get("interval")),
        unit=text(row.get("unit")),
        bound=_bound(row.get("bound")),
        shortfall=number(row.get("shortfall")),
        evidence=text(row.get("evidence")),
        statement=text(row.get("statement")),
        message=text(row.get("message")),
        controls=tuple(_control(control) for control in rows(row.get("controls"))),
        golden=table(row.get("golden")),
        outcome=text(row.get("outcome")),
        specimen=text(row.get("specimen")),
        expected=table(row.get("expected")),
        waiver=table(row.get("waiver")),
        provenance=table(row.get("provenance")),
        reproduce=text(row.get("reproduce")),
        node=text(row.get("node")),
    )


def read_claims(run: Mapping[str, Any]) -> tuple[Claim, ...]:
    return tuple(_claim(index, row) for index, row in enumerate(rows(run.get("claims")), 1))
