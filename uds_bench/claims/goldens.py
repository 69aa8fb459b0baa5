"""Goldens: recorded scores of the shipped specimens to compare with, one file an audit."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from uds_bench.claims.spec import TOLERANCE, ClaimSpec
from uds_bench.errors import ConfigurationError
from uds_bench.json_values import first_problem
from uds_bench.storage import load_document, read_text, write_json

SCHEMA = 1
FILE = "specimens.json"
SAME = ("metric", "metric_version", "variant", "facts", "dtype")
"""What a golden and an observation must share to be comparable; otherwise the golden is stale."""


@dataclass
class Goldens:
    """Recorded values of the specimens; empty (never matching) for every other manifest."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, folder: Path) -> Goldens:
        """Every audit's goldens. Raises ConfigurationError for a file that cannot be read."""
        entries: dict[str, dict[str, Any]] = {}
        for path in sorted(folder.glob(f"*/{FILE}")):
            found = read_entries(path)
            for name, entry in found.items():
                if not is_finite(entry.get("value")):
                    told = f"{name} has a value that is not finite"
                    raise ConfigurationError(f"{path} is not a file of goldens ({told}): restore or record it")
            entries |= found
        return cls(entries)

    def compare(self, name: str, observed: float | None, provenance: Mapping[str, Any]) -> dict[str, Any]:
        """Status `none`, `matches`, `differs` or `stale`, with the recorded value, tolerance and a line of text."""
        golden = self.entries.get(name)
        if golden is None:
            return {"status": "none", "text": "no golden for this claim: not applicable"}
        self.seen.add(name)
        known = {"recorded": golden["value"], "tolerance": TOLERANCE}
        changed = [k for k in SAME if k in golden and golden[k] != provenance.get(k)]
        if changed:
            return known | {
                "status": "stale",
                "text": f"the golden was recorded for another {', '.join(changed)}: record it anew",
            }
        recorded = f"golden {golden['value']:.4f} +- {TOLERANCE:.4f}"
        if observed is None or not math.isfinite(observed):
            return known | {"status": "differs", "text": f"drifted: no finite value was observed, {recorded}"}
        if (off := abs(observed - golden["value"])) > TOLERANCE:
            text = f"drifted: observed {observed:.4f}, {recorded}, off by {off:.2g}"
            return known | {"status": "differs", "text": text}
        return known | {"status": "matches", "text": recorded}

    def orphans(self, audits: set[str]) -> list[str]:
        """Goldens of the audits that ran which no claim asked for."""
        return sorted(n for n in self.entries if n not in self.seen and n.partition(".")[0] in audits)


class GoldensFile(BaseModel):
    """One file of goldens; whoever reads an entry checks what it holds."""

    schema_: Literal[1] = Field(alias="schema")
    entries: dict[str, dict[str, Any]]


def read_entries(path: Path) -> dict[str, dict[str, Any]]:
    """The entries of a file by name. Raises ConfigurationError for one that is no file of goldens."""
    try:
        document = load_document(read_text(path))
        if isinstance(document, dict) and document.get("schema") != SCHEMA:
            raise ValueError(f"schema {document.get('schema')}, this version reads {SCHEMA}")
        return GoldensFile.model_validate(document).entries
    except ValueError as error:
        told = first_problem(error)
        raise ConfigurationError(f"{path} is not a file of goldens ({told}): restore or record it") from None


def is_finite(value: Any) -> bool:
    """Whether a value is a finite number, and no yes or no.

    Example:
        >>> is_finite(0.5), is_finite(float("nan")), is_finite(True), is_finite(None)
        (True, False, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def hides_a_verdict(value: float, claim: ClaimSpec) -> str | None:
    """Why a value must not be recorded, or None: a drift within the tolerance could turn the claim's verdict."""
    margin = abs(value - claim.bound)
    if claim.kind == "threshold" and not margin / 2 > TOLERANCE:
        return (
            f"tolerance {TOLERANCE:g} is not less than half of the margin {margin:.4g} to the bound {claim.bound:g}: "
            "it could hide a change of verdict"
        )
    return None


def write_goldens(folder: Path, audit: str, entries: Mapping[str, Mapping[str, Any]]) -> Path:
    """Record an audit's goldens, replacing them; refuses what must never be recorded."""
    for name, entry in entries.items():
        if not math.isfinite(entry["value"]):
            raise ConfigurationError(f"golden {name} is not finite: goldens are recorded from finite values only")
    path = folder / audit / FILE
    write_json(path, {"schema": SCHEMA, "entries": dict(sorted(entries.items()))})
    return path


def require_clean_tree(root: Path) -> str:
    """The commit that goldens are recorded from. Raises ConfigurationError where there is none or files changed."""
    try:
        run = {"cwd": root, "capture_output": True, "text": True, "check": True}
        changed = subprocess.run(["git", "status", "--porcelain"], **run).stdout.strip()  # type: ignore[call-overload]
        commit: str = subprocess.run(["git", "rev-parse", "HEAD"], **run).stdout.strip()  # type: ignore[call-overload]
    except (OSError, subprocess.CalledProcessError) as error:
        raise ConfigurationError(f"{root} is not a git checkout: goldens are recorded from a commit") from error
    if changed:
        raise ConfigurationError(f"{root} has uncommitted changes: commit them, then record goldens")
    return commit
