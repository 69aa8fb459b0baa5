"""`uds-bench goldens`: look at recorded goldens and check that they may stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from uds_bench.audits import registry
from uds_bench.console.app import ABSENT, NOTHING, example, new_app
from uds_bench.console.lines import say, show_json, show_table
from uds_bench.console.options import JsonOption
from uds_bench.errors import ConfigurationError

app = new_app(
    "List and check recorded goldens. `pytest suites/ --uds-record REASON` records them.", "uds-bench goldens lint"
)
REQUIRED = ("value", "n", "versions", "command", "reason")

FolderOption = Annotated[
    Path | None, typer.Option("--folder", metavar="DIR", help="Folder of goldens (default: as pytest finds it).")
]


@dataclass(frozen=True)
class Golden:
    """One recorded score; its `audit` is told by the file's place."""

    path: Path
    name: str
    entry: Mapping[str, Any]

    @property
    def audit(self) -> str:
        """The audit that it is of."""
        return self.path.parent.name


@app.command("list", epilog=example("uds-bench goldens list --folder goldens"))
def list_goldens(folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """List the goldens of every audit."""
    folder = _found(folder)
    goldens = read_goldens(folder)
    if as_json:
        from uds_bench.json_values import finite

        rows = [{"name": g.name, "audit": g.audit, **finite(g.entry)} for g in goldens]
        show_json({"schema": 1, "goldens": rows})
        return
    if not goldens:
        say(f"no goldens in {folder}")
        return
    shown = ("value", "n", "reason")
    show_table({"golden": g.name} | {key: _shown(g.entry.get(key)) for key in shown} for g in goldens)


@app.command(epilog=example("uds-bench goldens lint"))
def lint(folder: FolderOption = None) -> None:
    """Check that every golden may stand; exits 1 if one may not, 5 if there is none.

    A golden has a finite value, and says from how many units, by which versions and command, and why it was recorded.
    Half of its distance to its claim's bound is more than the tolerance, and it belongs to a claim.
    """
    folder = _found(folder)
    goldens = read_goldens(folder)
    if not goldens:
        say(f"no goldens in {folder}: nothing was checked", err=True)
        raise typer.Exit(NOTHING)
    problems = [f"{g.path}: {g.name}: {problem}" for g in goldens for problem in find_problems(g)]
    for problem in problems:
        say(problem)
    say(f"{len(goldens)} goldens, {len(problems)} problems")
    raise typer.Exit(1 if problems else 0)


def _found(folder: Path | None) -> Path:
    from uds_bench.harness.options import find_goldens

    return find_goldens(Path("goldens")) if folder is None else folder


def read_goldens(folder: Path) -> list[Golden]:
    """All goldens. Raises ConfigurationError for a folder or file that cannot be read."""
    from uds_bench.claims.goldens import FILE, read_entries

    if not folder.is_dir():
        raise ConfigurationError(f"--folder: there is no folder {folder}: name the one that holds goldens")
    files = sorted(folder.glob(f"*/{FILE}"))
    return [Golden(path, name, entry) for path in files for name, entry in read_entries(path).items()]


def find_problems(golden: Golden) -> Iterator[str]:
    """Why a golden must not stand; nothing if it may."""
    from uds_bench.claims.goldens import hides_a_verdict, is_finite

    entry = golden.entry
    for key in REQUIRED:
        if entry.get(key) in (None, "", [], {}):
            yield f"{key} is missing: record it anew"
    if entry.get("value") is not None and not is_finite(entry["value"]):
        yield f"value is {entry['value']!r}, no finite number: record it anew"
    if entry.get("n") is not None and (type(entry["n"]) is not int or entry["n"] < 1):
        yield f"n is {entry['n']!r}, not a number of units: record it anew"
    claim = registry.claims().get(golden.name.partition("[")[0])
    if claim is None:
        yield "belongs to no claim: remove it"
        return
    if claim.audit != golden.audit:
        yield f"belongs to audit {claim.audit} and stands in {golden.audit}: record it anew"
    if is_finite(entry.get("value")):
        # A bound may have been measured on pools: what counts is the one that the value was held against.
        held = replace(claim, bound=entry["bound"]) if is_finite(entry.get("bound")) else claim
        reason = hides_a_verdict(entry["value"], held)
        if reason is not None:
            yield reason


def _shown(value: Any) -> str:
    if value is None:
        return ABSENT
    return f"{value:.4g}" if isinstance(value, float) else str(value)
