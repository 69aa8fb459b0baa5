"""`uds-bench report`: the HTML page of a run report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uds_bench.cli.documents import read_run
from uds_bench.storage import require_writable

EXAMPLE = "uds-bench report run.json --out reports/today"


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN.json", help="What `pytest suites/ --uds-json` wrote.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the page, index.html.")],
    redact: Annotated[bool, typer.Option("--redact", help="To publish: salted ids for words about people.")] = False,
) -> None:
    """Write the page of a run report: verdicts, evidence and figures in one file that needs no other.

    It is for the holder: it has names, values and replies. With --redact it has a salted id in place of each.
    """
    _, found = read_run(run)
    from uds_bench.report import write_report

    if redact:
        from uds_bench.report.redact import redacted

        found = redacted(found, str(run))
    typer.echo(write_report(found, require_writable(out, "--out")))
