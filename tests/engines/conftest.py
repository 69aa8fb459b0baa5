"""A run that is killed again and again, by whatever engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import made_cells as made
import psutil
import pytest
from made_cells import started, stored, wait_until
from s3_server import BUCKET, S3Server, s3_server

from uds_bench.storage import StorePlace


@pytest.fixture
def killed() -> Callable[..., None]:
    """A run that is killed so often, at points drawn, and begun again: nothing is lost, and nothing stored is made
    anew. What was under way then may be."""

    def run(folder: Path, engine: str, kills: int, count: int = 120, processes: int = 2) -> None:
        points = sorted(random.Random(kills).sample(range(1, count - 5), kills))
        for at, point in enumerate(points):
            driver = started(folder, count, engine, 0.02)
            wait_until(lambda point=point: stored(folder) >= point)
            below = psutil.Process(driver.pid).children(recursive=True)
            driver.kill()
            driver.wait()
            if engine == "slurm":
                continue  # its jobs go on
            # Two agents of Ray, which score nothing, see a killed run's end after a minute.
            _, alive = psutil.wait_procs(below, timeout=180)
            assert not alive
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


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """A server of S3, once a session."""
    with s3_server() as server:
        yield server


@pytest.fixture
def place_of(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], StorePlace]:
    """An empty place of scores, by its kind."""

    def place(kind: str) -> StorePlace:
        if kind == "folder":
            return tmp_path / "scores"
        monkeypatch.setenv("UDS_BENCH_CACHE", str(tmp_path / "cache"))
        for key, value in request.getfixturevalue("s3").environment().items():
            monkeypatch.setenv(key, value)
        return f"s3://{BUCKET}/{tmp_path.parent.name}/{tmp_path.name}"

    return place
