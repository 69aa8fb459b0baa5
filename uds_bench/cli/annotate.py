"""`uds-bench annotate`: questions and answers become facts, each with the entity that is scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.console.lines import say
from uds_bench.console.options import JSON_LINES, require_file
from uds_bench.errors import ConfigurationError, FactError
from uds_bench.storage import write_rows

if TYPE_CHECKING:
    from uds_bench.facts import FactSet, Split, Unannotated

EXAMPLE = "uds-bench annotate questions.jsonl --out facts.jsonl --failed failed.jsonl"
ASKED: dict[Split, str] = {"forget": "to be forgotten", "retain": "to be kept (key split: retain)"}
"""What depth asks about, by split."""
SHOWN = 20
"""Items that the terminal lists; `--failed` has all."""


def annotate(
    source: Annotated[Path, typer.Argument(metavar="IN", help="JSON objects with question and answer.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Facts file to write.")],
    corrections: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .csv or .jsonl with id and entity, which go first.")
    ] = None,
    failed: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to list what has no sure entity, ready to fill in.")
    ] = None,
    keep_doubtful: Annotated[
        bool, typer.Option("--keep-doubtful", help="Write doubtful entities too, each with its doubt.")
    ] = False,
    rows_per_cluster: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="So many rows are of one person; without it, whom they name."),
    ] = None,
) -> None:
    """Find the entity in each answer and write a facts file.

    Rows that name one person are one cluster, unless IN says otherwise (key cluster, author, subject or person).
    Where no entity is found, or it is doubtful, the item is left out and listed. Fill in the entity in the --failed
    file and give it back as --corrections.
    """
    annotate_to(source, out, corrections, failed, keep_doubtful, rows_per_cluster)


def annotate_to(
    source: Path,
    out: Path,
    corrections: Path | None = None,
    failed: Path | None = None,
    keep_doubtful: bool = False,
    rows_per_cluster: int | None = None,
    again: str = "",
) -> None:
    """`annotate`; `again`: the command that has these options, for who called another one."""
    before = f"{again} " if again else ""
    targets = [
        require_file(path, option, JSON_LINES) for path, option in ((out, "--out"), (failed, "--failed")) if path
    ]
    inputs = [path.resolve() for path in (source, corrections) if path]
    for target in targets:
        if target.resolve() in inputs:
            raise ConfigurationError(f"{target} is read and would be overwritten: name another file to write")
    from uds_bench.facts import annotate_file
    from uds_bench.statistics import FEWEST

    facts = annotate_file(source, out, corrections, rows_per_cluster, keep_doubtful, say)
    if facts:
        say(f"{len(facts)} of {len(facts) + len(facts.unannotated)} annotated, written to {out}")
        for split, asked in ASKED.items():
            if (people := len(facts.split(split).clusters)) < FEWEST:
                say(f"clusters {asked}: {people}; fewer than {FEWEST} decide nothing", err=True)
    lines = list(doubts(facts))
    for line in lines[:SHOWN]:
        say(line, err=True)
    if more := len(lines[SHOWN:]):
        say(f"and {more} more" + ("" if failed else f": {before}--failed FILE lists them"), err=True)
    if facts and facts.unannotated:
        told = f"{before}--corrections FILE, or take what is proposed by {before}--keep-doubtful"
        say(f"left out: give entities by {told}", err=True)
    if failed is not None:
        write_failed(failed, facts.unannotated)
    if not facts:
        raise FactError(f"{source}: no item got an entity that is sure; give entities by {before}--corrections FILE")


def doubts(facts: FactSet) -> Iterator[str]:
    """A line for each item that was left out, and for each that was kept although it is doubtful."""
    for item in facts.unannotated:
        told = f"doubtful: {item.id}: {item.proposed!r}" if item.proposed else f"not annotated: {item.id}"
        yield f"{told}: {item.question!r} -> {item.answer!r}: {item.reason}"
    for fact in facts:
        if fact.doubt:
            told = f"kept although doubtful: {fact.id}: {fact.entity!r}"
            yield f"{told}: {fact.question!r} -> {fact.answer!r}: {fact.doubt}"


def write_failed(path: Path, items: Iterable[Unannotated]) -> None:
    """One JSON object a line, in the form of corrections with the entity left empty."""
    write_rows(path, ({**vars(item), "entity": ""} for item in items))
