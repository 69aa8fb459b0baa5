"""What the default run comes to is pinned: nothing goes missing, and nothing is decided by less."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from uds_bench.claims import default_run
from uds_bench.claims.record import Bound, ClaimRecord, Control
from uds_bench.errors import ConfigurationError
from uds_bench.statistics import Interval
from uds_bench.verdicts import Flag, Verdict

OF = {"manifest": "abc", "models": "def"}
AROUND = Interval(0.7, 0.9, "bootstrap", 20)
RECORD = ClaimRecord(
    "depth.score",
    "npo",
    "threshold",
    Verdict.PASS,
    "told",
    flag=Flag.CLEARED,
    observed=0.8,
    interval=AROUND,
    bound=Bound(">=", 0.7),
    controls=(Control("full2", "fail", "fail", 0.2, AROUND, True),),
    golden={"status": "matches"},
)


@pytest.fixture
def recorded(tmp_path: Path) -> dict[str, Any]:
    default_run.write_gate(tmp_path, OF, [RECORD], ["depth.score[npo]"])
    return default_run.read_gate(tmp_path)


def test_the_recorded_run_departs_in_nothing(recorded: dict[str, Any]) -> None:
    assert default_run.departures(recorded, OF, [RECORD]) == []
    assert default_run.departures(recorded, OF, []) == []
    near = replace(RECORD, observed=0.80005, interval=replace(AROUND, low=0.70005))
    assert default_run.departures(recorded, OF, [near]) == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"observed": 0.81}, "observed"),
        ({"observed": None}, "observed"),
        ({"interval": replace(AROUND, low=0.75)}, "interval"),
        ({"interval": replace(AROUND, units=40)}, "interval"),
        ({"interval": None}, "interval"),
        ({"bound": Bound(">=", 0.5)}, "bound"),
        ({"controls": ()}, "controls"),
        ({"controls": (replace(RECORD.controls[0], observed=0.3),)}, "controls"),
        ({"controls": (replace(RECORD.controls[0], name="full3"),)}, "controls"),
        ({"controls": (replace(RECORD.controls[0], verdict="pass"),)}, "controls"),
        ({"golden": {"status": "none"}}, "golden"),
        ({"flag": None}, "verdict"),
    ],
)
def test_less_than_was_recorded_is_told(recorded: dict[str, Any], changed: dict[str, Any], told: str) -> None:
    (line,) = default_run.departures(recorded, OF, [replace(RECORD, **changed)])
    assert line.startswith(f"depth.score[npo]: {told} not as recorded")


def test_what_was_not_recorded_of_a_claim_is_no_match(recorded: dict[str, Any]) -> None:
    for key in list(recorded["claims"]["depth.score[npo]"]):
        less = {name: value for name, value in recorded["claims"]["depth.score[npo]"].items() if name != key}
        (line,) = default_run.departures(recorded | {"claims": {"depth.score[npo]": less}}, OF, [RECORD])
        assert line.startswith(f"depth.score[npo]: {key} not as recorded")


def test_other_models_another_manifest_and_claims_unknown_are_told(recorded: dict[str, Any]) -> None:
    assert default_run.departures(recorded, OF | {"models": "other"}, []) == [
        "models differs from that of default.json: restore it, or record it anew by --uds-record"
    ]
    (line,) = default_run.departures(recorded, OF, [replace(RECORD, subject="new")])
    assert line.startswith("depth.score[new] is no claim of the recorded default run")


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2}', '{"schema": 1, "claims": {}, "of": {}}'])
def test_a_record_that_cannot_be_read_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        default_run.read_gate(tmp_path)
    (tmp_path / default_run.FILE).write_text(text)
    with pytest.raises(ConfigurationError, match="does not say what the default run comes to"):
        default_run.read_gate(tmp_path)


def test_the_judge_judges() -> None:
    assert default_run.judge_the_judge() == []


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        (
            "uds_bench.claims.claim._held",
            lambda control, decision: Control(control.name, control.must, "fail", 0.0, None, True),
        ),
        ("uds_bench.claims.goldens.Goldens.compare", lambda self, name, value, where: {"status": "none", "text": ""}),
        (
            "uds_bench.claims.rules._specimen",
            lambda name, decision, text, must: (must, None, Flag.CLEARED, text),
        ),
    ],
)
def test_a_judge_that_lets_pass_is_caught(monkeypatch: pytest.MonkeyPatch, place: str, fault: Any) -> None:
    monkeypatch.setattr(place, fault)
    assert default_run.judge_the_judge()


def test_the_shipped_record_names_the_shipped_manifest_and_models() -> None:
    from uds_bench.audits.manifests import embedded_manifest
    from uds_bench.storage import file_digest
    from uds_bench.zoo.specimens import INDEX, home

    known = json.loads((Path(__file__).parents[2] / "goldens" / default_run.FILE).read_text())["of"]
    assert known["manifest"] == embedded_manifest("quick").digest
    assert known["models"] == file_digest(home() / INDEX)
