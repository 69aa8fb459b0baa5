"""Recording goldens of the embedded zoo: this run's values, with a tolerance from other draws of the same recipes."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
import transformers

import uds_bench
from uds_bench.errors import ConfigurationError
from uds_bench.harness.engine import Engine, Request, resolve_zoo
from uds_bench.harness.goldens import SAME, require_clean_tree, write_goldens
from uds_bench.harness.record import ClaimRecord
from uds_bench.harness.store import Store
from uds_bench.storage import default_cache
from uds_bench.zoo.recipes import SCHEME

if TYPE_CHECKING:
    from uds_bench.harness.run import Run

DRAWS = (1, 2)
"""Other draws of the zoo beside this run's: three in all."""

COVER, LEAST = 2.0, 0.005
"""Tolerance: `COVER` times the range over draws. Another processor rounds otherwise, which in training acts as a small
change of draw; three draws underestimate the range, hence twice. `LEAST` keeps saturated scores from demanding
equality."""


def record(run: Run, records: Iterable[ClaimRecord], reason: str) -> list[str]:
    """Write the goldens of every threshold claim that was decided on one score; returns the names recorded."""
    if not run.is_embedded:
        raise ConfigurationError("--uds-record: goldens are of the embedded zoo; leave --uds-manifest out")
    commit = require_clean_tree(run.config.rootpath)
    wanted = [r for r in records if r.kind == "threshold" and r.observed is not None and r.provenance.get("metric")]
    others = [_values(run, wanted, draw) for draw in DRAWS]
    by_audit: dict[str, dict[str, dict[str, Any]]] = {}
    for claim in wanted:
        values = [float(claim.observed or 0.0), *(other[claim.name] for other in others)]
        spread = max(values) - min(values)
        by_audit.setdefault(claim.audit, {})[claim.name] = {
            "value": values[0],
            "tolerance": max(COVER * spread, LEAST),
            "draws": values,
            "spread": spread,
            "n": claim.interval.units if claim.interval else 0,
            "unit": claim.unit,
            **{key: claim.provenance[key] for key in SAME},
            "versions": {
                "uds_bench": uds_bench.__version__,
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "python": platform.python_version(),
            },
            "commit": commit,
            "command": "pytest suites/ --uds-record REASON",
            "reason": reason,
            "recorded": time.strftime("%Y-%m-%d"),
        }
    for audit, entries in by_audit.items():
        write_goldens(run.settings.goldens, audit, entries)
    return [name for entries in by_audit.values() for name in entries]


def _values(run: Run, claims: list[ClaimRecord], draw: int) -> dict[str, float]:
    """The claims' observed values in another draw of the zoo."""
    specs = {
        name: replace(spec, model=f"{spec.model}@{draw}") if spec.model.startswith(SCHEME) else spec
        for name, spec in run.manifest.checkpoints().items()
    }
    requests = {
        claim.name: Request(str(claim.subject), claim.provenance["metric"], claim.provenance["variant"])
        for claim in claims
    }
    needed = ["full", "retain", *dict.fromkeys(request.checkpoint for request in requests.values())]
    with run.uncaptured() as console:
        specs = resolve_zoo(specs, needed, default_cache(), console)
    engine = Engine(specs, run.facts, Store(run.settings.store), run.device)
    values = {}
    for name, request in requests.items():
        value = engine.score(request, requests.values()).value
        if value is None:
            raise ConfigurationError(f"{name} has no finite value in draw {draw}: nothing was recorded")
        values[name] = value
    return values
