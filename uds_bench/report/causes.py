"""What stops a release, alike causes together: who reads on learns each reason once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uds_bench.report.claim import ClaimView
from uds_bench.verdicts import Cause, Verdict

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
    groups: dict[tuple[str, ...], list[ClaimView]] = {}
    for claim in claims:
        if not claim.record.is_good:
            groups.setdefault(_key(claim), []).append(claim)
    found = [CauseGroup(tuple(group)) for group in groups.values()]
    return sorted(found, key=lambda one: (one.first.record.verdict is not Verdict.FAIL, -len(one.claims)))


def _key(claim: ClaimView) -> tuple[str, ...]:
    record = claim.record
    if record.cause in BROKEN:
        return str(record.cause), record.message.partition(": ")[2]
    return record.id, str(record.verdict), str(record.cause), claim.meaning
