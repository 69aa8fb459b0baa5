"""From scores to the table of metrics: each row against plain loops, and what a missing score does to it."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest
from references import meta_formulas as plain

from uds_bench.audits.metrics.metric_rows import MetricRow, Models, evaluate
from uds_bench.errors import ConfigurationError
from uds_bench.metrics import find_metric
from uds_bench.metrics.metric import Measured, Metric
from uds_bench.metrics.subject import Subject
from uds_bench.scores import FactScore, Score, Scores

MODELS = Models("full", "retain", ("p1", "p2", "p3"), ("n1", "n2", "n3"), ("a", "b", "c", "d"))
UTILITY = {"a": 1.0, "b": 0.9, "c": 0.8, "d": 0.5}
VALUES: dict[tuple[str, str], float] = {
    ("full", "none"): 0.0, ("retain", "none"): 1.0, ("retain", "relearn"): 0.75,
    ("p1", "none"): 0.0, ("p2", "none"): 0.25, ("p3", "none"): 0.625,
    ("n1", "none"): 0.875, ("n2", "none"): 1.0, ("n3", "none"): 0.5,
    ("a", "none"): 1.0, ("a", "nf4"): 0.875, ("a", "relearn"): 0.625,
    ("b", "none"): 0.75, ("b", "nf4"): 0.8125, ("b", "relearn"): 0.5,
    ("c", "none"): 0.125, ("c", "nf4"): 0.125, ("c", "relearn"): 0.0,
    ("d", "none"): 1.0, ("d", "nf4"): 1.0, ("d", "relearn"): 1.0,
}  # fmt: skip
"""Of an erasure metric: `c` still knows, `d` is useless."""
UDS = find_metric("uds")


def score(checkpoint: str, attack: str, value: float | None, metric: Metric = UDS, scored: int = 4) -> Score:
    rows = tuple(FactScore(f"f{i}", f"f{i}", value if i < scored else None, "lost") for i in range(4))
    return Score(checkpoint, attack, metric.name, metric.variant(None), value, None, rows)


def scores(values: Mapping[tuple[str, str], float | None] = VALUES, metric: Metric = UDS) -> Scores:
    return Scores(score(*place, value, metric) for place, value in values.items())


def judged(found: Scores, metric: Metric = UDS, **options: object) -> MetricRow:
    (row,) = evaluate(found, [metric], MODELS, **{"utility": UTILITY, **options})
    return row


def nothing(subject: Subject, variant: str) -> Measured:
    raise NotImplementedError


OWN = Metric("own", "erasure", "ours", compute=nothing)


@pytest.mark.parametrize(("metric", "converted"), [(UDS, True), (OWN, False)])
@pytest.mark.parametrize("filters", [True, False])
def test_a_row_is_what_plain_loops_make_of_the_scores(metric: Metric, converted: bool, filters: bool) -> None:
    row = judged(scores(metric=metric), metric, filters=filters)
    assert row.missing == ()
    assert row.faithfulness
    assert row.kept
    assert row.robustness
    assert row.overall
    positive, negative = ([VALUES[n, "none"] for n in pool] for pool in (MODELS.positive, MODELS.negative))
    faith = plain.pairs_right(positive, negative, "erasure")
    assert row.faithfulness.auc.value == pytest.approx(float(faith))
    kept = [n for n in MODELS.candidates if n in "abcd"]
    if filters:
        cut = row.faithfulness.cut
        kept = [n for n in kept if UTILITY[n] >= 0.8 and plain.says_forgotten(VALUES[n, "none"], cut, "erasure")]
        assert kept == ["a", "b"]
        assert (row.kept.useless, row.kept.knowing) == (("d",), ("c",))
    assert list(row.kept.kept) == kept
    exact = [{n: Fraction(VALUES[n, attack]) for n in kept} for attack in ("none", "nf4", "relearn")]
    retain = Fraction(VALUES["retain", "none"]), Fraction(VALUES["retain", "relearn"])
    q, r = plain.means(*exact, retain, converted)
    rob = plain.harmonic([q, r])
    found = row.robustness
    assert [found.q.value, found.r.value, found.rob.value] == pytest.approx([float(q), float(r), float(rob)])
    assert row.overall.value == pytest.approx(float(plain.harmonic([faith, rob])))


def test_the_filters_change_the_row() -> None:
    kept, everyone = judged(scores()), judged(scores(), filters=False)
    assert kept.robustness
    assert everyone.robustness
    assert kept.robustness.q.value != everyone.robustness.q.value
    assert judged(scores(), utility=None).kept != kept.kept


@pytest.mark.parametrize("place", list(VALUES))
def test_a_missing_score_leaves_no_value_and_is_named(place: tuple[str, str]) -> None:
    lost = judged(scores({**VALUES, place: None}))
    absent = judged(scores({p: v for p, v in VALUES.items() if p != place}))
    for row in (lost, absent):
        if place[0] == "full" or (place[0] in "cd" and place[1] != "none"):
            assert row.missing == ()  # filtered out before it is needed, or never needed
            continue
        assert row.robustness is None
        assert row.overall is None
        assert (row.faithfulness is None) == (place[0][0] in "pn")
        assert len(row.missing) == 1
        assert row.missing[0].startswith(place[0])
        assert ("under" in row.missing[0]) == (place[1] != "none")


def test_a_score_over_too_few_facts_is_missing() -> None:
    found = [s if s.checkpoint != "b" else replace(score("b", s.attack, s.value, scored=1)) for s in scores()]
    row = judged(Scores(found))
    assert row.missing == ("b: 1 of 4 facts scored",)
    assert row.robustness is None


@pytest.mark.parametrize("utility", [{}, {**UTILITY, "a": math.nan}])
def test_a_missing_utility_is_named(utility: dict[str, float]) -> None:
    row = judged(scores(), utility=utility)
    assert row.robustness is None
    assert "a: no relative utility" in row.missing
    assert row.faithfulness is not None


def test_no_model_left_is_said() -> None:
    row = judged(scores(), utility=dict.fromkeys(UTILITY, 0.1))
    assert row.robustness is None
    assert row.kept is not None
    assert row.kept.kept == ()
    assert "no candidate" in row.missing[0]


def test_another_variant_does_not_stand_in() -> None:
    others = Scores(replace(s, variant="published") for s in scores())
    row = judged(others)
    assert row.faithfulness is None
    assert all("not scored" in text for text in row.missing)


def test_pools_of_one_model_decide_nothing() -> None:
    lone = Models("full", "retain", ("p1",), ("n1",), ("a", "b"))
    (row,) = evaluate(scores(), [UDS], lone, utility=UTILITY)
    assert row.faithfulness is not None
    assert row.overall is not None
    assert not row.faithfulness.auc.interval.decides
    assert row.faithfulness.auc.interval.low < 0.05
    assert not row.overall.interval.decides


@pytest.mark.parametrize(
    ("positive", "negative", "told"),
    [((), ("n",), "positive pool"), (("p",), (), "negative pool"), (("a",), ("n",), "a:")],
)
def test_pools_that_cannot_be_used_are_an_error(
    positive: tuple[str, ...], negative: tuple[str, ...], told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Models("full", "retain", positive, negative, ("a",))


def test_the_table_has_twenty_columns_worth_reading() -> None:
    rows = evaluate(scores(), [UDS, find_metric("logit_lens")], MODELS, utility=UTILITY)
    frame = pd.DataFrame([row.flat() for row in rows])
    assert list(frame["metric"]) == ["uds", "logit_lens"]
    whole = frame.iloc[0]
    for part in ("faithfulness", "q", "r", "rob", "overall", "one_sided_q", "one_sided_r"):
        assert whole[f"{part}_low"] <= whole[part] <= whole[f"{part}_high"], part
    assert (whole["tags"], whole["n_kept"], whole["n_useless"], whole["n_knowing"]) == ("ORI", 2, 1, 1)
    assert math.isnan(frame.iloc[1]["rob"])
    assert "not scored" in frame.iloc[1]["missing"]
