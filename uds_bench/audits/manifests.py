"""Reading a manifest as the audits of this environment understand it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from uds_bench.audits import registry
from uds_bench.manifest.manifest import Manifest, read


def embedded_manifest(profile: str) -> Path:
    """The manifest of the embedded models."""
    return Path(str(resources.files("uds_bench.zoo") / f"{profile}.toml"))


def load_manifest(path: str | Path, without: tuple[str, str] | None = None) -> Manifest:
    """Read and check a manifest, as if it did not have `without`, a table's key: such as one of files to come.

    Raises ConfigurationError, in a line, for the first thing that is wrong.
    """
    return read(path, registry.sections(), without)
