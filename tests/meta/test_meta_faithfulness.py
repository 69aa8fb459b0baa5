"""Faithfulness: AUC between pools, interval, best cut (definitions 004.5, item 9), and the filters (item 10)."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import meta_formulas as plain

from uds_bench.audits.metrics.faithfulness import (
    Faithfulness,
    faithfulness,
    fewest_models,
    histogram,
    knows_not,
    separation_interval,
)
from uds_bench.audits.metrics.filters import filtered
from uds_bench.metrics.metric import Direction

POOL = st.lists(st.integers(-6, 6).map(lambda n: n / 4), min_size=1, max_size=8)
DIRECTIONS = st.sampled_from(["knowledge", "erasure"])
FULL_POOL = st.lists(st.integers(0, 40).map(lambda n: n / 8), min_size=30, max_size=30)


@given(POOL, POOL, DIRECTIONS)
def test_auc_counts_pairs_under_the_declared_direction(p: list[float], n: list[float], direction: Direction) -> None:
    found = faithfulness(p, n, direction)
    assert found.auc.value == float(plain.pairs_right(p, n, direction))
    other: Direction = "erasure" if direction == "knowledge" else "knowledge"
    assert found.auc.value + faithfulness(p, n, other).auc.value == pytest.approx(1, abs=1e-15)


@settings(max_examples=30)
@given(FULL_POOL, FULL_POOL)
def test_auc_of_thirty_by_thirty_lies_on_a_grid(p: list[float], n: list[float]) -> None:
    steps = faithfulness(p, n, "knowledge").auc.value * 1800
    assert steps == pytest.approx(round(steps), abs=1e-9)


@given(POOL, POOL, DIRECTIONS)
def test_auc_sees_order_only_and_conversion_not_at_all(p: list[float], n: list[float], direction: Direction) -> None:
    expected = faithfulness(p, n, direction).auc.value
    stretched = [[math.exp(v) + v for v in pool] for pool in (p, n)]
    assert faithfulness(stretched[0], stretched[1], direction).auc.value == expected
    other: Direction = "erasure" if direction == "knowledge" else "knowledge"
    turned = faithfulness([1 - v for v in p], [1 - v for v in n], other)
    assert turned.auc.value == expected


@given(POOL, POOL, DIRECTIONS)
def test_the_cut_is_as_good_as_any(p: list[float], n: list[float], direction: Direction) -> None:
    found = faithfulness(p, n, direction)
    assert found.balanced_accuracy == pytest.approx(float(plain.accuracy_at(found.cut, p, n, direction)))
    assert found.balanced_accuracy == pytest.approx(float(plain.best_accuracy(p, n, direction)))


@pytest.mark.parametrize("bad", [[], [0.1, math.nan], [math.inf]])
def test_a_pool_that_cannot_be_used_gives_no_number(bad: list[float]) -> None:
    for found in (faithfulness(bad, [0.2], "knowledge"), faithfulness([0.2], bad, "erasure")):
        assert math.isnan(found.auc.value)
        assert math.isnan(found.cut)
        assert math.isnan(found.balanced_accuracy)
        assert not found.auc.interval.decides


# ---- the interval


@pytest.mark.parametrize(
    ("p", "n", "low"), [(4, 4, 0.398), (5, 5, 0.478), (6, 6, 0.541), (30, 30, 0.884), (4, 30, 0.398)]
)
def test_a_perfect_separation_is_bounded_by_the_smaller_pool(p: int, n: int, low: float) -> None:
    found = faithfulness([1.0] * p, [0.0] * n, "knowledge")
    assert found.auc.value == 1
    assert found.auc.interval.low == pytest.approx(low, abs=5e-4)
    assert found.auc.interval.high == 1
    assert found.auc.interval.units == min(p, n)


@pytest.mark.parametrize("size", [6, 12])
def test_the_exact_bound_is_attained(size: int) -> None:
    """The worst case: one pool sits at 0, a model of the other lies above it with probability a."""
    bound = separation_interval([1.0] * size, [0.0] * size, 0.95).low
    draws = np.random.default_rng(0).random((200_000, size)) < bound
    assert draws.all(axis=1).mean() == pytest.approx(0.025, abs=0.0015)


@pytest.mark.parametrize("bound", [0.5, 0.9])
def test_too_few_models_never_clear_a_bound_and_the_number_named_does(bound: float) -> None:
    needed = fewest_models(bound)
    for size in (needed - 1, needed):
        low = separation_interval([1.0] * size, [0.0] * size, 0.95).low
        assert (low >= bound) == (size == needed)


@pytest.mark.parametrize("models", [30, 36, 60])
def test_contaminated_pools_clear_nine_tenths_no_more_often_than_promised(models: int) -> None:
    """A share of one pool is of the other: the AUC is just below the bound, and a pass is a false one.

    Of the other one alone (no bound for 30 models holds .9 less often than .9^30 = .042), or half below it.
    """
    draw = np.random.default_rng(1)
    for wrong in (0.0, 0.5):  # how a model of the other kind stands to the rest: below all, or tied with half of them
        share = 0.101 / (1 - wrong)
        below = [0.0, 1.0] if wrong else [0.0]
        passed = 0
        for _ in range(1000):
            above = np.where(draw.random(models) < share, -1.0 if not wrong else 0.5, 2.0)
            found = separation_interval(above.tolist(), draw.choice(below, models).tolist(), 0.95)
            passed += found.low >= 0.9
        print(f"{models} models, wrong {wrong}: {passed} of 1000 pass")
        assert passed <= 43  # a rate of .025 comes to more with a chance of 1 in 3000


@given(POOL, POOL)
def test_a_worse_separation_is_never_better_evidence(p: list[float], n: list[float]) -> None:
    units = min(len(p), len(n))
    found = separation_interval(p, n, 0.95)
    perfect = separation_interval([1.0] * len(p), [0.0] * len(n), 0.95)
    assert found.low <= perfect.low + 1e-12
    assert found.high >= 1 - perfect.low - 1e-12
    assert 0 <= found.low <= float(plain.pairs_right(p, n, "knowledge")) <= found.high <= 1
    assert found.units == units


def test_the_interval_covers_a_known_auc() -> None:
    """Pools of 20 from normals 1.0 apart: AUC = Phi(1 / sqrt 2) = 0.760."""
    draw = np.random.default_rng(3)
    inside = 0
    for _ in range(60):
        found = separation_interval(draw.normal(1, 1, 20).tolist(), draw.normal(0, 1, 20).tolist(), 0.95)
        inside += found.low <= 0.7602 <= found.high
    assert inside >= 52  # at 0.95, fewer than 52 has a chance of 1 in 350


# ---- histogram


@given(POOL, POOL, DIRECTIONS)
def test_a_histogram_holds_every_model(p: list[float], n: list[float], direction: Direction) -> None:
    found = histogram(faithfulness(p, n, direction), bins=7)
    assert (sum(found.positive), sum(found.negative)) == (len(p), len(n))
    assert len(found.edges) == 8 == len(found.positive) + 1
    assert list(found.edges) == sorted(found.edges)
    assert found.edges[0] <= min(*p, *n)
    assert found.edges[-1] >= max(*p, *n)


def test_a_histogram_of_nothing_is_an_error() -> None:
    broken: Faithfulness = faithfulness([math.nan], [0.1], "knowledge")
    with pytest.raises(ValueError, match="finite"):
        histogram(broken)


# ---- filters

VALUES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 8).map(lambda n: n / 8), max_size=8)
SHARE = st.floats(0, 1.2)
UTILITY = {name: 0.1 * i for i, name in enumerate("abcdefgh", 3)}


@given(VALUES, st.integers(0, 8).map(lambda n: n / 8), DIRECTIONS)
def test_filters_split_all_models_for_a_reason(values: dict[str, float], cut: float, direction: Direction) -> None:
    found = filtered(values, cut, direction, UTILITY, 0.6)
    assert sorted([*found.kept, *found.useless, *found.knowing]) == sorted(values)
    for name in values:
        useful, forgotten = UTILITY[name] >= 0.6, plain.says_forgotten(values[name], cut, direction)
        assert (name in found.kept) == (useful and forgotten)
        assert (name in found.useless) == (not useful)


@given(VALUES, DIRECTIONS, st.tuples(SHARE, SHARE).map(sorted))
def test_a_higher_floor_never_adds_a_model(values: dict[str, float], direction: Direction, floors: list[float]) -> None:
    low, high = (set(filtered(values, 0.5, direction, UTILITY, floor).kept) for floor in floors)
    assert high <= low <= set(filtered(values, 0.5, direction).kept)


def test_a_floor_is_met_by_what_equals_it() -> None:
    assert filtered({"a": 0.0}, 0.5, "knowledge", {"a": 0.8}).kept == ("a",)
    assert filtered({"a": 0.0}, 0.5, "knowledge", {"a": 0.799}).useless == ("a",)


@pytest.mark.parametrize(
    ("values", "cut", "utility", "told"),
    [
        ({"a": math.nan}, 0.5, None, "the value of a"),
        ({"a": 0.1}, math.nan, None, "the cut"),
        ({"a": 0.1}, 0.5, {}, "the relative utility of a"),
        ({"a": 0.1}, 0.5, {"a": math.nan}, "the relative utility of a"),
    ],
)
def test_nothing_is_left_out_for_want_of_a_number(
    values: dict[str, float], cut: float, utility: dict[str, float] | None, told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        filtered(values, cut, "knowledge", utility)


def test_a_value_that_is_no_number_knows_nothing_of_forgetting() -> None:
    assert not knows_not(math.nan, 0.5, "knowledge")
    assert not knows_not(math.nan, 0.5, "erasure")
