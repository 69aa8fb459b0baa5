"""Goldens: recorded scores that a run must come back to."""

import json
import math
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_reports import opened, run_of

from uds_bench.audits import registry
from uds_bench.claims.goldens import SAME as SAME_KEYS
from uds_bench.claims.goldens import Goldens, write_goldens
from uds_bench.claims.rules import Rules
from uds_bench.claims.waivers import Waiver, Waivers
from uds_bench.cli.goldens import find_problems, read_goldens
from uds_bench.errors import ConfigurationError
from uds_bench.harness import recording
from uds_bench.report import render
from uds_bench.statistics import Interval
from uds_bench.verdicts import Cause, Flag, Verdict, decide_threshold

NAME = "depth.score[npo]"
SAME = {"metric": "uds", "metric_version": 1, "variant": "block", "facts": "abc"}
ENTRY = {"value": 0.95} | SAME


def goldens(**change: Any) -> Goldens:
    return Goldens({NAME: ENTRY | change})


def settled(
    observed: float,
    recorded: Goldens,
    waivers: Waivers | None = None,
    decided: Verdict = Verdict.PASS,
    **provenance: Any,
) -> Any:
    """The claim record of a candidate that clears its bound, next to a golden."""
    table, given = registry.claims(), waivers or Waivers()
    rules = Rules(table, {}, frozenset(), {}, given, recorded, "here", lambda node: f"pytest {node}")
    decision = decide_threshold(observed, Interval(observed - 0.02, observed + 0.02, "x", 15), ">=", 0.7, "authors")
    assert decision.verdict is decided
    return rules.settle(registry.claims()["depth.score"], "npo", "node", decision, [], SAME | provenance)


def test_a_match_passes() -> None:
    record = settled(0.95009, goldens())
    assert record.verdict is Verdict.PASS
    assert record.golden["status"] == "matches"
    assert record.golden["recorded"] == 0.95


def test_a_difference_is_told_first_though_the_bound_is_cleared() -> None:
    record = settled(0.90, goldens())
    assert record.cause is Cause.DRIFTED
    assert not record.is_good
    assert (record.golden["status"], record.outcome) == ("differs", "pass")
    told = "depth.score [npo]: drifted: observed 0.9000, golden 0.9500 +- 0.0001, off by 0.05; came out pass: observed"
    assert record.message.startswith(told)


def test_a_value_that_is_gone_has_drifted() -> None:
    record = settled(math.nan, goldens(), decided=Verdict.UNDECIDED)
    assert record.cause is Cause.DRIFTED
    assert "drifted: no finite value was observed, golden 0.9500 +- 0.0001; came out undecided" in record.message


def test_a_drift_of_people_who_are_retained_is_no_miss_of_the_bound() -> None:
    """0.000 needs <= 0.100, and holds; the golden of a model that was trained elsewhere said -0.0087."""
    spec, name = registry.claims()["association.retained"], "association.retained[npo]"
    recorded = Goldens({name: {"value": -0.0087} | SAME})
    rules = Rules(registry.claims(), {}, frozenset(), {}, Waivers(), recorded, "here", lambda node: node)
    decision = decide_threshold(0.0, Interval(-0.02, 0.02, "x", 72), "<=", spec.bound, "people")
    record = rules.settle(spec, "npo", "node", decision, [], SAME)
    assert record.cause is Cause.DRIFTED
    assert record.outcome == "pass"
    page = opened(render(run_of(record)))
    told, _, glossary = page.partition('<section id="about">')
    assert 'id="claims"' in told
    assert "drifted: observed 0.0000, golden -0.0087 +- 0.0001" in told
    for text in (told, record.failure_text()):
        assert "misses the bound" not in text
        assert "short by" not in text.replace('<th scope="col">short by</th>', "")
    assert "misses the bound" in glossary


@pytest.mark.parametrize("change", [{"facts": "other"}, {"metric_version": 2}, {"variant": "published"}])
def test_another_measurement_makes_it_stale(change: dict[str, Any]) -> None:
    record = settled(0.95, goldens(), **change)
    assert record.cause is Cause.STALE
    assert f"another {next(iter(change))}" in record.message


def test_none_is_shown_and_decides_nothing() -> None:
    record = settled(0.95, Goldens())
    assert record.verdict is Verdict.PASS
    assert record.golden["status"] == "none"


def test_a_waiver_forgives_a_difference_openly() -> None:
    waiver = Waiver(NAME, "retrained", date.max, "w.toml, line 1")
    assert settled(0.90, goldens(), Waivers([waiver])).flag is Flag.WAIVED


def test_orphans_are_those_of_the_audits_at_hand_that_no_claim_asked_for() -> None:
    recorded = Goldens({NAME: ENTRY, "depth.score[gone]": ENTRY, "bypass.verdict[x]": ENTRY})
    recorded.compare(NAME, 0.95, SAME)
    assert recorded.orphans({"depth"}) == ["depth.score[gone]"]


@given(st.floats() | st.floats(0.9498, 0.9502))
def test_only_what_lies_within_the_tolerance_matches(observed: float) -> None:
    status = goldens().compare(NAME, observed, SAME)["status"]
    near = math.isfinite(observed) and abs(observed - 0.95) <= 1e-4
    assert status == ("matches" if near else "differs")


def test_what_is_written_is_read_back_sorted(tmp_path: Path) -> None:
    path = write_goldens(tmp_path, "depth", {"depth.b": ENTRY, "depth.a": ENTRY})
    assert path == tmp_path / "depth" / "specimens.json"
    assert [*json.loads(path.read_text())["entries"]] == ["depth.a", "depth.b"]
    assert Goldens.read(tmp_path).entries == {"depth.a": ENTRY, "depth.b": ENTRY}


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nothing_that_is_not_finite_is_written_or_read(tmp_path: Path, bad: float) -> None:
    with pytest.raises(ConfigurationError, match="not finite"):
        write_goldens(tmp_path, "depth", {NAME: ENTRY | {"value": bad}})
    assert not (tmp_path / "depth").exists()
    path = write_goldens(tmp_path, "depth", {NAME: ENTRY})
    path.write_text(json.dumps({"schema": 1, "entries": {NAME: ENTRY | {"value": bad}}}))
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


def test_a_run_records_what_it_observed_but_for_what_lies_at_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "require_clean_tree", lambda root: "0" * 40)
    provenance = dict.fromkeys(SAME_KEYS, "same")
    decided = settled(0.95, Goldens(), **dict.fromkeys(SAME_KEYS, "same"))
    provenance = decided.provenance
    shown = [decided, replace(decided, subject="near", observed=0.70015)]
    others = replace(shown[0], kind="identity"), replace(shown[0], observed=None), replace(shown[0], provenance={})
    run: Any = SimpleNamespace(
        is_embedded=True,
        config=SimpleNamespace(rootpath=tmp_path),
        settings=SimpleNamespace(goldens=tmp_path),
        rules=SimpleNamespace(claims=registry.claims()),
        judges={"manifest": "abc"},
    )
    named, left_out = recording.record(run, [*shown, *others], "first")
    assert named == [NAME]
    assert left_out == [
        "depth.score[near]: tolerance 0.0001 is not less than half of the margin 0.00015 to the bound 0.7: "
        "it could hide a change of verdict: no golden"
    ]
    read = Goldens.read(tmp_path)
    assert read.compare(NAME, 0.95, provenance)["status"] == "matches"
    assert read.compare(NAME, 0.9502, provenance)["status"] == "differs"
    assert read.compare(NAME, 0.95, provenance | {"facts": "other"})["status"] == "stale"
    (golden,) = read_goldens(tmp_path)
    assert not [*find_problems(golden)]
