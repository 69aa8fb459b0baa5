"""`uds-bench annotate`: questions and answers become facts, each with the entity that is scored."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.console.options import require_file
from uds_bench.errors import ConfigurationError
from uds_bench.storage import write_atomic

if TYPE_CHECKING:
    from uds_bench.facts import Unannotated

EXAMPLE = "uds-bench annotate questions.jsonl --out facts.jsonl --failed failed.jsonl"


def annotate(
    source: Annotated[Path, typer.Argument(metavar="IN", help="JSON objects with question and answer.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Facts file to write.")],
    overrides: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Objects with question, prefix and entity that go first.")
    ] = None,
    failed: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to list what got no entity, ready to fill in.")
    ] = None,
    rows_per_cluster: Annotated[
        int, typer.Option(metavar="N", min=1, help="Rows of one author where IN names no clusters.")
    ] = 1,
) -> None:
    """Find the entity in each answer and write a facts file.

    Where no entity is found, the item is left out and listed. Fill in prefix and entity in the --failed file
    and give it back as --overrides.
    """
    targets = [require_file(path, option) for path, option in ((out, "--out"), (failed, "--failed")) if path]
    inputs = [path.resolve() for path in (source, overrides) if path]
    for target in targets:
        if target.resolve() in inputs:
            raise ConfigurationError(f"{target} is read and would be overwritten: name another file to write")
    from uds_bench.facts import annotate_file

    found = annotate_file(source, out, overrides, rows_per_cluster)
    typer.echo(f"{len(found.facts)} of {len(found.facts) + len(found.failed)} annotated, written to {out}")
    for item in found.failed:
        typer.echo(f"not annotated: {item.id}: {item.question!r} -> {item.answer!r}: {item.reason}", err=True)
    if failed is not None:
        write_failed(failed, found.failed)


def write_failed(path: Path, items: Iterable[Unannotated]) -> None:
    """One JSON object a line, in the form of overrides with prefix and entity left empty."""
    lines = [json.dumps({**vars(item), "prefix": "", "entity": ""}, ensure_ascii=False) + "\n" for item in items]
    write_atomic(path, "".join(lines).encode())
