"""Diagnostics from stored scores, against values worked out by hand or by the definition written again."""

import math
import statistics

import pytest
from made_scores import FACTS, MODELS, TAU, layered, plain, plain_uds

from uds_bench.attacks import NONE
from uds_bench.audits.metrics import diagnostics
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import auc

DEPTH = {name: layered(name, "uds") for name, _ in MODELS.needed(robust=False)}
LENS = {name: layered(name, "logit_lens") for name, _ in MODELS.needed(robust=False)}


def uds(*facts: FactScore, model: str = "npo", variant: str = "block") -> Score:
    values = [fact.value for fact in facts if fact.value is not None]
    return Score(model, NONE, "uds", variant, statistics.fmean(values) if values else None, None, facts)


def fact(name: str, retain: list[float], own: list[float], **more: object) -> FactScore:
    value = plain_uds(retain, own, TAU)
    detail = {"retain_drops": retain, "drops": own, "knowledge_layers": [i for i, d in enumerate(retain) if d > TAU]}
    return FactScore(name, "a", value, None if value is not None else "none", "award", detail | more)


@pytest.mark.parametrize("tau", [0.0, 0.02, 0.05, 0.1, 0.3])
def test_another_tau_gives_the_mean_of_the_definition(tau: float) -> None:
    for score in DEPTH.values():
        pairs = [(f.detail["retain_drops"], f.detail["drops"]) for f in score.per_fact if f.detail]
        values = [v for pair in pairs if (v := plain_uds(*pair, tau)) is not None]
        value, scored = diagnostics.at_tau(score, tau)
        assert scored == len(values)
        assert value == pytest.approx(statistics.fmean(values), abs=1e-12)


def test_the_default_tau_gives_the_recorded_score() -> None:
    for score in DEPTH.values():
        assert diagnostics.at_tau(score, TAU)[0] == pytest.approx(score.value, abs=1e-12)


def test_few_facts_above_tau_are_no_score() -> None:
    facts = [fact(str(i), [0.2 if i < 4 else 0.06], [0.1]) for i in range(10)]
    assert diagnostics.at_tau(uds(*facts), 0.05) == (pytest.approx((4 * 0.5 + 6 * 1.0) / 10), 10)
    assert diagnostics.at_tau(uds(*facts), 0.1) == (None, 4)


def test_the_sweep_judges_the_pools_at_each_tau() -> None:
    rows = diagnostics.tau_sweep(DEPTH, MODELS.positive, MODELS.negative)
    assert [row["tau"] for row in rows] == [0.02, 0.05, 0.1]
    for row in rows:
        values = {model["model"]: model["value"] for model in row["models"]}
        pools = [[values[name] for name in pool] for pool in (MODELS.negative, MODELS.positive)]
        assert row["auc"] == auc(*pools)
        assert row["low"] <= row["auc"] <= row["high"]
        assert {model["planned"] for model in row["models"]} == {FACTS}


def test_a_pool_model_without_depth_leaves_no_auc() -> None:
    rows = diagnostics.tau_sweep({k: v for k, v in DEPTH.items() if k != "never1"}, MODELS.positive, MODELS.negative)
    assert all(math.isnan(row["auc"]) for row in rows)


def test_facts_of_other_depths_are_not_mixed() -> None:
    assert diagnostics.drops_of(uds(fact("a", [1.0, 1.0], [0.5, 0.5]), fact("b", [1.0], [0.5]))) is None
    assert diagnostics.drops_of(uds(FactScore("a", "a", None, "a drop is not finite"))) is None


def test_layers_add_up_to_the_score() -> None:
    for metric, scores in (("uds", DEPTH), ("logit_lens", LENS), ("cka", {"npo": plain("npo", "cka")})):
        for row in diagnostics.layer_table({metric: scores}):
            parts = [(layer["share"], layer["erasure"]) for layer in row["layers"]]
            assert sum(share for share, _ in parts) == pytest.approx(1)
            assert all((erasure is None) == (share == 0) for share, erasure in parts)
            total = sum(share * erasure for share, erasure in parts if erasure is not None)
            assert total == pytest.approx(scores[row["model"]].value, abs=1e-12)


def test_layers_of_one_fact_by_hand() -> None:
    found = diagnostics.layer_weights(uds(fact("a", [0.04, 1.0, 3.0], [9.0, 2.0, 0.75])))
    assert found == [
        {"share": 0.0, "erasure": None},
        {"share": 0.25, "erasure": 1.0},
        {"share": 0.75, "erasure": 0.25},
    ]


def test_kinds_count_what_was_planned() -> None:
    facts = [fact("a", [1.0], [0.2]), fact("b", [1.0], [0.6]), fact("c", [0.01], [0.6])]
    (row,) = diagnostics.by_kind({"npo": uds(*facts)})
    assert (row["kind"], row["planned"], row["scored"]) == ("award", 3, 2)
    assert row["mean"] == pytest.approx(0.4)
    assert row["sd"] == pytest.approx(statistics.stdev([0.2, 0.6]))


def test_components_show_the_mean_falls() -> None:
    scores = [uds(fact("a", [1.0, 0.0], [0.5, 0.25]), variant=variant) for variant in ("mlp", "published", "block")]
    rows = diagnostics.components(scores)
    assert [row["scope"] for row in rows] == ["block", "mlp"]
    assert (rows[1]["retain_drop"], rows[1]["drop"], rows[1]["uds"]) == (0.5, 0.375, 0.5)


def test_facts_keep_length_and_layers_beside_every_model() -> None:
    one = uds(fact("a", [1.0, 0.0], [0.5, 0.0], entity_tokens=3), fact("b", [0.0, 0.0], [0.0, 0.0]))
    two = uds(fact("a", [1.0, 0.0], [1.0, 0.0], entity_tokens=3), FactScore("b", "a", None, "lost"), model="idk")
    a, b = diagnostics.by_fact({"npo": one, "idk": two})
    assert (a["tokens"], a["layers"], a["uds"]) == (3, 1, {"npo": 0.5, "idk": 1.0})
    assert (b["tokens"], b["layers"], b["uds"]) == (None, 0, {"npo": None, "idk": None})


def test_the_most_hidden_fact_is_where_the_lens_errs_most() -> None:
    depth = {"npo": uds(fact("a", [1.0], [0.1]), fact("b", [1.0], [0.3])), "idk": uds(fact("a", [1.0], [0.5]))}
    lens = {"npo": uds(fact("a", [1.0], [0.2]), fact("b", [1.0], [0.9])), "idk": uds(fact("a", [1.0], [0.4]))}
    found = diagnostics.most_hidden(depth, lens, ["npo", "idk"])
    assert found is not None
    assert (found.model, found.fact, found.drops) == ("npo", "b", (0.3,))
    assert diagnostics.most_hidden(depth, lens, ["idk"]) is None
    assert diagnostics.most_hidden(depth, {}, ["npo", "idk"]) is None
