"""`uds-bench init`: a manifest to fill in, and an example of facts."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from uds_bench.audits import registry
from uds_bench.errors import ConfigurationError
from uds_bench.storage import require_writable, write_atomic

EXAMPLE = "uds-bench init my-release"
FILES = ("uds.toml", "facts.jsonl")


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write; made if need be.")] = Path(),
) -> None:
    """Write uds.toml, a commented manifest, and facts.jsonl, four facts to replace by your own.

    Nothing is overwritten.
    """
    for name in FILES:
        if (folder / name).exists():
            raise ConfigurationError(f"{folder / name} exists and is not overwritten: name another folder")
    require_writable(folder, "FOLDER")
    for name in FILES:
        write_atomic(folder / name, template(name))
        typer.echo(f"wrote {folder / name}")
    manifest = folder / "uds.toml"
    typer.echo(f"Name your models and facts in {manifest}, then: uds-bench plan --manifest {manifest}")


def template(name: str) -> bytes:
    """A file as `init` writes it: each audit has its part of the manifest, and those without a table come first."""
    written = (resources.files("uds_bench.cli") / "templates" / name).read_text(encoding="utf-8")
    kinds = {name: kind for name, audit in registry.audits().items() if (kind := audit.section()) is not None}
    ordered = sorted(kinds, key=lambda name: not kinds[name].INLINE)
    parts = filter(None, (registry.audits()[name].template() for name in ordered))
    return written.replace("# {audits}\n", "\n".join(parts)).encode()
