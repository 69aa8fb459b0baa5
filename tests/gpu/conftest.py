"""What the tests on a GPU share: where they run, and a run of a suite in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from families import FAMILIES, save_checkpoint, tiny_tokenizer

ROOT = Path(__file__).parents[2]
LIMIT = 600
"""Seconds that a suite may take."""


class Tracebacks:
    """Writes each as its test fails: a run whose time is over may be ended before pytest sums up."""

    def __init__(self, config: pytest.Config) -> None:
        self._plugins = config.pluginmanager

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid.startswith("tests/gpu/"):
            terminal: Any = self._plugins.get_plugin("terminalreporter")
            terminal.write_line(f"\n{report.longreprtext}")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Tracebacks(config))


@pytest.fixture
def device(uds_run: Any) -> str:
    """Where the models run: `cuda`, wherever a test that needs a GPU runs at all."""
    found: str = uds_run.device
    return found


@pytest.fixture(scope="session")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three random models of a family: `full`, `retain` and `npo`."""
    folder, tokenizer = tmp_path_factory.mktemp("trio"), tiny_tokenizer()
    for seed, name in enumerate(("full", "retain", "npo")):
        save_checkpoint(folder / name, FAMILIES["llama"](len(tokenizer), layers=4, seed=seed), tokenizer, shards=1)
    return folder


@dataclass(frozen=True)
class Judged:
    """What a run came to: its exit code, what it printed, its claims, and the devices that scored them."""

    code: int
    text: str
    claims: dict[str, dict[str, Any]]

    @property
    def devices(self) -> set[str]:
        told = (claim["provenance"].get("device") for claim in self.claims.values())
        return {one for one in told if one is not None}


@pytest.fixture
def judge(device: str, tmp_path: Path) -> Callable[..., Judged]:
    """Runs a suite on the device, with nothing stored, in a process of its own."""

    def run(audit: str, *more: str | Path) -> Judged:
        report = tmp_path / "run.json"
        options = ["--uds-device", device, "--uds-store", str(tmp_path / "store"), "--uds-json", str(report)]
        command = [sys.executable, "-m", "pytest", f"suites/test_{audit}.py", "-q", "-p", "no:cacheprovider", *options]
        done = subprocess.run([*command, *map(str, more)], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
        rows = json.loads(report.read_text())["claims"] if report.exists() else []
        return Judged(done.returncode, done.stdout + done.stderr, {row["name"]: row for row in rows})

    return run
