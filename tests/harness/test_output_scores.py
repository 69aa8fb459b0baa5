"""Output metrics as the runner scores them: what is missing is an error or a counted fact, never a silent drop."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_models import KINDS

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import UdsError
from uds_bench.facts import FactSet, embedded
from uds_bench.metrics import METRICS
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

OUTPUT = ("em", "es", "prob", "para_prob", "truth_ratio", "forget_quality")
INFERENCE = ("mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus")
BESIDE = ("s_loss", "s_zlib", "s_min_k", "s_min_k_plus_plus", "privleak")
FACTS = FactSet(fact for fact in embedded(forget=12, retain=0, holdout=8) if fact.kind in KINDS)


@pytest.fixture
def runner(models: Path, tmp_path: Path) -> Any:
    def build(facts: FactSet = FACTS, names: tuple[str, ...] = ("full", "retain", "retain2")) -> MetricRunner:
        return MetricRunner(
            {name: CheckpointSpec(str(models / name)) for name in names}, facts, Store(tmp_path / "store")
        )

    return build


def test_every_output_metric_in_one_load(runner: Any) -> None:
    built = runner()
    plan = [ScoreRequest(name, metric) for name in built.specs for metric in (*OUTPUT, *INFERENCE, *BESIDE)]
    scores = {(r.checkpoint, r.metric): built.score(r, plan) for r in plan}
    assert max(built.loads.values()) == 1
    for (_, name), score in scores.items():
        low, high = METRICS[name].limits
        assert low <= score.value <= high
        assert score.interval.low - 1e-9 <= score.value <= score.interval.high + 1e-9
        assert len(score.per_fact) == (24 if name in OUTPUT else 40)
        assert len(score.scored) == len(score.per_fact)
        json.dumps(score.to_json(), allow_nan=False)
        assert score.provenance["rendered"]
        assert score.provenance["direction"] == METRICS[name].direction

    def value(checkpoint: str, metric: str) -> float:
        return float(scores[checkpoint, metric].value)

    for name in ("em", "es", "prob", "para_prob", "truth_ratio", *INFERENCE):
        assert value("full", name) > value("retain2", name) + 0.1, f"{name} does not tell who was taught"
    for name in ("s_loss", "s_min_k", "s_min_k_plus_plus", "forget_quality"):
        assert value("retain", name) == 1
        assert value("full", name) < value("retain2", name)
    assert value("retain", "privleak") == 0
    assert value("full", "privleak") < value("retain2", "privleak")
    labels = [fact.label for fact in scores["full", "mia_loss"].per_fact]
    assert labels == [0 if fact.split == "forget" else 1 for fact in FACTS]


@pytest.mark.parametrize("name", [*INFERENCE, *BESIDE])
def test_no_holdout_split(runner: Any, name: str) -> None:
    with pytest.raises(UdsError, match=f"{name} needs facts of the split holdout"):
        runner(FactSet(FACTS.split("forget"))).score(ScoreRequest("full", name))


@pytest.mark.parametrize("name", [*BESIDE, "forget_quality"])
def test_no_retain_reference(runner: Any, name: str) -> None:
    with pytest.raises(UdsError, match=f"{name} needs a retain model"):
        runner(names=("full",)).score(ScoreRequest("full", name))


def test_output_metrics_need_no_reference(models: Path, tmp_path: Path) -> None:
    alone = MetricRunner({"mine": CheckpointSpec(str(models / "full"))}, FACTS, Store(tmp_path / "store"))
    for name in ("em", "es", "prob", "para_prob", "truth_ratio", *INFERENCE):
        assert alone.score(ScoreRequest("mine", name)).value is not None


def test_one_fact_without_paraphrase_is_counted(runner: Any) -> None:
    facts = FactSet([replace(FACTS[0], paraphrased_answer=None), *FACTS[1:]])
    for name in ("para_prob", "truth_ratio", "forget_quality"):
        row = runner(facts).score(ScoreRequest("full", name)).to_json()
        assert (row["n_planned"], row["n_scored"], row["n_invalid"]) == (24, 23, 1)
        assert row["per_fact"][0]["reason"] == "the fact has no paraphrased_answer"
    assert runner(facts).score(ScoreRequest("full", "prob")).to_json()["n_invalid"] == 0


def test_no_fact_with_a_paraphrase(runner: Any) -> None:
    facts = FactSet(replace(fact, paraphrased_answer=None) for fact in FACTS)
    row = runner(facts).score(ScoreRequest("full", "para_prob")).to_json()
    assert (row["value"], row["ci"], row["n_scored"], row["n_invalid"]) == (None, None, 0, 24)
    with pytest.raises(UdsError, match="truth_ratio of the retain model"):
        runner(facts).score(ScoreRequest("full", "forget_quality"))


def test_values_of_another_k_and_their_retain_model(runner: Any) -> None:
    built = runner()
    found = [built.score(ScoreRequest("full", "s_min_k", variant)) for variant in METRICS["s_min_k"].variants]
    raw = [built.score(ScoreRequest("retain", "mia_min_k", variant)) for variant in METRICS["mia_min_k"].variants]
    assert [score.notes["auc_retain"] for score in found] == [score.value for score in raw]
    assert [score.variant for score in found] == list(METRICS["mia_min_k"].variants)


def test_a_score_of_other_code_is_not_read(runner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    request = ScoreRequest("full", "em")
    runner().score(request)
    assert runner().stored(request) is not None
    monkeypatch.setattr("uds_bench.scoring.runner.code_digest", lambda *modules: "other code")
    assert runner().stored(request) is None
