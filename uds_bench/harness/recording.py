"""Recording goldens of the shipped specimens: this run's values."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uds_bench.claims.default_run import write_gate
from uds_bench.claims.goldens import SAME, hides_a_verdict, require_clean_tree, write_goldens
from uds_bench.claims.record import ClaimRecord
from uds_bench.errors import ConfigurationError
from uds_bench.zoo.shipping import versions

if TYPE_CHECKING:
    from uds_bench.harness.run import Run


def record(run: Run, records: Iterable[ClaimRecord], reason: str) -> tuple[list[str], list[str]]:
    """Write the goldens of every claim that was decided on a value of one metric.

    Returns the names recorded, and a line for every value that lies too near its bound to stand as a golden.
    """
    if not run.is_embedded:
        raise ConfigurationError("--uds-record: goldens are of the shipped specimens; leave --uds-manifest out")
    commit = require_clean_tree(run.config.rootpath)
    by_audit: dict[str, dict[str, dict[str, Any]]] = {}
    left_out = []
    listed = list(records)
    for claim in listed:
        if claim.kind not in ("threshold", "golden") or claim.observed is None or not claim.provenance.get("metric"):
            continue
        bound = run.rules.claims[claim.id].bound if claim.bound.value is None else claim.bound.value
        if problem := hides_a_verdict(claim.observed, replace(run.rules.claims[claim.id], bound=bound)):
            left_out.append(f"{claim.name}: {problem}: no golden")
            continue
        by_audit.setdefault(claim.audit, {})[claim.name] = {
            "value": claim.observed,
            "bound": bound,
            "n": claim.interval.units if claim.interval else 0,
            "unit": claim.unit,
            **{key: claim.provenance[key] for key in SAME},
            "versions": versions(),
            "commit": commit,
            "command": "pytest suites/ --uds-record REASON",
            "reason": reason,
            "recorded": time.strftime("%Y-%m-%d"),
        }
    for audit, entries in by_audit.items():
        write_goldens(run.settings.goldens, audit, entries)
    named = [name for entries in by_audit.values() for name in entries]
    write_gate(run.settings.goldens, run.judges, listed, named)
    return named, left_out
