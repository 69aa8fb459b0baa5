"""`uds-bench properties`: properties of people, and other people's values, from a Wikidata dump."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.console.lines import say
from uds_bench.storage import require_writable

if TYPE_CHECKING:
    from rich.progress import TaskID

EXAMPLE = "uds-bench properties latest-all.json.bz2 --out properties"


def properties(
    dump: Annotated[Path, typer.Argument(metavar="DUMP", help="Wikidata JSON dump: plain, .gz or .bz2.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write; made if need be.")],
    least: Annotated[int, typer.Option(metavar="N", min=1, help="Humans that must have a property.")] = 100,
    count: Annotated[int, typer.Option(metavar="N", min=1, help="Pairs of human and value a property.")] = 100,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of what is drawn.")] = 0,
) -> None:
    """Write listing.json, counterfactuals.json and templates.json: what humans have, and values to tell theirs from.

    The dump is read twice, as a stream. Each property gets two sentences made of its label: see that they read well,
    and add paraphrases to templates.json.
    """
    from uds_bench.facts.wikidata import Dump
    from uds_bench.facts.wikidata_sampling import draw

    source = Dump(dump)
    require_writable(out, "--out")
    with _progress(dump.stat().st_size) as stage:
        drawn = draw(source, least, count, seed, stage)
    drawn.write(out)
    say(f"{len(drawn.pairs)} properties of {drawn.people} humans, written to {out}")
    if fewer := [f"{id} ({len(pairs)})" for id, pairs in drawn.pairs.items() if len(pairs) < count]:
        say(f"fewer than {count} pairs: {', '.join(fewer)}", err=True)
    for id, why in drawn.left_out.items():
        say(f"left out: {id}: {why}", err=True)


@contextmanager
def _progress(size: int) -> Iterator[Callable[[str, int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    # Transient, and not into files at all: what goes wrong stays one line.
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bars: dict[str, TaskID] = {}

        def stage(text: str, done: int) -> None:
            if text not in bars:
                bars[text] = progress.add_task(f"reading {text}", total=size)
            progress.update(bars[text], completed=done)

        yield stage
