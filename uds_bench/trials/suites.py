"""A run of the claims by itself, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from uds_bench.claims.fact_rows import read_report
from uds_bench.claims.run_report import RunReport
from uds_bench.errors import ConfigurationError

REPORT = "run.json"


def suites() -> Path:
    """The claims as pytest functions: beside the package in a checkout, in it once installed."""
    package = Path(__file__).parents[1]
    return next(folder for folder in (package / "suites", package.parent / "suites") if folder.is_dir())


def judged(options: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> RunReport:
    """What `pytest suites/` says with some options, and nothing else from outside. The report is left in `folder`.

    Raises ConfigurationError, with the last of what was printed, for a run that could not be made.
    """
    report = folder / REPORT
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", str(suites()), "-q", "-p", "no:cacheprovider"]
    command += ["--uds-json", str(report), *options]
    # Options from elsewhere must not change what is judged.
    kept = ("UDS_BENCH_CACHE", "UDS_BENCH_SPECIMENS")
    known = {key: value for key, value in os.environ.items() if key in kept or not key.startswith(("PYTEST_", "UDS_"))}
    done = subprocess.run(command, env={**known, **(environment or {})}, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not report.exists():
        said = " ".join((done.stdout + done.stderr).split())
        raise ConfigurationError(f"{folder} could not be judged: {said[-300:]}")
    return read_report(json.loads(report.read_text()), report)
