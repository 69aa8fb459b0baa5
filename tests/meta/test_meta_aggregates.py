"""Axes, rankings and the proxy test."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from references import meta_formulas as plain
from scipy import stats

from uds_bench.audits.metrics.aggregates import MEMORIZATION, MIA, Standing, axis, relative_utility, standing
from uds_bench.audits.metrics.proxy import proxy
from uds_bench.audits.metrics.ranking import rank_methods

SHARE = st.integers(0, 64).map(lambda n: n / 64)
NAMES = (*MEMORIZATION, *MIA, "uds")


@given(st.fixed_dictionaries(dict.fromkeys(NAMES, SHARE)), SHARE)
def test_axes_are_harmonic_means_of_their_parts(values: dict[str, float], relative: float) -> None:
    exact = {name: Fraction(value) for name, value in values.items()}
    mem = plain.harmonic([1 - exact[name] for name in ("es", "em", "para_prob", "truth_ratio")])
    mia = plain.harmonic([exact[name] for name in ("s_loss", "s_zlib", "s_min_k", "s_min_k_plus_plus")])
    private = plain.harmonic([mia, exact["uds"]])
    found = standing("m", values, relative)
    expected = {
        "mem": mem,
        "mia": mia,
        "privacy": private,
        "overall": plain.harmonic([mem, private, Fraction(relative)]),
        "overall_without_uds": plain.harmonic([mem, mia, Fraction(relative)]),
    }
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(float(value), abs=1e-12), name


@pytest.mark.parametrize("name", NAMES)
def test_an_axis_is_not_made_of_fewer_parts(name: str) -> None:
    values = {other: 0.5 for other in NAMES if other != name}
    with pytest.raises(ValueError, match=name):
        standing("m", values, 1.0)
    broken = standing("m", {**values, name: math.nan}, 1.0)
    assert math.isnan(broken.overall)


@pytest.mark.parametrize("outside", [-0.1, 1.1, math.nan, math.inf])
def test_what_is_no_share_makes_no_axis(outside: float) -> None:
    assert math.isnan(axis(0.5, outside, 0.5))
    assert math.isnan(axis(outside))
    for name in NAMES:
        assert math.isnan(standing("m", dict.fromkeys(NAMES, 0.5) | {name: outside}, 1.0).overall)
    assert math.isnan(standing("m", dict.fromkeys(NAMES, 0.5), outside).overall)


def test_one_saturated_s_makes_privacy_nought() -> None:
    """s_* = 0 is the worst score and not a perfect defence (definitions 004.6)."""
    found = standing("m", dict.fromkeys(NAMES, 0.9) | {"s_loss": 0.0}, 1.0)
    assert found.mia == found.privacy == found.overall == found.overall_without_uds == 0


def test_utility_is_relative_to_full() -> None:
    assert axis(0.5, 1.0) == pytest.approx(2 / 3)
    assert relative_utility(0.4, 0.5) == pytest.approx(0.8)
    assert relative_utility(0.6, 0.5) == 1
    assert math.isnan(relative_utility(0.4, 0.0))
    assert math.isnan(relative_utility(math.nan, 0.5))


# ---- ranking


def model(name: str, uds: float, mia: float) -> Standing:
    return standing(name, dict.fromkeys(MEMORIZATION, 0.1) | dict.fromkeys(MIA, mia) | {"uds": uds}, 1.0)


METHODS = {"npo-a1": "NPO", "npo-a5": "NPO", "simnpo": "SimNPO", "idk": "IdkNLL"}
STANDINGS = [model("npo-a1", 0.9, 0.5), model("npo-a5", 0.3, 0.6), model("simnpo", 0.2, 0.9), model("idk", 0.1, 0.4)]


def test_uds_moves_a_method_and_the_shift_says_so() -> None:
    rows = {row.method: row for row in rank_methods(STANDINGS, METHODS)}
    assert (rows["SimNPO"].rank_without, rows["SimNPO"].rank, rows["SimNPO"].shift) == (1, 2, -1)
    assert (rows["NPO"].rank_without, rows["NPO"].rank, rows["NPO"].shift) == (2, 1, 1)
    assert rows["IdkNLL"].shift == 0
    assert (rows["NPO"].best_without, rows["NPO"].best) == ("npo-a5", "npo-a1")


def test_the_table_has_a_row_a_method_best_first() -> None:
    rows = rank_methods(STANDINGS, METHODS)
    assert [row.method for row in rows] == ["NPO", "SimNPO", "IdkNLL"]
    assert rows[0].overall == max(one.overall for one in STANDINGS)


def test_ties_share_the_better_rank() -> None:
    twins = [model("a", 0.5, 0.5), model("b", 0.5, 0.5), model("c", 0.1, 0.1)]
    rows = rank_methods(twins, {"a": "A", "b": "B", "c": "C"})
    assert [(row.method, row.rank) for row in rows] == [("A", 1), ("B", 1), ("C", 3)]


def test_a_model_that_cannot_be_ranked_is_an_error() -> None:
    with pytest.raises(ValueError, match="no method"):
        rank_methods(STANDINGS, {})
    with pytest.raises(ValueError, match="npo-a1 has no Overall"):
        rank_methods([model("npo-a1", math.nan, 0.5)], METHODS)


# ---- the proxy test

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=9)


@settings(max_examples=40)
@given(PAIRS)
def test_the_proxy_is_a_rank_correlation(pairs: list[tuple[int, int]]) -> None:
    assume(len({a for a, _ in pairs}) > 1 and len({b for _, b in pairs}) > 1)
    x, y = ({f"m{i}": float(pair[side]) for i, pair in enumerate(pairs)} for side in (0, 1))
    found = proxy(x, y, "knowledge")
    assert found.value == pytest.approx(plain.rank_correlation(list(x.values()), list(y.values())), abs=1e-12)
    assert found.value == pytest.approx(stats.spearmanr(list(x.values()), list(y.values())).statistic, abs=1e-12)
    assert proxy(x, y, "erasure").value == pytest.approx(-found.value, abs=1e-12)
    assert -1 <= found.interval.low <= found.interval.high <= 1
    assert found.interval.units == len(pairs)


def test_a_good_warning_is_positive_whatever_the_direction() -> None:
    comes_back = {f"m{i}": 0.1 * i for i in range(8)}
    depth = {name: 1 - value for name, value in comes_back.items()}  # deeper erased, less regained
    assert proxy(depth, comes_back, "erasure").value == pytest.approx(1)


@pytest.mark.parametrize("comeback", [{"a": 0.1, "b": 0.1}, {"a": math.nan, "b": 0.2}])
def test_without_a_spread_there_is_no_correlation(comeback: dict[str, float]) -> None:
    found = proxy({"a": 0.1, "b": 0.2}, comeback, "knowledge")
    assert math.isnan(found.value)
    assert not found.interval.decides
    assert math.isnan(proxy({}, {}, "knowledge").value)


def test_resamples_without_a_spread_count_as_no_relation() -> None:
    """One model of eight comes back: many resamples miss it, and none of those may help the claim."""
    metric = {f"m{i}": float(i) for i in range(8)}
    comeback = {name: float(name == "m7") for name in metric}
    assert proxy(metric, comeback, "knowledge").interval.low <= 0


def test_a_model_that_lacks_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        proxy({"a": 0.1, "b": 0.2}, {"a": 0.1}, "knowledge")
