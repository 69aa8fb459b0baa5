"""The files of a candidate, each by its plain SHA-256, and whether they are the ones that were judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from uds_bench.checkpoints.reading import read_anew, read_digest
from uds_bench.checkpoints.weights import weight_files
from uds_bench.claims.suite_claims import is_gate_claim
from uds_bench.device import is_device
from uds_bench.errors import CheckpointError, ConfigurationError
from uds_bench.storage import default_cache
from uds_bench.verdicts import Verdict

MAY_BE_WEIGHTS = (
    ".safetensors",
    ".safetensors.index.json",
    ".bin",
    ".pt",
    ".pth",
    ".ckpt",
    ".gguf",
    ".h5",
    ".onnx",
    ".msgpack",
    ".pkl",
    ".pickle",
    ".npy",
    ".npz",
    ".ggml",
    ".nemo",
    ".tar",
    ".gz",
    ".zip",
)
"""Ends of names, in small letters, of files that somebody else may load a model from."""

MOST_BESIDE = 1 << 30
"""The most bytes of a file that holds no weights."""

if TYPE_CHECKING:
    from uds_bench.cards.card import Card
    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.claims.run_report import RunReport
    from uds_bench.manifest.manifest import Manifest


def judged_manifest(run: RunReport, place: str) -> Manifest:
    """The manifest of a run, whose report lies at `place`. Raises ConfigurationError if the manifest is gone or has
    changed, and if the report lacks a salt or a device."""
    from uds_bench.audits.manifests import load_manifest

    run.require_salt(place)
    if not is_device(device := run.environment.get("device")):
        raise ConfigurationError(f"{place}: environment.device: {device!r} is no device: run `pytest suites/` again")
    path = Path(run.manifest.path)
    if not path.is_file():
        raise ConfigurationError(
            f"{place}: its manifest {path} is not there: put it back, a card is of a user's models"
        )
    manifest = load_manifest(path)
    if manifest.digest != run.manifest.digest:
        raise ConfigurationError(f"{path}: has changed since the run: run `pytest suites/` again")
    return manifest


@read_anew()
def model_files(card: Card, run: RunReport, manifest: Manifest) -> dict[str, str]:
    """The SHA-256 (hex) of each file of a candidate, by `candidate/name`, also in folders that are not hidden; of an
    adapter those that are read, by `candidate:adapter/name`. Weights beside those that were judged, and a training's
    state, are left out: nothing is shown about them.

    Raises CheckpointError if weights, tokenizer or configuration are not those that were judged, or if a pass does not
    say which files it is about.
    """
    from uds_bench.checkpoints import digest

    # One reading of a file says what it is and whether it was judged: it may change between two.
    specs = _specs(card.candidate, manifest)
    known = {digest(spec, run.environment["device"]) for spec in specs.values()}
    for claim in card.claims:
        judged = claim.provenance.get("checkpoint")
        if judged is None and claim.verdict is Verdict.PASS and is_gate_claim(claim.id):
            raise CheckpointError(
                f"{claim.name}: passes and has no provenance.checkpoint, which says of what files it is: run "
                "`pytest suites/` again"
            )
        if judged is not None and str(judged) not in known:
            raise CheckpointError(
                f"{card.candidate}: its files have changed since {claim.name} was decided: run `pytest suites/` again"
            )
    files = {f"{name}{at}": file for name, spec in specs.items() for at, file in _read(spec)}
    return {name: read_digest(file) for name, file in files.items()}


def _read(spec: CheckpointSpec) -> Iterator[tuple[str, Path]]:
    from uds_bench.checkpoints import resolve

    folders = resolve(spec)
    for file in _files(folders.model):
        yield f"/{file.relative_to(folders.model)}", file
    if folders.adapter is not None:  # whose folder may hold another model's weights and tokenizer, which nobody reads
        for file in (*_weights(folders.adapter, "adapter_model"), folders.adapter / "adapter_config.json"):
            yield f":adapter/{file.name}", file


def _files(folder: Path) -> list[Path]:
    """The files of a model's folder for the card. Raises CheckpointError for a name that no card can show, and for a
    file too large to be anything but weights."""
    read = _weights(folder, "model")
    found = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(folder).parent.parts)
        and (file in read or not file.name.lower().endswith(MAY_BE_WEIGHTS))
    ]
    for file in found:
        if not str(file).isprintable():
            raise CheckpointError(f"{str(file)!a}: a card cannot show such a name: rename the file")
        if file not in read and (size := file.stat().st_size) > MOST_BESIDE:
            raise CheckpointError(
                f"{file}: has {size >> 20:,} MiB beside the weights, more than {MOST_BESIDE >> 20:,}: move it elsewhere"
            )
    return found


def _weights(folder: Path, stem: str) -> set[Path]:
    """The files of weights that are read, and the index that names them where one does."""
    single, index = folder / f"{stem}.safetensors", folder / f"{stem}.safetensors.index.json"
    return {*weight_files(folder, stem), *([] if single.is_file() else [index])}


def _specs(candidate: str, manifest: Manifest) -> dict[str, CheckpointSpec]:
    """Every checkpoint of a candidate: one, or one a seed."""
    from uds_bench.zoo.ready import resolve_zoo

    judging = [section for section in manifest.sections.values() if candidate in section.judged()]
    specs = {name: spec for section in judging for name, spec in section.members(candidate).items()}
    if not specs:
        raise ConfigurationError(f"{manifest.path}: names no candidate {candidate!r}: name the run's own manifest")
    return resolve_zoo(specs, specs, default_cache())
