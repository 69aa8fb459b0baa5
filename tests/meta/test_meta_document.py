"""The document of a meta-evaluation: everything that the report and the command show, as plain JSON."""

import json

import pytest
from made_scores import METHODS, MODELS, UTILITY, made_document, made_scores

from uds_bench.audits.metrics.document import meta_document, sweep_frame
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.audits.metrics.metric_rows import evaluate
from uds_bench.metrics import METRICS
from uds_bench.scores import Score, Scores


@pytest.fixture(scope="module")
def document() -> dict:
    return made_document()


def test_it_is_strict_json_with_every_metric(document: dict) -> None:
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    for part in ("rows", "unfiltered", "pools"):
        assert [row["metric"] for row in document[part]] == list(JUDGED)
    assert len(document["attacks"]) == 2 * len(JUDGED)
    for row in document["rows"]:
        assert row["faithfulness_low"] <= row["faithfulness"] <= row["faithfulness_high"]
        assert row["rob_low"] <= row["rob"] <= row["rob_high"]


def test_pools_are_counted_between_edges(document: dict) -> None:
    for row in document["pools"]:
        assert sum(row["positive"]) == len(MODELS.positive)
        assert sum(row["negative"]) == len(MODELS.negative)
        assert len(row["edges"]) == len(row["positive"]) + 1
        assert row["edges"][0] <= row["cut"] <= row["edges"][-1]


def test_points_say_which_models_count_and_why_not(document: dict) -> None:
    kept = {row["metric"]: row["n_kept"] for row in document["rows"]}
    for row in document["attacks"]:
        assert [point["model"] for point in row["points"]] == list(MODELS.candidates)
        assert sum(point["kept"] for point in row["points"]) == kept[row["metric"]]
        assert all(point["kept"] == (point["why"] == "") for point in row["points"])
    points = {point["model"]: point["why"] for point in document["attacks"][0]["points"]}
    assert points["grad_diff"] == "its relative utility is below 0.8"
    assert points["npo_weak"] == "by this metric it still knows"


def test_the_shift_is_the_change_of_the_retain_model(document: dict) -> None:
    value = {(s.metric, s.checkpoint, s.attack): s.value for s in made_scores()}
    for row in document["attacks"]:
        if row["attack"] == "relearn":
            before, after = (value[row["metric"], "retain", attack] for attack in ("none", "relearn"))
            assert row["retain"] == {"before": before, "after": after}
            assert row["shift"] == after - before
        else:
            assert row["shift"] is None
        for point in row["points"]:
            assert point["after"] == value[row["metric"], point["model"], row["attack"]]


def test_ranks_are_of_methods_and_nobody_is_lost(document: dict) -> None:
    named = {row["model"] for row in document["standings"]} | {row["model"] for row in document["no_standing"]}
    assert named == set(MODELS.candidates)
    assert {row["method"] for row in document["ranks"]} == set(METHODS.values())


def test_a_candidate_that_lacks_a_score_is_named_with_the_reason() -> None:
    kept = [s for s in made_scores() if (s.checkpoint, s.metric) != ("idk", "em")]
    found = build(Scores(kept), {name: value for name, value in UTILITY.items() if name != "grad_diff"})
    reasons = {row["model"]: row["reason"] for row in found["no_standing"]}
    assert reasons["idk"] == "idk has no value of em: score them first"
    assert reasons["grad_diff"] == "no relative utility"
    assert {row["method"] for row in found["ranks"]} == {"npo"}
    (em,) = (row for row in found["rows"] if row["metric"] == "em")
    assert (em["rob"], em["missing"]) == (None, "idk: not scored; grad_diff: no relative utility")
    point = next(p for row in found["attacks"] for p in row["points"] if row["metric"] == "em" and p["model"] == "idk")
    assert point["before"] is None
    assert point["why"].startswith("not decided: idk: not scored")


def test_numbers_that_are_not_finite_are_none() -> None:
    scores = [s for s in made_scores() if not (s.metric == "uds" and s.checkpoint == "never0")]
    found = build(Scores(scores), UTILITY)
    assert [row["auc"] for row in found["diagnostics"]["tau"]] == [None] * 3
    assert "uds" not in [row["metric"] for row in found["pools"]]
    json.dumps(found, allow_nan=False)


def test_diagnostics_are_of_what_was_scored(document: dict) -> None:
    found = document["diagnostics"]
    assert {row["metric"] for row in found["layers"]} == {"cka", "fisher", "logit_lens", "uds"}
    assert {row["scope"] for row in found["components"]} == {"block", "mlp"}
    assert {row["tokens"] for row in found["facts"]} == {None, 1, 2, 3}
    assert found["hidden"]["lens"] > found["hidden"]["uds"]
    assert build(made_scores(), UTILITY)["diagnostics"]["components"] == []


def test_the_sweep_has_a_row_a_checkpoint_and_attack_and_a_column_a_metric() -> None:
    scores: list[Score] = list(made_scores())
    frame = sweep_frame(scores, MODELS, METHODS)
    assert len(frame) == len(MODELS.needed())
    assert set(JUDGED) <= set(frame.columns)
    row = frame.set_index(["checkpoint", "attack"]).loc[("npo_weak", "nf4")]
    assert (row["role"], row["method"]) == ("candidate", "npo")
    (score,) = (s for s in scores if (s.checkpoint, s.attack, s.metric) == ("npo_weak", "nf4", "em"))
    assert row["em"] == score.value
    assert set(frame["role"]) == {"full", "retain", "positive", "negative", "candidate"}


def build(scores: Scores, utility: dict[str, float]) -> dict:
    judged = [METRICS[name] for name in JUDGED]
    rows = {row.metric: row for row in evaluate(scores, judged, MODELS, utility=utility)}
    unfiltered = {row.metric: row for row in evaluate(scores, judged, MODELS, filters=False)}
    return meta_document(rows, unfiltered, MODELS, scores, utility, METHODS)
