"""Forget quality: the KS test of truth ratios, its p-value and what its interval means."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from forced_subjects import FACTS, checkpoint, subject
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from uds_bench.errors import UdsError
from uds_bench.facts import FactSet
from uds_bench.metrics import METRICS
from uds_bench.metrics.forget_quality import forget_quality, ks_pvalue
from uds_bench.metrics.metric import FactValue, MetricSummary
from uds_bench.metrics.subject import ReferenceModels, Subject

RATIOS = st.lists(st.integers(0, 12).map(lambda x: x / 12), min_size=2, max_size=25)


def shuffled(values: list[float]) -> list[float]:
    return list(np.random.default_rng(len(values)).permutation(values) * 0.7 + 0.11)  # no tie by rounding


@settings(deadline=None, max_examples=40)
@given(RATIOS)
def test_the_same_values_are_not_told_apart(values: list[float]) -> None:
    found = forget_quality(values, values[::-1], [str(i) for i in range(len(values))])
    assert found.value == 1


@settings(deadline=None, max_examples=60)
@given(RATIOS)
def test_p_value_is_that_of_scipy(values: list[float]) -> None:
    other = shuffled(values)
    assume(stats.ks_2samp(values, other).statistic > 0)  # there scipy's exact way gives up; it is 1, tested above
    found = forget_quality(values, other, [str(i) for i in range(len(values))])
    assert found.value == pytest.approx(stats.ks_2samp(values, other, method="exact").pvalue, rel=1e-9)
    assert found.interval is not None
    assert 0 < found.interval.low <= found.interval.high <= 1


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_p_value_by_counting_every_order(n: int) -> None:
    """Of all ways to mix two samples of n, those at least so far apart."""
    found: list[int] = []
    for chosen in itertools.combinations(range(2 * n), n):
        steps = np.cumsum([1 if i in chosen else -1 for i in range(2 * n)])
        found.append(int(np.abs(steps).max()))
    for steps_apart in range(n + 1):
        share = sum(f >= steps_apart for f in found) / len(found)
        assert ks_pvalue(steps_apart / n, n) == pytest.approx(share)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 60))
def test_p_value_falls_with_distance(one: float, two: float, n: int) -> None:
    low, high = sorted((one, two))
    assert 0 < ks_pvalue(high, n) <= ks_pvalue(low, n) <= 1


def test_four_hundred_facts_are_exact() -> None:
    draw = np.random.default_rng(1)
    x, y = draw.random(400), draw.random(400) ** 1.2
    expected = stats.ks_2samp(x, y, method="exact").pvalue
    assert forget_quality(list(x), list(y), [str(i // 20) for i in range(400)]).value == pytest.approx(expected)


def test_interval_is_that_of_the_distance() -> None:
    """Few authors, every draw of them: the ends are p-values of the distance's percentiles."""
    own, retain = [0.1, 0.2, 0.6, 0.7, 0.3, 0.9], [0.1, 0.3, 0.5, 0.8, 0.9, 0.95]
    clusters = ["a", "a", "b", "b", "c", "c"]
    distances = []
    for drawn in itertools.product("abc", repeat=3):
        picked = [i for name in drawn for i in range(6) if clusters[i] == name]
        distances.append(stats.ks_2samp([own[i] for i in picked], [retain[i] for i in picked]).statistic)
    found = forget_quality(own, retain, clusters)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(ks_pvalue(float(np.quantile(distances, 0.975)), 6))
    assert found.interval.high == pytest.approx(ks_pvalue(float(np.quantile(distances, 0.025)), 6))


# ---- as a metric


def beside(retain: list[FactValue]) -> Any:
    return METRICS["forget_quality"].compute(subject(retain={"truth_ratio": retain}), "prob_mean")


def test_an_interval_is_over_authors() -> None:
    found = forget_quality([0.1, 0.2, 0.3], [0.8, 0.9, 0.7], ["a", "a", "b"]).interval
    assert found is not None
    assert found.units == 2


def test_the_retain_model_is_the_retain_model() -> None:
    own = METRICS["truth_ratio"].compute(subject(), "prob_mean").values
    assert beside(own).summary.value == 1


def test_value_of_a_model() -> None:
    own = METRICS["truth_ratio"].compute(subject(), "prob_mean").values
    retain = [FactValue(v.id, 0.5 + i / 100) for i, v in enumerate(own)]
    found = beside(retain)
    pair = [v.value for v in own], [v.value for v in retain]
    assert found.summary.value == pytest.approx(stats.ks_2samp(*pair, method="exact").pvalue)
    assert found.values == own


def test_order_alone_counts_so_any_monotone_form_of_the_ratio_gives_the_same() -> None:
    x, y = np.random.default_rng(0).random((2, 30))
    authors = [str(i) for i in range(30)]
    mean = forget_quality(list(x), list(y), authors)
    ratios = forget_quality(list((1 - x) / x), list((1 - y) / y), authors)
    assert mean == ratios


def test_facts_that_the_retain_model_lacks_count_as_invalid() -> None:
    retain = [FactValue(f.id, 0.5) for f in FACTS.split("forget")]
    retain[2] = FactValue(retain[2].id, None, "the fact has no paraphrased_answer")
    found = beside(retain)
    assert [(v.id, v.reason) for v in found.values if v.value is None] == [(retain[2].id, "retain model: no value")]
    assert found.notes["facts"] == 7


def test_where_the_model_has_no_value_of_any_fact_it_is_undefined_and_facts_are_kept() -> None:
    facts = FactSet(replace(one, paraphrased_answer=None) for one in FACTS)
    first, *others = FACTS.split("forget")
    retain = {"truth_ratio": [FactValue(first.id, None, "broken"), *(FactValue(f.id, 0.5) for f in others)]}
    found = METRICS["forget_quality"].compute(subject(facts=facts, retain=retain), "prob_mean")
    assert found.summary == MetricSummary(None, None)
    assert found.notes["undefined"] == "no fact has a truth ratio"
    assert found.notes["rendered"]
    assert {(v.id, v.reason) for v in found.values} == {
        (f.id, "the fact has no paraphrased_answer") for f in FACTS.split("forget")
    }


def test_the_retain_model_is_asked_for_the_same_variant() -> None:
    read: list[tuple[str, str | None]] = []

    def recorded(metric: str, variant: str | None) -> list[FactValue]:
        read.append((metric, variant))
        return [FactValue(f.id, 0.5) for f in FACTS.split("forget")]

    references = ReferenceModels(lambda which: checkpoint(), {}, FACTS, recorded=recorded)
    METRICS["forget_quality"].compute(Subject(checkpoint(), references), "prob_mean")
    assert read == [("truth_ratio", "prob_mean")]


def test_no_retain_values_is_an_error() -> None:
    with pytest.raises(UdsError, match="truth_ratio of the retain model"):
        beside([FactValue(f.id, None, "broken") for f in FACTS.split("forget")])
    with pytest.raises(ValueError, match="not at hand"):
        METRICS["forget_quality"].compute(subject(), "prob_mean")
