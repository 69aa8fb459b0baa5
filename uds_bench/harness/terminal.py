"""The terminal section of a run: the claims as a table, then the sum that must add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from uds_bench.harness.findings import Findings
from uds_bench.harness.record import ClaimRecord
from uds_bench.harness.report import notes
from uds_bench.verdicts import GOOD, Verdict

if TYPE_CHECKING:
    from uds_bench.harness.run import Run

NOTES = {
    Verdict.EXPECTED: "expected",
    Verdict.WARNING: "warning",
    Verdict.NOT_APPLICABLE: "reason",
    Verdict.WAIVED: "waived",
}


def write_summary(reporter: Any, run: Run, found: Findings) -> None:
    records = sorted(found.records.values(), key=lambda record: (record.audit, record.verdict in GOOD, record.node))
    reporter.section("uds_bench claims")
    rows = [_row(record) for record in records]
    reporter.write_line(tabulate(rows, headers=("claim", "verdict", "observed", "95% CI", "needs", "golden")))
    for record in records:
        if record.verdict in NOTES:
            reporter.write_line(f"{NOTES[record.verdict]}: {record.message}")
    for note in notes(run, found):
        reporter.write_line(f"note: {note}")
    for remark in found.remarks:
        reporter.write_line(remark)
    for problem in found.problems:
        reporter.write_line(f"error: {problem}", red=True)
    total = " + ".join(
        f"{number} {word}" for word, number in found.counts.items() if number or word in ("pass", "fail")
    )
    line = f"{len(found.planned)} claims planned = {total}"
    reporter.write_line(line, bold=True, **({"green": True} if found.is_green else {"red": True}))


def _row(record: ClaimRecord) -> tuple[str, ...]:
    interval, bound = record.interval, record.bound
    return (
        record.name,
        record.verdict.value.upper() if record.verdict not in GOOD else record.verdict.value,
        "" if record.observed is None else f"{record.observed:.3g}" if interval is None else f"{record.observed:.3f}",
        "" if interval is None else f"{interval.low:.3f}..{interval.high:.3f}",
        record.needs or ("" if bound is None or bound != bound else f"{record.relation} {bound:g}"),
        "" if record.golden is None else str(record.golden["status"]),
    )
