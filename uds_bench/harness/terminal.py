"""Our section of a run's summary: a row an audit, a line a note, and of every red claim its message and command."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from uds_bench.claims.candidate_table import candidate_table
from uds_bench.claims.record import STATUSES, ClaimRecord, count
from uds_bench.errors import counted
from uds_bench.grouping import grouped
from uds_bench.harness.report import notes
from uds_bench.harness.result import NEVER_RUN, RunResult
from uds_bench.harness.screen import Status, sentence
from uds_bench.verdicts import Flag, Verdict

if TYPE_CHECKING:
    from uds_bench.harness.run import Run

ALWAYS: dict[Status, str] = {Flag.DECLARED: "declared", Flag.WAIVED: "waived"}
"""What a reader must not miss of a good claim."""
WORDY: dict[Status, str] = {**ALWAYS, Flag.RESULT: "result", Verdict.NOT_APPLICABLE: "reason"}
"""What -v tells as well."""
WIDTH = 160


def write_summary(reporter: Any, run: Run, found: RunResult) -> None:
    """Writes a row an audit, then each red claim once, notes and the matrix."""
    records = sorted(found.told, key=lambda record: (record.audit, record.is_good, record.node))
    wordy = reporter.verbosity > 0
    reporter.write_sep("=", "uds_bench claims")
    reporter.write_line(tabulate(_audits(records), headers="firstrow", tablefmt="plain"))
    if wordy:
        headers = ("claim", "verdict", "observed", "95% CI", "needs", "golden")
        reporter.write_line(f"\n{tabulate([_row(record) for record in records], headers=headers)}")
    heads: dict[str, str] = {str(status): head for status, head in (WORDY if wordy else ALWAYS).items()}
    for record in records:
        if head := heads.get(record.status):
            line = f"{head}: {record.message if wordy else _in_short(record)}"
            reporter.write_line(line if wordy else textwrap.shorten(line, WIDTH, placeholder=" ..."))
    for note in notes(run, found):
        reporter.write_line(f"note: {note}")
    if not (wordy or run.is_embedded) and (left := [one for one in records if one.verdict is Verdict.NOT_APPLICABLE]):
        line = f"note: does not apply: {'; '.join(dict.fromkeys(record.message for record in left))}"
        reporter.write_line(textwrap.shorten(line, WIDTH, placeholder=" ..."))
    for remark in found.remarks:
        reporter.write_line(remark)
    table = candidate_table(found.told)
    red = [record for record in records if not (record.is_good or record.subject)]
    red += [record for name in table.candidates for record in table.bad(name)]
    if not run.is_embedded and table.candidates:
        reporter.write_line(
            f"\n{tabulate(table.rows(str.upper), headers=('candidate', *table.audits), tablefmt='plain')}"
        )
    unrun = [record.name for record in red if record.message.endswith(NEVER_RUN)]
    ran = [record for record in red if record.name not in unrun]
    for first, *others in grouped(ran, lambda record: (record.subject, record.message.partition(": ")[2])).values():
        reporter.write_line(first.failure_text(wordy), red=True)
        if others:
            reporter.write_line(f"  so are: {', '.join(record.name for record in others)}", red=True)
    if unrun:
        line = f"MISSING: {counted(len(unrun), 'claim')} never ran: {', '.join(unrun)}"
        reporter.write_line(textwrap.shorten(line, WIDTH, placeholder=" ..."), red=True)
    for problem in found.problems:
        reporter.write_line(f"error: {problem}", red=True)


def write_end(reporter: Any, run: Run, found: RunResult, exit_code: int) -> None:
    """Where to read on, the sum that must add up, and the run in one sentence."""
    for what, path in found.written.items():
        reporter.write_line(f"{what}: {path}")
    total = " + ".join(
        f"{number} {word}" for word, number in count(found.told).items() if number or word in ("pass", "fail")
    )
    colour = "green" if found.is_green and exit_code == 0 else "red"
    for line in (
        f"{len(found.planned) + len(found.of_method)} claims planned = {total}",
        sentence(found, run.is_embedded, exit_code, run.instead),
    ):
        reporter.write_line(line, bold=True, **{colour: True})


def _audits(records: list[ClaimRecord]) -> list[list[Any]]:
    """A row an audit: its claims by status, bad ones in capitals, and how many of its controls came out right."""
    spelled = {record.status: record.status if record.is_good else record.status.upper() for record in records}
    words = [word for word in STATUSES if word in spelled]
    rows: list[list[Any]] = [["audit", "claims", *(spelled[word] for word in words), "controls right"]]
    for audit in dict.fromkeys(record.audit for record in records):
        own = [record for record in records if record.audit == audit]
        counts = Counter(record.status for record in own)
        held = [control.held for record in own for control in record.controls]
        right = f"{sum(held)} of {len(held)}" if held else ""
        rows.append([audit, len(own), *(counts[word] or "" for word in words), right])
    return rows


def _in_short(record: ClaimRecord) -> str:
    """Why a claim is waived, or what was declared of it."""
    declared = record.waiver or record.expected
    until = f" until {declared['expires']}" if "expires" in declared else ""
    return f"{record.name}{until}: {declared['reason']}"


def _row(record: ClaimRecord) -> tuple[str, ...]:
    interval = record.interval
    return (
        record.name,
        record.spelled(),
        "" if record.observed is None else f"{record.observed:.3g}" if interval is None else f"{record.observed:.3f}",
        "" if interval is None else f"{interval.low:.3f}..{interval.high:.3f}",
        record.needs,
        str(record.golden.get("status", "")),
    )
