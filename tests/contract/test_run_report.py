"""The record of a run: what it writes it reads back, by a published schema."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from made_reports import claim, report_of, run_of
from pydantic import create_model

from uds_bench.audits import registry
from uds_bench.audits.bypass.part import BypassPart
from uds_bench.claims.record import STATUSES, ClaimRecord, Control
from uds_bench.claims.run_report import RunReport
from uds_bench.errors import ConfigurationError
from uds_bench.harness.report import _parts
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import Interval

SCORE = Score(
    *("npo", "none", "uds", "block", 0.5, Interval(0.4, 0.6, "by hand", 9), (FactScore("f", "a", 0.5),))
).to_json()
PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "run_report.schema.json"


def test_it_is_read_back_as_it_was_written() -> None:
    claims = (claim(f"depth.c{at}[m]", status) for at, status in enumerate(STATUSES))
    report = run_of(*claims, scores=[SCORE], bypass=BypassPart(models=()))
    row = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert report_of(row, "run.json") == report
    assert row["bypass"] == {"models": []}
    assert row["scores"] == [SCORE]
    assert [one["status"] for one in row["claims"]] == list(STATUSES)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema": 1}, "run.json: has schema 1, this version reads 3: write it again"),
        ({"schema": "x" * 9999}, "this version reads 3: write it again"),
        ({"claims": [{"id": "a"}]}, "run.json: is no run report (claims.0.subject: Field required): write it again"),
        ({"claims": [claim("a").to_json() | {"verdict": "fine"}]}, "is no run report (claims.0.verdict: "),
        ({"claims": [claim("a").to_json() | {"flag": "odd"}]}, "is no run report (claims.0.flag: "),
        ({"claims": [claim("a").to_json() | {"observed": "0.5"}]}, "is no run report (claims.0.observed: "),
        ({"claims": [claim("a").to_json() | {"more": 1}]}, "is no run report (claims.0.more: "),
        ({"scores": [SCORE | {"value": "0.5"}]}, "is no run report (scores.0.value: Input should be a valid number"),
        ({"scores": [SCORE | {"mean": 0.5}]}, "is no run report (scores.0.mean: Unexpected"),
        ({"scores": [SCORE | {"interval": {"low": 0.1}}]}, "is no run report (scores.0.interval.high: Field required"),
        ({"scores": [SCORE | {"per_fact": [{"id": "a"}]}]}, "is no run report (scores.0.per_fact.0.cluster: Field"),
        (
            {"scores": [SCORE | {"n_planned": 9}]},
            "(scores.0: Value error, n_planned is 9, and by the rest of it 1",
        ),
        ({"scores": [SCORE | {"ci": [0.0, 1.0]}]}, "ci is [0.0, 1.0], and by the rest of it [0.4, 0.6])"),
        ({"summary": {"planned": -1}}, "is no run report (summary.planned: "),
        ({"manifest": None}, "is no run report (manifest: "),
        ({"seconds": float("nan")}, "is no run report (seconds: "),
    ],
)
def test_what_is_no_report_is_one_line(change: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        report_of(run_of(claim("a")).to_json() | change, "run.json")
    assert told in str(raised.value)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), torch.tensor(0.5), np.array(0.5), np.float16(0.5)])
def test_numbers_of_a_tests_own_kind_are_kept_as_plain_ones(value: Any) -> None:
    around = Interval(value, np.float32(0.75), "bootstrap", np.int64(9))
    control = Control("full", "fail", "fail", value, around, np.bool_(True))
    record = claim("a", observed=value, interval=around, controls=(control,), shortfall=value, provenance={"n": value})
    row = json.loads(json.dumps(record.to_json(), allow_nan=False))
    assert row["observed"] == row["interval"]["low"] == row["controls"][0]["observed"] == row["provenance"]["n"] == 0.5
    assert ClaimRecord.from_json(row) == record
    assert [claim("a", observed=odd).observed for odd in (True, np.int64(3), float("nan"))] == [1.0, 3.0, None]


@pytest.mark.parametrize(
    ("part", "told"),
    [({"models": 3}, "models: Input should be a valid tuple"), ({"models": [], "more": 1}, "more: Extra inputs are")],
)
def test_an_audit_that_makes_no_part_of_its_model_turns_the_run_red_and_no_report_is_lost(part: Any, told: str) -> None:
    audit = SimpleNamespace(report=lambda: part)
    run: Any = SimpleNamespace(opened={"bypass"}, items=["one"], audit=lambda name: audit)
    found: Any = SimpleNamespace(records={"one": claim("bypass.verdict[m]")}, problems=[])
    assert _parts(run, found) == {}
    assert [one.partition("report: ")[2][: len(told)] for one in found.problems] == [told]


def test_the_published_schema_is_that_of_the_record() -> None:
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in registry.parts().items()}
    joined = create_model("RunReport", __base__=RunReport, __doc__=RunReport.__doc__, **fields)
    schema = joined.model_json_schema(mode="serialization")
    schema["required"] = [name for name in schema["required"] if name not in fields]  # a run may be of fewer audits
    assert json.loads(PUBLISHED.read_text()) == schema, f"write it anew: {json.dumps(schema, indent=1)}"
