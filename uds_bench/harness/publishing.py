"""What a finished run leaves behind: goldens if asked to record, then the JSON report and the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uds_bench.errors import ConfigurationError
from uds_bench.harness.report import run_report
from uds_bench.harness.result import RunResult
from uds_bench.storage import write_atomic, write_json

if TYPE_CHECKING:
    from uds_bench.harness.run import Run


def publish(run: Run, found: RunResult) -> None:
    """Raises UdsError or OSError where something cannot be written."""
    settings = run.settings
    if settings.record is not None:
        from uds_bench.harness.recording import record

        if found.deselected or not found.is_green:
            raise ConfigurationError("--uds-record: goldens are recorded from whole, green runs only")
        named, left_out = record(run, found.records.values(), settings.record)
        found.remarks += [f"recorded {len(named)} goldens in {settings.goldens}", *left_out]
    if settings.json is None and settings.html is None:
        return
    report = run_report(run, found)
    if settings.json is not None:
        write_json(settings.json, report.to_json())
    if settings.html is not None:
        from uds_bench.report import write_report

        write_report(report, settings.html)
        for audit in run.opened.values():
            for name, content in audit.files().items():
                write_atomic(settings.html / name, content)
