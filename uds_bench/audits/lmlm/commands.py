"""`uds-bench zoo databases`: the embedded triplet databases as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uds_bench.console.app import ends
from uds_bench.console.lines import say


@ends("uds-bench zoo databases data/lmlm")
def databases(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; files of the same names are replaced.")],
) -> None:
    """Write the embedded triplet databases and their prompts in the public form."""
    from uds_bench.facts.topology import write_embedded
    from uds_bench.storage import require_writable

    write_embedded(require_writable(folder, "DIR"))
    say(f"written to {folder}: DOMAIN/TOPOLOGY.json, asked by DOMAIN/prompts/TOPOLOGY/*.jsonl", err=True)


COMMANDS = {"zoo databases": databases}
