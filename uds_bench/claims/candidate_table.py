"""What became of each candidate: a row a candidate, a column an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from uds_bench.claims.record import ClaimRecord
from uds_bench.verdicts import BAD, Flag, Verdict

WORST = (
    *BAD,
    *(Flag.WAIVED, Flag.DECLARED, Flag.RESULT, Flag.CAUGHT),
    *(Verdict.PASS, Flag.CLEARED, Verdict.NOT_APPLICABLE),
)
"""Words of claims, the worst first: a cell says the worst of its claims."""


@dataclass(frozen=True)
class CandidateTable:
    """`cells`: by candidate and audit, the claims that speak of it, in the order of the run."""

    candidates: tuple[str, ...]
    audits: tuple[str, ...]
    cells: dict[tuple[str, str], tuple[ClaimRecord, ...]]

    def status(self, candidate: str, audit: str) -> str:
        """The word of the cell's worst claim; "" where no claim of the audit speaks of the candidate."""
        words = {record.status for record in self.cells.get((candidate, audit), ())}
        return next((word.value for word in WORST if word in words), "")

    def rows(self, mark: Callable[[str], str]) -> list[list[str]]:
        """A row a candidate: its name, and of each audit how many claims came to which word.

        The worst stand first, and are marked where they stop the release.
        """
        return [[name, *(self._cell(name, audit, mark) for audit in self.audits)] for name in self.candidates]

    def _cell(self, candidate: str, audit: str, mark: Callable[[str], str]) -> str:
        count = Counter(record.status for record in self.cells.get((candidate, audit), ()))
        told = [(count[word], mark(word) if word in BAD else word.value) for word in WORST if count[word]]
        return ", ".join(f"{number} {word}" for number, word in told) or "-"

    def bad(self, candidate: str) -> list[ClaimRecord]:
        """The claims about a candidate that stop its release, those that failed first."""
        found = [one for audit in self.audits for one in self.cells.get((candidate, audit), ()) if not one.is_good]
        return sorted(found, key=lambda one: one.verdict is not Verdict.FAIL)


def candidate_table(records: Iterable[ClaimRecord], set_up: bool = False) -> CandidateTable:
    """The claims of a run that speak of a candidate, put together.

    Args:
        records: All of them, in the order of the run.
        set_up: Whether those about nobody are a row too, under the name "".

    Returns:
        Candidates and audits in the order in which they first appear.

    Example:
        >>> deep = ClaimRecord("depth.score", "npo", "threshold", Verdict.PASS, "")
        >>> lost = ClaimRecord("depth.spared", "npo", "threshold", Verdict.FAIL, "")
        >>> found = candidate_table([deep, lost])
        >>> found.candidates, found.audits, found.status("npo", "depth"), [one.id for one in found.bad("npo")]
        (('npo',), ('depth',), 'fail', ['depth.spared'])
    """
    cells: dict[tuple[str, str], tuple[ClaimRecord, ...]] = {}
    for record in records:
        if record.subject or set_up:
            place = record.subject or "", record.audit
            cells[place] = (*cells.get(place, ()), record)
    candidates, audits = (tuple(dict.fromkeys(place[at] for place in cells)) for at in (0, 1))
    return CandidateTable(candidates, audits, cells)
