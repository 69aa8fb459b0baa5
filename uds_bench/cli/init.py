"""`uds-bench init`: a manifest to fill in, and an example of facts."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from uds_bench.audits import registry
from uds_bench.audits.api import ManifestPreset
from uds_bench.cli.annotate import annotate_to
from uds_bench.cli.published_manifests import PUBLISHED, published, unknown
from uds_bench.console.lines import say
from uds_bench.errors import ConfigurationError
from uds_bench.manifest.locate import file
from uds_bench.storage import require_writable, write_atomic

EXAMPLE = "uds-bench init my-release"
SPLIT = "forget10"
FILES = ("uds.toml", "facts.jsonl")


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write; made if need be.")] = Path(),
    source: Annotated[
        str,
        typer.Option("--from", metavar="NAME", help="A full model of open-unlearning, or a file to annotate."),
    ] = "",
    split: Annotated[str, typer.Option(metavar="NAME", help="What of TOFU was forgotten.")] = SPLIT,
) -> None:
    """Write uds.toml, a commented manifest, and facts.jsonl, four facts to replace by your own.

    --from a model of open-unlearning: the manifest names what is published beside it. --from a .jsonl or .json of
    questions and answers: facts.jsonl is made of them, as by `annotate`. --from a file of requests to be forgotten: the
    manifest names it. Nothing is asked, or overwritten.
    """
    if split != SPLIT and PUBLISHED.fullmatch(source) is None:
        raise ConfigurationError("--split: is of a model of open-unlearning: name it by --from, or leave --split out")
    questions = _questions(source)
    preset = None if questions is None else _preset(questions, folder)
    if preset is not None:
        _write(folder, {"uds.toml": preset.manifest.encode()})
        say(f"Name your model in {folder / 'uds.toml'}, then: {preset.then}")
        return
    written = {"uds.toml": template("uds.toml"), "facts.jsonl": template("facts.jsonl")}
    if questions is not None:
        del written["facts.jsonl"]
    elif source:
        written = {"uds.toml": published(source, split).encode()}
    _require_new(folder, FILES if questions is not None else written)
    if questions is not None:
        again = shlex.join(["uds-bench", "annotate", str(questions), "--out", str(folder / "facts.jsonl")])
        annotate_to(questions, folder / "facts.jsonl", again=again)
    _write(folder, written)
    manifest = folder / "uds.toml"
    if told := unknown(source):
        say(f"{manifest}: {told}", err=True)
    what = "Name your models" if questions else "Look at what is named" if source else "Name your models and facts"
    say(f"{what} in {manifest}, then: uds-bench plan --manifest {manifest}")


def _require_new(folder: Path, names: Iterable[str]) -> None:
    """Raises ConfigurationError for a file that is there already, and for a folder that nothing can be written to."""
    for name in names:
        if (folder / name).exists():
            raise ConfigurationError(f"{folder / name} exists and is not overwritten: name another folder")
    require_writable(folder, "FOLDER")


def _write(folder: Path, written: Mapping[str, bytes]) -> None:
    _require_new(folder, written)
    for name, content in written.items():
        write_atomic(folder / name, content)
        say(f"wrote {folder / name}")


def _preset(source: Path, folder: Path) -> ManifestPreset | None:
    """What an audit has for a file of its own kind."""
    return next((found for audit in registry.audits().values() if (found := audit.preset(source, folder))), None)


def _questions(source: str) -> Path | None:
    """The file that --from names, if it names one. Raises ConfigurationError for one that is not there."""
    try:
        named = Path(source).is_file() or Path(source).suffix in (".json", ".jsonl")
        return Path(file(source, Path.cwd())) if named else None
    except ValueError as error:
        raise ConfigurationError(f"--from: {error}") from None


def template(name: str) -> bytes:
    """A file as `init` writes it: each audit has its part of the manifest, and those without a table come first."""
    written = (resources.files("uds_bench.cli") / "templates" / name).read_text(encoding="utf-8")
    kinds = {name: kind for name, audit in registry.audits().items() if (kind := audit.section()) is not None}
    ordered = sorted(kinds, key=lambda name: not kinds[name].INLINE)
    parts = filter(None, (registry.audits()[name].template() for name in ordered))
    return written.replace("# {audits}\n", "\n".join(parts)).encode()
