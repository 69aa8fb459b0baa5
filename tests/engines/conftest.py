"""A run that is killed again and again, by whatever engine."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import made_cells as made
import psutil
import pytest
from made_cells import started, stored, wait_until

AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""Processes of Ray that score nothing, and see a killed run's end only after a minute: they are not waited for here."""


@pytest.fixture(autouse=True)
def runs_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of one run of xdist tell each other what failed: here each runner is a run by itself."""
    monkeypatch.delenv("PYTEST_XDIST_TESTRUNUID", raising=False)


@pytest.fixture
def killed() -> Callable[..., None]:
    """A run that is killed so often, at points drawn, and begun again: nothing is lost, and nothing stored is made
    anew. What was under way then may be."""

    def run(folder: Path, engine: str, kills: int, count: int = 120, processes: int = 2) -> None:
        points = sorted(random.Random(kills).sample(range(1, count - 5), kills))
        for at, point in enumerate(points):
            driver = started(folder, count, engine, 0.02)
            wait_until(lambda point=point: stored(folder) >= point, 600)
            below = psutil.Process(driver.pid).children(recursive=True)
            agents = [one for one in below if "".join(one.cmdline()[:1]) in AGENTS]
            driver.kill()
            driver.wait()
            if engine == "slurm":
                continue  # its jobs go on
            _, alive = psutil.wait_procs([one for one in below if one not in agents], timeout=180)
            assert not alive
            for one in agents:
                with suppress(psutil.NoSuchProcess):
                    one.kill()
            assert stored(folder) < count, f"kill {at} came too late to be one"
        runner = made.made_runner(folder, made.names_of(count))
        kept = {name for name in runner.specs if runner.stored(made.ScoreRequest(name)) is not None}
        before = made.times(folder)
        assert started(folder, count, engine, 0.0).wait() == 0
        after = made.times(folder)
        assert stored(folder) == count
        assert set(after) == set(made.names_of(count))
        assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
        assert sum(after.values()) - count <= kills * processes

    return run
