"""`uds-bench compare`: what changed between two score files, or between two runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from uds_bench.claims.compared import by_address, changes, difference, pairs, read_verdicts
from uds_bench.cli.documents import read_document
from uds_bench.console.app import ABSENT, show_interval, show_number
from uds_bench.console.lines import say, show_json, show_table
from uds_bench.console.options import JsonOption
from uds_bench.errors import ConfigurationError

EXAMPLE = "uds-bench compare before.json after.json --fail-on-change"


def compare(
    a: Annotated[Path, typer.Argument(metavar="A.json", help="The earlier scores or run report.")],
    b: Annotated[Path, typer.Argument(metavar="B.json", help="The later one, of the same kind.")],
    fail_on_change: Annotated[
        bool, typer.Option("--fail-on-change", help="Exit 1 if a verdict got worse (run reports).")
    ] = False,
    same: Annotated[
        bool,
        typer.Option("--same", help="Exit 1 unless both are one run on two machines: equal verdicts, equal scores."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare scores and verdicts, B against A.

    Intervals are of paired differences, B - A, over the facts that both scored, resampling clusters. A verdict
    gets worse when a pass, or a specimen caught or cleared, becomes anything else, a good one a bad one, or a claim is
    gone.
    """
    first, second = read_document(a), read_document(b)
    if first.kind != second.kind:
        raise ConfigurationError(f"{a} is a {first.kind} and {b} a {second.kind}: compare two of one kind")
    if fail_on_change and first.run is None:
        raise ConfigurationError("--fail-on-change: score files have no verdicts: compare two run reports")
    if same:
        from uds_bench.cli.compare_same import are_same

        raise typer.Exit(0 if are_same(first, second) else 1)
    scores = [difference(*pair) for pair in pairs(*(by_address(one.scores, one.path) for one in (first, second)))]
    verdicts = None
    if first.run is not None and second.run is not None:
        verdicts = changes(read_verdicts(first.run), read_verdicts(second.run))
    if as_json:
        show_json({"schema": 1, "kind": first.kind, "a": str(a), "b": str(b), "scores": scores, "verdicts": verdicts})
    else:
        show_table(map(_row, scores))
        _show_verdicts(verdicts)
    worse = any(change["change"] == "worse" for change in verdicts or ())
    raise typer.Exit(1 if fail_on_change and worse else 0)


def _row(row: Mapping[str, Any]) -> dict[str, str]:
    from uds_bench.scores import ADDRESS  # which imports numpy

    match = row["paired"]
    return {key: row[key] for key in ADDRESS} | {
        "A": show_number(row["a"]),
        "B": show_number(row["b"]),
        "B - A": show_number(row["difference"], "+"),
        "paired": show_number(match and match["difference"], "+"),
        "95% CI": show_interval(match and match["ci"], "+"),
        "facts": str(match["facts"]) if match else ABSENT,
        "clusters": str(match["clusters"]) if match else ABSENT,
        "note": row["note"] or "",
    }


def _show_verdicts(verdicts: list[dict[str, Any]] | None) -> None:
    if verdicts is None:
        return
    say()
    if not verdicts:
        say("no verdict changed")
        return
    show_table({key: change[key] or ABSENT for key in ("claim", "a", "b", "change")} for change in verdicts)
