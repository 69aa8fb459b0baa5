"""Reading the two kinds of JSON that the harness writes: run reports and score files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from uds_bench.errors import ConfigurationError

SCHEMA = 1
Kind = Literal["run report", "score file"]


@dataclass(frozen=True)
class Document:
    """`values` has a list under `scores`, and in a run report one under `claims` too."""

    path: Path
    kind: Kind
    values: dict[str, Any]

    @property
    def manifest(self) -> str:
        """Digest of the manifest of a run. Raises ConfigurationError where it is missing: none is like another."""
        found = self.values.get("manifest")
        if not (isinstance(found, dict) and isinstance(found.get("digest"), str)):
            raise self.error("does not say of which manifest it is: write it again")
        digest: str = found["digest"]
        return digest

    def error(self, problem: str) -> ConfigurationError:
        return ConfigurationError(f"{self.path}: {problem}")


def read_document(path: Path) -> Document:
    """Raises ConfigurationError for a file that is missing, no strict JSON, of another schema, or neither kind."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}): name a JSON file") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: is no strict JSON ({error}): write it again") from None
    if not isinstance(values, dict) or not isinstance(values.get("scores"), list):
        advice = "name what --uds-json or `uds-bench score` wrote"
        raise ConfigurationError(f"{path}: is neither a run report nor a score file: {advice}")
    if values.get("schema") != SCHEMA:
        found = values.get("schema")
        raise ConfigurationError(f"{path}: has schema {found!r}, this version reads {SCHEMA}: write it again")
    return Document(path, "run report" if isinstance(values.get("claims"), list) else "score file", values)


def read_run(path: Path) -> Document:
    """A run report, or ConfigurationError."""
    document = read_document(path)
    if document.kind != "run report":
        raise document.error("is a score file: name a run report, which `pytest suites/ --uds-json FILE` writes")
    return document


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")
