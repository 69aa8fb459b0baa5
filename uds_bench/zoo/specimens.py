"""The shipped models: trained once, kept as fp16 beside this module, read only after their digests were checked."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from uds_bench.checkpoints.spec import SPECIMEN, plain
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.storage import content_key, file_digest

INDEX = "index.json"
SCHEMA = 1
ANOTHER = "UDS_BENCH_SPECIMENS"
"""Environment variable that names a folder of rebuilt specimens, to be judged in the place of the shipped ones."""
MEND = "install uds-bench again, or make them anew with `uds-bench zoo specimens --rebuild DIR`"


@dataclass(frozen=True)
class Specimen:
    """`role`: what it is a specimen of. `parent`: the model that it was trained from. `key`: content address of its
    recipe, data and ancestors. `files`: SHA-256 (hex) by name."""

    name: str
    role: str
    parent: str | None
    recipe: Mapping[str, Any]
    key: str
    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all its files."""
        return content_key(dict(self.files))


def home() -> Path:
    """Where the specimens lie."""
    return Path(os.environ.get(ANOTHER) or Path(__file__).with_name("shipped")).absolute()


def are_shipped() -> bool:
    """Whether those in use are the package's own, of which goldens are recorded."""
    return not os.environ.get(ANOTHER)


def specimens() -> dict[str, Specimen]:
    """By name. Raises ConfigurationError, in a line, for an index that is missing or damaged."""
    return _read(home())[0]


def made() -> Mapping[str, Any]:
    """The command, commit, versions and processor that made them."""
    return _read(home())[1]


def folder(name: str) -> Path:
    """A specimen's folder, every file of which is as it was made.

    Raises ConfigurationError, in a line, for a name that is none, and for a file that is missing, cut short or altered.
    """
    return _checked(home(), plain(name))


@cache
def _checked(root: Path, name: str) -> Path:
    known = _read(root)[0]
    if name not in known:
        raise ConfigurationError(f"{SPECIMEN}{name} is not a shipped model: {did_you_mean(name, known)}")
    for file, digest in known[name].files.items():
        path = root / name / file
        try:
            found = file_digest(path)
        except OSError as error:
            raise ConfigurationError(f"{SPECIMEN}{name}: {path} cannot be read ({error.strerror}): {MEND}") from None
        if found != digest:
            raise ConfigurationError(
                f"{SPECIMEN}{name}: {path} is cut short or altered (SHA-256 {found[:12]}, not {digest[:12]}): {MEND}"
            )
    return root / name


@cache
def _read(root: Path) -> tuple[dict[str, Specimen], Mapping[str, Any]]:
    path = root / INDEX
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']}, this version reads {SCHEMA}")
        found = {name: Specimen(name=name, **entry) for name, entry in document["specimens"].items()}
        return found, dict(document["made"])
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror}): {MEND}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{path} is no index of specimens ({error}): {MEND}") from None
