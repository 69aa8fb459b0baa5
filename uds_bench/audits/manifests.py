"""Reading a manifest as the audits of this environment understand it."""

from __future__ import annotations

from pathlib import Path

from uds_bench.audits import registry
from uds_bench.manifest.manifest import Manifest, checked
from uds_bench.manifest.toml import joined, read_toml


def embedded_manifest(profile: str) -> Manifest:
    """The manifest of the embedded models: the parts of all audits together."""
    parts = [part for audit in registry.audits().values() if (part := audit.embedded(profile)) is not None]
    return checked(joined([read_toml(part) for part in parts]), registry.sections())


def load_manifest(path: str | Path, without: tuple[str, str] | None = None, judging: bool = True) -> Manifest:
    """Read and check a manifest. `without`: a table and a key of it to ignore, such as a key of files to come.

    Unless it is read for `judging`, candidates need not be there. Raises ConfigurationError, in a line, for the first
    thing that is wrong.
    """
    document = read_toml(path)
    return checked(document if without is None else document.without(*without), registry.sections(), judging)


def manifest_of(path: str | Path | None, profile: str, judging: bool = True) -> Manifest:
    """A user's, or the embedded one of a profile where none is given."""
    return embedded_manifest(profile) if path is None else load_manifest(path, judging=judging)
