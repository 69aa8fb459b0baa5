"""What a localization audit of large checkpoints takes: memory, judged, and weights a second, recorded."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import localization_workload
import pytest

SCRIPT = Path(__file__).with_name("localization_workload.py")
ABOVE, MOST_BYTES = 256e6, 4 * 2**30
"""Bytes: above imports, what it may take beside the positives' scores; and what the process may take in all."""
STORED = 8
"""Bytes on disk a weight: two models of two bytes, and a word of the masks."""


pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured on Linux alone")


def run(*arguments: object) -> str:
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **single}).stdout


def audit(benchmark: Any, folder: Path, weights: int) -> dict[str, float]:
    if shutil.disk_usage(folder).free < 1.5 * STORED * weights:
        pytest.skip(f"not applicable: {folder} has no room for {STORED * weights:.0e} bytes of checkpoints")
    with tempfile.TemporaryDirectory(dir=folder) as place:  # gone at once, as pytest keeps its folders
        localization_workload.write(Path(place), weights)
        found: dict[str, float] = json.loads(benchmark.pedantic(run, ("audit", place), rounds=1))
    benchmark.group = f"localization audit of {weights:.0e} weights"
    benchmark.extra_info.update(found)
    assert found["above"] <= found["positives"] + ABOVE
    assert found["peak"] <= MOST_BYTES
    assert 0.6 < found["auc"] < 0.7
    return found


@pytest.mark.slow
def test_audit_of_two_million_weights(benchmark: Any, tmp_path: Path) -> None:
    audit(benchmark, tmp_path, 2 * 10**6)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [10**7, 10**8, 10**9])
def test_audit_of_many_weights(benchmark: Any, tmp_path: Path, weights: int) -> None:
    audit(benchmark, tmp_path, weights)
