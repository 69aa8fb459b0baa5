"""Scores: what is kept of a measurement, and that nothing is lost or made up on the way."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.facts import Fact, FactSet
from uds_bench.metrics.metric import FactValue, Measured, Metric
from uds_bench.scores import Score, Scores, summarise

FACTS = FactSet(
    Fact(f"f{i}", f"author{i // 2}", "forget", "Who?", f"It is {i}", "It is", str(i), kind="number") for i in range(6)
)
METRIC = Metric("toy", "knowledge", "here", compute=lambda *_: Measured([]))
values = st.one_of(st.none(), st.sampled_from([math.nan, math.inf, -math.inf]), st.floats(-1e6, 1e6))


def summarised(found: list[float | None], **more: Any) -> Score:
    rows = [FactValue(f.id, v, "why" if v is None else None) for f, v in zip(FACTS, found, strict=False)]
    names = {"checkpoint": "npo", "attack": "none", "variant": "plain", "provenance": {"dtype": "float32"}}
    return summarise(METRIC, Measured(rows, more), FACTS, **names)


@given(st.lists(values, min_size=6, max_size=6))
def test_every_fact_is_counted_and_only_finite_values_are_averaged(found: list[float | None]) -> None:
    score = summarised(found)
    row = score.to_json()
    good = [v for v in found if v is not None and math.isfinite(v)]
    assert (row["n_planned"], row["n_scored"], row["n_invalid"]) == (6, len(good), 6 - len(good))
    assert sum(score.reasons.values()) == 6 - len(good)
    assert all((fact["value"] is None) == (fact["reason"] is not None) for fact in row["per_fact"])
    if good:
        assert score.value == pytest.approx(math.fsum(good) / len(good))
    else:
        assert score.value is None
        assert score.interval is None


@given(st.lists(values, min_size=6, max_size=6))
def test_json_is_strict_and_comes_back_the_same(found: list[float | None]) -> None:
    score = summarised(found, tau=0.05)
    text = json.dumps(score.to_json(), allow_nan=False)
    assert Score.from_json(json.loads(text)).to_json() == json.loads(text)
    both = Scores([score, score.named("other")])
    assert Scores.from_json(json.loads(json.dumps(both.to_json(), allow_nan=False))).to_json() == both.to_json()


def test_a_value_that_is_not_finite_says_so() -> None:
    score = summarised([math.nan, math.inf, 0.5, 0.5, 0.5, None])
    assert [fact.reason for fact in score.per_fact] == ["the value is nan", "the value is inf", None, None, None, "why"]


def test_a_fact_that_the_metric_forgot_is_invalid_and_one_it_made_up_is_an_error() -> None:
    score = summarised([0.5] * 4)
    assert [fact.id for fact in score.per_fact if fact.value is None] == ["f4", "f5"]
    assert score.reasons == {"the metric returned nothing": 2}
    invented = Measured([FactValue("nobody", 0.5)])
    with pytest.raises(KeyError):
        summarise(METRIC, invented, FACTS, checkpoint="x", attack="none", variant="plain", provenance={})


def test_intervals_resample_authors() -> None:
    score = summarised([0.1, 0.2, 0.5, 0.6, 0.8, 0.9])
    assert score.interval is not None
    assert score.interval.units == 3
    assert score.interval.low < 0.5167 < score.interval.high


def test_a_name_is_not_content() -> None:
    score = summarised([0.5] * 6)
    assert score.named("new").checkpoint == "new"
    back = score.named("new").named("npo")
    assert replace(back, provenance=score.provenance) == score
    assert back.provenance["checkpoint_name"] == "npo"


def test_the_table_has_a_row_a_score() -> None:
    frame = Scores([summarised([0.25, 0.75] * 3), summarised([None] * 6)]).to_frame()
    assert list(frame["checkpoint"]) == ["npo", "npo"]
    assert frame.loc[0, "value"] == 0.5
    assert frame.loc[0, ["n_planned", "n_scored", "n_invalid"]].tolist() == [6, 6, 0]
    assert frame.loc[1, ["value", "low", "high"]].isna().all()
    assert "value" in Scores().to_frame().columns


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="this version reads 1"):
        Scores.from_json({"schema": 2, "scores": []})
