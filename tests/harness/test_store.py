"""The store of scores, and what a claim's record becomes in JSON."""

import json
import math
import os
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from made_cells import CELL, SCORE

from uds_bench.claims.record import Bound, ClaimRecord, count, finite, is_good
from uds_bench.errors import UdsError
from uds_bench.scoring.store import DAY, Failures, ScoreKey, Store
from uds_bench.verdicts import BAD, Flag, Verdict

RECORD = ClaimRecord("depth.score", "npo", "threshold", Verdict.FAIL, "text", bound=Bound(">=", 0.7))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.read(CELL) is None
    store.write(CELL, SCORE)
    assert store.read(CELL) == SCORE


def test_the_score_of_another_cell_is_never_read(tmp_path: Path) -> None:
    store, other = Store(tmp_path), replace(CELL, checkpoint="other")
    store.write(CELL, SCORE)
    (name,) = store.shelf.names("cells")
    place = tmp_path / f"cells/{other.key[:2]}/{other.key}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes((tmp_path / name).read_bytes())
    with pytest.warns(UserWarning, match="another cell"):
        assert store.read(other) is None


@pytest.mark.parametrize("name", [field.name for field in fields(ScoreKey)])
def test_everything_in_a_cell_is_part_of_its_address(name: str) -> None:
    value = getattr(CELL, name)
    other = ("full:z",) if isinstance(value, tuple) else value + 1 if isinstance(value, int) else value + "x"
    assert replace(CELL, **{name: other}).key != CELL.key


@given(st.integers(0, 600), st.integers(0, 255))
def test_a_cell_that_was_altered_is_never_read(tmp_path_factory: pytest.TempPathFactory, at: int, byte: int) -> None:
    store = Store(tmp_path_factory.getbasetemp() / "altered")
    store.write(CELL, SCORE)
    (path,) = (store.folder / "cells").rglob("*.json")
    whole = path.read_bytes()
    at %= len(whole)
    for content in (whole[:at], whole[:at] + bytes([byte]) + whole[at + 1 :]):
        path.write_bytes(content)
        if content == whole:
            assert store.read(CELL) == SCORE
        else:
            with pytest.warns(UserWarning, match="made anew"):
                assert store.read(CELL) is None


def test_a_score_that_is_not_finite_cannot_be_stored(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="finite number"):
        Store(tmp_path).write(CELL, replace(SCORE, value=math.nan))
    with pytest.raises(ValueError, match="JSON"):
        Store(tmp_path).write(CELL, replace(SCORE, notes={"mean": math.nan}))
    assert not list(tmp_path.rglob("*.json"))


def test_failures_are_shared_by_the_processes_of_a_run_and_by_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "one")
    Failures(Store(tmp_path)).add("npo", "out of memory")
    with pytest.raises(UdsError, match="out of memory"):
        Failures(Store(tmp_path)).raise_if("npo")
    Failures(Store(tmp_path)).raise_if("other")
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "two")
    Failures(Store(tmp_path)).raise_if("npo")


@pytest.mark.parametrize("ahead", [0, 10 * DAY])
def test_failures_of_old_runs_are_cleared_by_the_clock_of_their_folder(
    ahead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine whose clock is ahead leaves those of runs under way."""
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + ahead)
    for run, age in (("old", DAY + 60), ("late", DAY - 60)):
        monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", run)
        Failures(Store(tmp_path)).add("npo", UdsError("out of memory"))
        os.utime(tmp_path / "failures" / run, (clock() - age,) * 2)
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "new")
    Failures(Store(tmp_path)).add("npo", UdsError("out of memory"))
    assert {place.name for place in (tmp_path / "failures").iterdir()} == {"late", "new"}


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(), st.floats(allow_nan=True, allow_infinity=True)
)
trees = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


@given(trees)
def test_finite_is_strict_json_and_keeps_what_is_sound(tree: Any) -> None:
    once = finite(tree)
    text = json.dumps(once, allow_nan=False)
    assert finite(once) == once == json.loads(text)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.5), 0.5),
        (np.float64("nan"), None),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.arange(3), [0, 1, 2]),
        (torch.tensor([1.0, math.inf]), [1.0, None]),
        (torch.tensor(2), 2),
        (Verdict.PASS, "pass"),
        ((1, 2), [1, 2]),
        (Path("x"), "x"),
        ({1: np.int8(2)}, {"1": 2}),
        (torch.__version__, str(torch.__version__)),
    ],
)
def test_finite_makes_scalars_plain(value: Any, plain: Any) -> None:
    found = finite(value)
    assert found == plain
    assert type(found) is type(plain)


@given(st.lists(st.sampled_from(list(Verdict))))
def test_the_counts_add_up_and_one_bad_verdict_spoils_the_run(verdicts: list[Verdict]) -> None:
    records = [replace(RECORD, verdict=verdict) for verdict in verdicts]
    assert sum(count(records).values()) == len(records)
    assert set(count(records)) == {*Verdict, *Flag}
    decided = any(verdict is not Verdict.NOT_APPLICABLE for verdict in verdicts)
    bad = any(verdict in BAD for verdict in verdicts)
    assert is_good(records) is (decided and not bad)
    waived = [replace(record, flag=Flag.WAIVED if record.verdict in BAD else None) for record in records]
    assert is_good(waived) is decided
