"""The default run comes to the same on every processor: other kernels, and other numbers of threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SUITES = Path(__file__).parents[2] / "suites"
SSE4 = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
HAS_AVX2 = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


def default_run(folder: Path, name: str, **environment: str) -> Path:
    """The default run on a store of its own; it must be green. Returns its report."""
    report = folder / f"{name}.json"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("UDS_", "PYTEST_"))}
    known = kept | {"UDS_BENCH_CACHE": str(folder / name)} | environment
    command = [sys.executable, "-m", "pytest", str(SUITES), "-q", "-p", "no:cacheprovider", "--uds-json", str(report)]
    done = subprocess.run(command, env=known, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) <= 40
    assert "%|" not in done.stdout + done.stderr, "a bar of another package"
    last = done.stdout.splitlines()[-1]
    assert "clears all" in last
    assert "catches all" in last
    return report


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return default_run(tmp_path_factory.mktemp("native"), "native")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "environment"),
    [
        ("sse4", SSE4),
        pytest.param("avx2", AVX2, marks=pytest.mark.skipif(not HAS_AVX2, reason="not applicable: no AVX2 here")),
        ("one_thread", {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}),
    ],
)
def test_verdicts_and_scores_are_those_of_the_native_run(
    native: Path, tmp_path: Path, name: str, environment: dict[str, str]
) -> None:
    other = default_run(tmp_path, name, **environment)
    program = Path(sys.executable).with_name("uds-bench")
    command = [str(program), "compare", str(native), str(other), "--same"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "0 verdicts differ" in done.stdout
    assert json.loads(other.read_text())["summary"]["ok"]
