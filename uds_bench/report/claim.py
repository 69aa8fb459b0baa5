"""A claim as the page shows it: its record and place; and those that are red for one cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from uds_bench.claims.record import ClaimRecord, Control
from uds_bench.grouping import grouped
from uds_bench.report.verdict_words import CAUSES, WORDS, VerdictWord
from uds_bench.verdicts import Cause, Flag, Verdict


@dataclass(frozen=True)
class ClaimView:
    """One claim of the run; `anchor` is its place on the page, on the card `card`."""

    card: str
    anchor: str
    record: ClaimRecord

    @property
    def word(self) -> VerdictWord:
        """Its status."""
        return WORDS[self.record.status]

    @property
    def text_alone(self) -> str:
        """Its message without its name, which stands beside it."""
        record = self.record
        return record.message.removeprefix(f"{record.id} [{record.subject}]: ").removeprefix(f"{record.id}: ")

    @property
    def meaning(self) -> str:
        """Of its status; a claim may also fail by coming out otherwise than declared."""
        record = self.record
        if record.cause and not record.is_good:
            return CAUSES[record.cause]
        if record.flag is None and record.verdict is Verdict.FAIL and record.outcome not in (None, Verdict.FAIL):
            return f"It came out {record.outcome}, which is not what it is held to: see its message."
        return self.word.meaning

    @property
    def excuse(self) -> str:
        """Why a miss was declared or waived beforehand; empty where it was not."""
        record = self.record
        if record.flag is Flag.DECLARED:
            return f"declared beforehand: {record.expected.get('reason') or 'no reason given'}"
        if record.flag is Flag.WAIVED:
            return f"waived until {record.waiver.get('expires')}: {record.waiver.get('reason') or 'no reason given'}"
        return ""


def read_claims(records: Iterable[ClaimRecord]) -> tuple[ClaimView, ...]:
    """The claims of a run, each with its place: those about nobody, the set-up, are on card c0."""
    listed = list(records)
    cards = {name: f"c{at}" for at, name in enumerate(dict.fromkeys(["", *(one.subject or "" for one in listed)]))}
    return tuple(
        ClaimView(card := cards[one.subject or ""], f"{card}-{index}", one) for index, one in enumerate(listed, 1)
    )


def sentence(control: Control) -> str:
    """How a control fared, for who does not know what one is for."""
    if not control.held:
        why = f" ({control.why})" if control.why else ""
        return f"must {control.must}, but its verdict is {control.verdict}{why}: the gate cannot be trusted"
    if control.verdict == Verdict.UNDECIDED:
        return f"must {control.must}: too near the bound to be decided, and not against it"
    if control.must == "pass":
        return "must pass, and does: the gate lets a model through that never knew"
    return f"must {control.must}, and does: the gate stops a model that knows"


BROKEN = (Cause.REFUSED, Cause.CRASHED, Cause.MISSING)
"""Causes by which many claims are undecided for one thing."""


@dataclass(frozen=True)
class CauseGroup:
    """Red claims of one cause: the same claim about several candidates, or whatever one thing broke."""

    claims: tuple[ClaimView, ...]

    @property
    def first(self) -> ClaimView:
        """It speaks for all of them."""
        return self.claims[0]

    @property
    def ids(self) -> list[str]:
        """Of its claims, each once."""
        return list(dict.fromkeys(claim.record.id for claim in self.claims))


def causes(claims: Sequence[ClaimView]) -> list[CauseGroup]:
    """Groups of the claims that stop the release: fails first, then what is undecided; the largest first."""
    groups = grouped((claim for claim in claims if not claim.record.is_good), _key)
    found = [CauseGroup(tuple(group)) for group in groups.values()]
    return sorted(found, key=lambda one: (one.first.record.verdict is not Verdict.FAIL, -len(one.claims)))


def _key(claim: ClaimView) -> tuple[str, ...]:
    record = claim.record
    if record.cause in BROKEN:
        return str(record.cause), record.message.partition(": ")[2]
    return record.id, str(record.verdict), str(record.cause), claim.meaning
