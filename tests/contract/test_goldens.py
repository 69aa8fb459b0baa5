"""Goldens: recorded scores that a run must come back to."""

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.errors import ConfigurationError
from uds_bench.harness.bounds import CLAIMS
from uds_bench.harness.goldens import Goldens, platform_name, write_goldens
from uds_bench.harness.rules import Rules
from uds_bench.harness.waivers import Waiver, Waivers
from uds_bench.statistics import Interval
from uds_bench.verdicts import Verdict, decide_threshold

NAME = "depth.score[npo]"
SAME = {"metric": "uds", "metric_version": 1, "variant": "block", "facts": "abc"}
ENTRY = {"value": 0.95, "tolerance": 0.02} | SAME


def goldens(**change: Any) -> Goldens:
    return Goldens(None, {NAME: ENTRY | change})


def settled(observed: float, recorded: Goldens, waivers: Waivers | None = None, **provenance: Any) -> Any:
    """The claim record of a candidate that clears its bound, next to a golden."""
    rules = Rules({}, frozenset(), {}, waivers or Waivers(), recorded, "here", lambda node: f"pytest {node}")
    decision = decide_threshold(observed, Interval(observed - 0.02, observed + 0.02, "x", 15), ">=", 0.7, "authors")
    assert decision.verdict is Verdict.PASS
    return rules.settle(CLAIMS["depth.score"], "npo", "node", decision, [], SAME | provenance)


def test_a_match_passes() -> None:
    record = settled(0.94, goldens())
    assert record.verdict is Verdict.PASS
    assert record.golden["status"] == "matches"
    assert record.golden["recorded"] == 0.95


def test_a_difference_fails_though_the_bound_is_cleared() -> None:
    record = settled(0.90, goldens())
    assert record.verdict is Verdict.FAIL
    assert record.golden["status"] == "differs"
    assert "golden 0.9500 +- 0.0200" in record.message


@pytest.mark.parametrize("change", [{"facts": "other"}, {"metric_version": 2}, {"variant": "published"}])
def test_another_measurement_makes_it_stale(change: dict[str, Any]) -> None:
    record = settled(0.95, goldens(), **change)
    assert record.verdict is Verdict.STALE
    assert f"another {next(iter(change))}" in record.message


def test_none_is_shown_and_decides_nothing() -> None:
    record = settled(0.95, Goldens())
    assert record.verdict is Verdict.PASS
    assert record.golden["status"] == "none"


def test_a_waiver_forgives_a_difference_openly() -> None:
    waiver = Waiver(NAME, "retrained", date.max, "w.toml, line 1")
    assert settled(0.90, goldens(), Waivers([waiver])).verdict is Verdict.WAIVED


def test_orphans_are_those_of_the_audits_at_hand_that_no_claim_asked_for() -> None:
    recorded = Goldens(None, {NAME: ENTRY, "depth.score[gone]": ENTRY, "bypass.verdict[x]": ENTRY})
    recorded.compare(NAME, 0.95, SAME)
    assert recorded.orphans({"depth"}) == ["depth.score[gone]"]


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_only_what_lies_within_the_tolerance_matches(observed: float) -> None:
    status = goldens().compare(NAME, observed, SAME)["status"]
    near = math.isfinite(observed) and abs(observed - 0.95) <= 0.02
    assert status == ("matches" if near else "differs")


def test_what_is_written_is_read_back_sorted(tmp_path: Path) -> None:
    path = write_goldens(tmp_path, "depth", {"depth.b": ENTRY, "depth.a": ENTRY})
    assert path == tmp_path / "depth" / f"{platform_name()}.json"
    assert [*json.loads(path.read_text())["entries"]] == ["depth.a", "depth.b"]
    assert Goldens.read(tmp_path).entries == {"depth.a": ENTRY, "depth.b": ENTRY}


@pytest.mark.parametrize("key", ["value", "tolerance"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nothing_that_is_not_finite_is_written_or_read(tmp_path: Path, key: str, bad: float) -> None:
    with pytest.raises(ConfigurationError, match="not finite"):
        write_goldens(tmp_path, "depth", {NAME: ENTRY | {key: bad}})
    assert not (tmp_path / "depth").exists()
    path = write_goldens(tmp_path, "depth", {NAME: ENTRY})
    path.write_text(json.dumps({"schema": 1, "entries": {NAME: ENTRY | {key: bad}}}))
    with pytest.raises(ConfigurationError, match="not finite"):
        Goldens.read(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": 2, "entries": {}}', '{"schema": 1}', '{"schema": 1, "entries": []}']
)
def test_a_damaged_file_is_an_error(tmp_path: Path, text: str) -> None:
    path = write_goldens(tmp_path, "depth", {NAME: ENTRY})
    path.write_text(text)
    with pytest.raises(ConfigurationError, match="is not a file of goldens"):
        Goldens.read(tmp_path)
