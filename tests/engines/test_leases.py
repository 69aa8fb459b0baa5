"""Two drivers on one store, and drivers that are killed: every score is there, and none is computed twice."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import made_cells as made
import pytest
from made_cells import holder, started, stored, wait_until
from test_engines import ENGINES

from uds_bench.scoring import engine, workers
from uds_bench.scoring.store import Store

SUITE = """
import json, os
from pathlib import Path
import made_cells as made
import pytest

FOLDER = Path(__file__).parent
ALONE = json.loads((FOLDER / "alone.json").read_text())
RUNNER = made.made_runner(FOLDER, list(ALONE), seconds=0.2)
PLAN = [made.ScoreRequest(name) for name in ALONE]

@pytest.fixture(scope="session", autouse=True)
def beside():
    (FOLDER / f"ready.{os.getpid()}").touch()
    made.wait_until(lambda: made.times(FOLDER), 300)  # the other one has begun

@pytest.mark.parametrize("name", ALONE)
def test_the_value_is_that_of_a_run_alone(name):
    assert RUNNER.score(made.ScoreRequest(name), PLAN).value == ALONE[name]
"""


def test_what_another_one_scores_is_passed_over_and_scored_here_if_it_dies(tmp_path: Path) -> None:
    runner = made.made_runner(tmp_path, made.names_of(5))
    process = holder(runner.store.folder, runner.group_key(made.ScoreRequest("c00001")))
    found: dict[str, float | str | None] = {}
    scoring = threading.Thread(target=lambda: found.update(made.score_all(runner)))
    scoring.start()
    wait_until(lambda: stored(tmp_path) == 4)
    time.sleep(0.2)
    assert "c00001" not in made.times(tmp_path), "it is waited for"
    process.kill()
    scoring.join(60)
    assert all(isinstance(value, float) for value in found.values())
    assert made.times(tmp_path) == dict.fromkeys(made.names_of(5), 1)


def test_a_wait_for_what_another_one_holds_is_told_once_with_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever may read the file may lock it, and scores nothing: nobody saw why a run went on for ever."""
    monkeypatch.setattr(engine, "PATIENCE", 0.2)
    monkeypatch.setattr(engine, "WAIT", 0.05)
    runner = made.made_runner(tmp_path, made.names_of(3))
    held = {name: runner.group_key(made.ScoreRequest(name)) for name in ("c00000", "c00001")}
    with runner.store.lease(held["c00000"]):
        pass
    locks = [tmp_path / "store" / "leases" / f"{key}.lock" for key in held.values()]
    with locks[0].open("rb") as read_only, made.made_runner(tmp_path, []).store.lease(held["c00001"]):
        fcntl.flock(read_only, fcntl.LOCK_EX)
        scoring = threading.Thread(target=made.score_all, args=(runner,))
        scoring.start()
        wait_until(lambda: stored(tmp_path) == 1)
        time.sleep(1)
    scoring.join(60)
    assert stored(tmp_path) == 3
    told = f"uds-bench: c00000 is another process's, which holds {locks[0]}: waiting for it"
    assert capsys.readouterr().err.splitlines() == [told]


@pytest.mark.parametrize(("folder", "lock"), [(0o755, 0o600), (0o2775, 0o660), (0o777, 0o666), (0o750, 0o600)])
def test_a_lease_is_open_to_those_who_may_score_and_to_no_reader(folder: int, lock: int, tmp_path: Path) -> None:
    (tmp_path / "leases").mkdir()
    (tmp_path / "leases").chmod(folder)
    with Store(tmp_path).lease("a") as is_ours:
        assert is_ours
    assert stat.S_IMODE((tmp_path / "leases" / "a.lock").stat().st_mode) == lock


def test_what_another_one_stored_meanwhile_is_read(tmp_path: Path) -> None:
    runner, other = (made.made_runner(tmp_path, made.names_of(2)) for _ in range(2))
    work = runner.work([made.ScoreRequest(name) for name in runner.specs])
    made.score_all(other)
    assert len(work.groups) == 2
    assert all(map(runner.compute_group, work.groups))
    assert made.times(tmp_path) == {"c00000": 1, "c00001": 1}


@pytest.mark.parametrize("ahead", [0, 3 * 24 * 60 * 60], ids=["clocks agree", "clocks differ by days"])
def test_two_drivers_share_a_store(ahead: int, tmp_path: Path) -> None:
    drivers = [started(tmp_path, 60, "here", 0.02, ahead=ahead), started(tmp_path, 60, "local", 0.02, ahead=-ahead)]
    assert [driver.wait() for driver in drivers] == [0, 0]
    assert made.times(tmp_path) == dict.fromkeys(made.names_of(60), 1)
    assert stored(tmp_path) == 60
    assert len({path.name.split(".")[1] for path in (tmp_path / "log").iterdir()}) > 1, "both took part"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_driver_here_shares_a_store_with_one_whose_engine_is_elsewhere(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "processes", lambda *_: 1)
    there = started(tmp_path, 60, engine, 0.2)
    wait_until(lambda: made.times(tmp_path))
    found = made.score_all(made.made_runner(tmp_path, made.names_of(60), seconds=0.2))
    assert there.wait() == 0
    assert all(isinstance(value, float) for value in found.values())
    assert made.times(tmp_path) == dict.fromkeys(made.names_of(60), 1)
    assert stored(tmp_path) == 60
    by = {path.name.split(".")[1] for path in (tmp_path / "log").iterdir()}
    assert str(os.getpid()) in by
    assert len(by) > 1, "both took part"


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_distributed_run_shares_a_store_with_an_engine(engine: str, tmp_path: Path) -> None:
    """The values of a run alone, each made once, and by both of them."""
    pytest.importorskip("xdist")
    alone = made.score_all(made.made_runner(tmp_path / "alone", made.names_of(40)))
    (tmp_path / "alone.json").write_text(json.dumps(alone))
    (tmp_path / "test_beside.py").write_text(SUITE)
    words = ["-n", "2", "-q", "-p", "no:cacheprovider", "test_beside.py"]
    path = os.pathsep.join([str(Path(made.__file__).parent), *filter(None, sys.path)])
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")} | {"PYTHONPATH": path}
    suite = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words], cwd=tmp_path, env=own, stdout=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(list(tmp_path.glob("ready.*"))) == 2 or suite.poll() is not None, 300)
    driver = started(tmp_path, 40, engine, 0.2)
    said, _ = suite.communicate()
    assert (suite.returncode, driver.wait()) == (0, 0), said
    assert "40 passed" in said
    assert made.times(tmp_path) == dict.fromkeys(made.names_of(40), 1)
    by = {path.name.split(".")[1] for path in (tmp_path / "log").iterdir()}
    here = {path.name.split(".")[1] for path in tmp_path.glob("ready.*")}
    assert by & here
    assert by - here, "both took part"


def test_a_driver_killed_at_two_points_is_taken_up(tmp_path: Path, killed: Callable[..., None]) -> None:
    killed(tmp_path, "local", 2)


@pytest.mark.slow
def test_a_driver_killed_at_twenty_points_is_taken_up(tmp_path: Path, killed: Callable[..., None]) -> None:
    killed(tmp_path, "local", 20)
