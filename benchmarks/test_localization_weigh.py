"""What it takes to weigh an update: beside one family's pass over the same files, in memory, and in bytes written."""

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
RATIO = 12
"""All families, targets and controls take at most so many times one family's pass, at 10^9 weights;"""
MOST_BYTES = 4 * 2**30
"""of memory the process at most so much, at any size;"""
STORED = 14
"""and on disk lie, a weight, five models of two bytes and a word of the masks."""
SLACK = 1e-3
"""No AUC is further than this from that of every pair."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="bytes are counted on Linux alone")


def weigh(benchmark: Any, folder: Path, weights: int) -> dict[str, float]:
    if shutil.disk_usage(folder).free < 1.5 * STORED * weights:
        pytest.skip(f"not applicable: {folder} has no room for {STORED * weights:.0e} bytes of checkpoints")
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory(dir=folder) as place:  # gone at once, as pytest keeps its folders
        localization_workload.write(Path(place), weights, everything=True)
        command = [sys.executable, str(SCRIPT), "weigh", place]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **single})
    found: dict[str, float] = json.loads(ran.stdout)
    benchmark.group = f"weighing an update of {weights:.0e} weights"
    benchmark.extra_info.update(found)
    benchmark.pedantic(lambda: None, rounds=1)
    assert found["families"] == 9
    assert found["peak"] <= MOST_BYTES
    assert found["written"] < 1e6, "no temporary files"
    assert found["apart"] <= found["slack_raw"] <= found["slack"] <= SLACK
    return found


@pytest.mark.slow
@pytest.mark.parametrize("weights", [10**7, 10**8])
def test_weighing_many_weights(benchmark: Any, tmp_path: Path, weights: int) -> None:
    """The composite's regressions take as long whatever the size: ratios are recorded."""
    weigh(benchmark, tmp_path, weights)


@pytest.mark.slow
def test_weighing_a_billion_weights(benchmark: Any, tmp_path: Path) -> None:
    assert weigh(benchmark, tmp_path, 10**9)["ratio"] <= RATIO
