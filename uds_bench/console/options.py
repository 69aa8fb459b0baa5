"""Options that several commands take, and what their words mean."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from uds_bench.console.lines import say
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.storage import require_writable

ManifestOption = Annotated[
    Path | None, typer.Option("--manifest", metavar="FILE", help="Manifest (default: the embedded zoo).")
]
MetricsOption = Annotated[
    str, typer.Option("--metrics", metavar="A,B", help="Metrics by name (default: every one that the facts can feed).")
]
AttacksOption = Annotated[str, typer.Option("--attacks", metavar="A,B", help="Attacks by name.")]
VariantsOption = Annotated[
    bool, typer.Option("--variants", help="Every variant of each metric, not the default one alone.")
]
CheckpointsOption = Annotated[
    str, typer.Option("--checkpoints", metavar="A,B", help="Names of the manifest (default: all).")
]
StoreOption = Annotated[
    str | None,
    typer.Option("--store", metavar="DIR|URL", help="Folder or bucket of scores (default: the user cache)."),
]
DeviceOption = Annotated[
    str, typer.Option("--device", metavar="auto|cpu|cuda[:N]", help="Where models run; auto: CUDA where present.")
]
BatchSizeOption = Annotated[
    str,
    typer.Option("--batch-size", metavar="N", help="Facts or prompts at a time (default: 16 and 128, halved to fit)."),
]
AuditsOption = Annotated[
    str,
    typer.Option("--audits", metavar="A,B", help="Audits by name (default: all that the manifest says something to)."),
]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|ray|slurm[:N|:local]",
        help="Where the work is done: processes of this machine, a Ray cluster (RAY_ADDRESS), N jobs of Slurm.",
    ),
]
ShardOption = Annotated[
    str,
    typer.Option("--shard", metavar="I/N", help="Share I of N alone. Each model, under each attack, is in one share."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]


def chosen(text: str, known: Iterable[str], option: str) -> list[str]:
    """The names in `text`, separated by commas, each once; all that are known where it is empty.

    Raises ConfigurationError for a name that is not known.
    """
    names, given = list(known), [name.strip() for name in text.split(",") if name.strip()]
    if text and not given:
        raise ConfigurationError(f"{option}: {text!r} holds no name: choose from {', '.join(names)}")
    for name in given:
        if name not in names:
            raise ConfigurationError(f"{option}: there is no {name!r}: {did_you_mean(name, names)}")
    return list(dict.fromkeys(given)) or names


def tell_left_out(left_out: Mapping[str, str]) -> None:
    """One line a reason: no metric that was asked for by asking for all is left out in silence."""
    for why in dict.fromkeys(left_out.values()):
        names = [name for name, reason in left_out.items() if reason == why]
        say(f"uds-bench: left out, as {why}: {', '.join(names)}", err=True)


JSON, JSON_LINES = (".json",), (".jsonl", ".json")
"""Endings of files that hold one document, and of those that hold one a line."""


def require_file(path: Path, option: str, formats: Collection[str] = ()) -> Path:
    """A path that a file can be written to, told before anything is computed for it. `formats`: the endings that it may
    have; any where none is named."""
    if path.is_dir():
        raise ConfigurationError(f"{option}: {path} is a folder: name a file")
    if formats and path.suffix.lower() not in formats:
        told = f"{path.suffix or 'no ending'} is no format: let it end in {' or '.join(formats)}"
        raise ConfigurationError(f"{option} {path}: {told}")
    require_writable(path.parent, option)
    return path
