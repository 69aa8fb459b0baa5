"""`uds-bench report`: the HTML page of a run report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from uds_bench.claims.compared import by_address, changes_since
from uds_bench.cli.documents import read_run
from uds_bench.console.lines import show_data
from uds_bench.storage import require_writable

EXAMPLE = "uds-bench report run.json --out reports/today --against yesterday.json"


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN.json", help="What `pytest suites/ --uds-json` wrote.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the page: index.html, and its parts beside it.")],
    against: Annotated[
        Path | None, typer.Option(metavar="EARLIER.json", help="An earlier run: the page says what changed since.")
    ] = None,
    redact: Annotated[bool, typer.Option("--redact", help="To publish: salted ids for words about people.")] = False,
) -> None:
    """Write the page of a run report: what failed first, then claim by claim, with figures and facts.

    It is for the holder: it has names, values and replies. With --redact it has a salted id in place of each.
    """
    found = read_run(run)
    from uds_bench.report import write_report

    changed = None
    if against is not None:
        before = read_run(against)
        scores = by_address(before.scores, against), by_address(found.scores, run)
        changed = changes_since(before, found, *scores)
    if redact:
        from uds_bench.report.redact import redacted

        found = redacted(found, str(run))
        changed = changed and replace(changed, manifest=Path(changed.manifest).name)
    show_data(write_report(found, require_writable(out, "--out"), changed))
