"""Processes of this machine: what a library does in one of them, or who kills it, costs no other score."""

from __future__ import annotations

from pathlib import Path

import made_cells as made
import pytest

from uds_bench.scoring import spread, workers
from uds_bench.scoring.engine import RETRIES


@pytest.fixture(autouse=True)
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is scored is given to the other one alone: what kills its process would kill this one."""
    monkeypatch.setattr(workers, "processes", lambda *_: 2)
    monkeypatch.setattr(spread.Future, "cancel", lambda _: False)


def test_a_panic_in_another_process_is_a_line_of_one_checkpoint(tmp_path: Path) -> None:
    found = made.score_all(made.made_runner(tmp_path, ["c0", made.PANICS, "c1"]))
    assert found[made.PANICS] == f"{made.PANICS}: scoring failed with PanicException: in Rust"
    assert isinstance(found["c0"], float)
    assert isinstance(found["c1"], float)


def test_a_unit_whose_process_is_killed_is_begun_anew(tmp_path: Path) -> None:
    found = made.score_all(made.made_runner(tmp_path, ["c0", made.DEADLY, "c1"]))
    assert all(isinstance(value, float) for value in found.values()), found
    assert made.times(tmp_path) == {"c0": 1, made.DEADLY: 2, "c1": 1}


def test_a_unit_that_kills_every_process_is_told_and_the_others_are_scored(tmp_path: Path) -> None:
    found = made.score_all(made.made_runner(tmp_path, ["c0", made.FATAL, "c1"]))
    assert str(found[made.FATAL]).startswith(f"{made.FATAL}: its process was killed {1 + RETRIES} times")
    assert isinstance(found["c0"], float)
    assert isinstance(found["c1"], float)
    assert made.times(tmp_path) == {"c0": 1, made.FATAL: 1 + RETRIES, "c1": 1}
