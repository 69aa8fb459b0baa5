"""Recording goldens of the embedded zoo: this run's values, with a tolerance from other draws of the same recipes."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
import transformers

import uds_bench
from uds_bench.errors import ConfigurationError
from uds_bench.harness.bounds import CLAIMS
from uds_bench.harness.goldens import SAME, hides_a_verdict, require_clean_tree, write_goldens
from uds_bench.harness.record import ClaimRecord

if TYPE_CHECKING:
    from uds_bench.harness.run import Run

DRAWS = (1, 2)
"""Other draws of the zoo beside this run's: three in all."""

COVER, LEAST = 2.0, 0.005
"""Tolerance: `COVER` times the range over draws, the claim's own or the median one of its kind, whichever is larger.
Another processor rounds otherwise, which in training acts as a small change of draw; three draws underestimate the
range, hence twice, and may by luck lie together, hence the median of the kind. `LEAST` keeps saturated scores from
demanding equality; a number made of n models may move by what one of them can move it, 1/n."""


def record(run: Run, records: Iterable[ClaimRecord], reason: str) -> tuple[list[str], list[str]]:
    """Write the goldens of every claim that was decided on a value of one metric.

    Returns the names recorded, and a line for every value that varies too much between draws to stand as a golden.
    """
    if not run.is_embedded:
        raise ConfigurationError("--uds-record: goldens are of the embedded zoo; leave --uds-manifest out")
    commit = require_clean_tree(run.config.rootpath)
    wanted = [
        r
        for r in records
        if r.kind in ("threshold", "golden") and r.observed is not None and r.provenance.get("metric")
    ]
    others = [_observed(run, draw) for draw in DRAWS]
    by_audit: dict[str, dict[str, dict[str, Any]]] = {}
    left_out = []
    draws: dict[str, list[float]] = {}
    for claim in wanted:
        drawn = [other.get(claim.name) for other in others]
        if None in drawn:
            left_out.append(f"{claim.name} has no finite value in another draw: no golden")
            continue
        draws[claim.name] = [float(claim.observed or 0.0), *(float(value) for value in drawn if value is not None)]
    # Rounded: a difference of two shares must not miss a bound by the last bit of a float.
    spreads = {name: round(max(values) - min(values), 9) for name, values in draws.items()}
    for claim in [c for c in wanted if c.name in draws]:
        values, spread = draws[claim.name], spreads[claim.name]
        alike = [spreads[c.name] for c in wanted if c.name in draws and c.id == claim.id]
        units = claim.interval.units if claim.interval else 0
        tolerance = max(COVER * spread, COVER * median(alike), LEAST if claim.unit != "models" else 1 / max(units, 1))
        bound = CLAIMS[claim.id].bound if claim.bound is None else claim.bound
        if problem := hides_a_verdict(values[0], tolerance, replace(CLAIMS[claim.id], bound=bound)):
            left_out.append(f"{claim.name}: {problem}: no golden")
            continue
        by_audit.setdefault(claim.audit, {})[claim.name] = {
            "value": values[0],
            "tolerance": tolerance,
            "draws": values,
            "spread": spread,
            "bound": bound,
            "n": units,
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
    return [name for entries in by_audit.values() for name in entries], left_out


def _observed(run: Run, draw: int) -> dict[str, float | None]:
    """What every claim of the same tests observes in another draw of the zoo, by a run of its own.

    Its verdicts do not matter: what this draw is declared to miss another may not.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "run.json"
        options = ["--uds-draw", str(draw), "--uds-json", str(report), "--uds-profile", run.settings.profile]
        options += ["--uds-store", str(run.settings.store), "--uds-device", run.device, "-q", "--no-header"]
        command = [sys.executable, "-m", "pytest", *run.config.args, *options]
        with run.uncaptured():
            done = subprocess.run(command, cwd=run.config.invocation_params.dir, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not report.exists():
            raise ConfigurationError(f"draw {draw} could not be run ({' '.join(done.stdout.split())[-300:]})")
        return {claim["name"]: claim["observed"] for claim in json.loads(report.read_text())["claims"]}
