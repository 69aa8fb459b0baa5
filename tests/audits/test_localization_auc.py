"""The exact AUC of many scores, beside loops over pairs, sklearn and its own algebra."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata
from sklearn.metrics import roc_auc_score

from uds_bench.audits.localization.auc import Auc, exact_auc, null_band
from uds_bench.errors import UdsError

FEW = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12)


def of(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def pieces(values: list[float], cut: int) -> list[np.ndarray]:
    return [of(*values[at : at + cut]) for at in range(0, len(values), cut)]


@given(FEW, FEW, st.integers(1, 5))
def test_pairs_are_counted_whatever_the_pieces(positive: list[float], negative: list[float], cut: int) -> None:
    twice = sum(2 * (p > n) + (p == n) for p, n in itertools.product(positive, negative))
    assert exact_auc(pieces(positive, cut), pieces(negative, cut)) == Auc(twice, len(positive), len(negative))


@pytest.mark.parametrize("spread", [3, 1000, 0])
def test_many_scores_are_those_of_sklearn(spread: int) -> None:
    """spread 0: no two scores are alike; 3: most are."""
    rng = np.random.default_rng(spread)
    scores = (rng.integers(0, spread, 20_000) if spread else rng.normal(size=20_000)).astype(np.float32)
    labels = rng.random(20_000) < 0.1
    found = exact_auc([scores[labels]], [scores[~labels]])
    assert found.value == pytest.approx(roc_auc_score(labels, scores), abs=1e-13)
    # Mann-Whitney by ranks: whole numbers, so equal to the last digit.
    ranks = rankdata(scores)[labels].sum()
    assert found.twice_wins == round(2 * ranks - labels.sum() * (labels.sum() + 1))


@given(FEW, FEW)
def test_algebra(positive: list[float], negative: list[float]) -> None:
    p, n = of(*positive), of(*negative)
    value = exact_auc([p], [n]).value
    assert 0 <= value <= 1
    assert exact_auc([-p], [-n]).value == pytest.approx(1 - value)
    assert exact_auc([n], [p]).value == pytest.approx(1 - value)
    assert exact_auc([np.exp(p)], [np.exp(n)]).value == value
    assert exact_auc([p], [n, n, n]).value == exact_auc([p, p], [n]).value == value, "imbalance changes nothing"
    assert exact_auc([p], [p]).value == 0.5


def test_a_constant_knows_nothing() -> None:
    assert exact_auc([np.zeros(7, np.float32)], [np.zeros((3, 4), np.float32)]).value == 0.5


def test_an_empty_side_is_not_a_number() -> None:
    for sides in (([], [of(1.0)]), ([of(1.0)], []), ([], [])):
        found = exact_auc(*sides)
        assert math.isnan(found.value)
        assert not found.interval.decides
    assert not null_band(0, 5).decides


@pytest.mark.parametrize("side", [0, 1])
def test_a_score_that_is_no_number_is_refused(side: int) -> None:
    sides = [[of(1.0, 2.0)], [of(0.5)]]
    sides[side] = [of(1.0, math.nan)]
    with pytest.raises(UdsError, match="no number"):
        exact_auc(*sides)


def test_infinite_scores_have_a_rank() -> None:
    assert exact_auc([of(math.inf)], [of(1.0, -math.inf)]).value == 1


def test_nothing_that_is_given_is_changed() -> None:
    positive, negative = of(3.0, 1.0), of(2.0, 0.0)
    exact_auc([positive], [negative])
    assert positive.tolist() == [3.0, 1.0]
    assert negative.tolist() == [2.0, 0.0]


@given(st.integers(0, 200), st.integers(1, 50), st.integers(1, 50))
def test_the_interval_holds_the_value_and_never_decides_by_no_width(wins: int, positives: int, negatives: int) -> None:
    found = Auc(min(wins, 2 * positives * negatives), positives, negatives)
    assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1
    assert found.interval.width > 0


def test_the_interval_covers() -> None:
    """Weights drawn anew fall outside their own interval less often than once in twenty."""
    rng, true, missed = np.random.default_rng(0), 0.7602, 0
    for _ in range(400):
        p, n = rng.normal(1, 1, 60), rng.normal(0, 1, 300)
        interval = exact_auc([p.astype(np.float32)], [n.astype(np.float32)]).interval
        missed += not interval.low <= true <= interval.high
    assert missed <= 20


@pytest.mark.parametrize(("wins", "positives", "negatives", "unsure"), [(12_000, 80, 120, 30), (2_000, 60, 40, 0)])
@pytest.mark.parametrize("families", [1, 3])
def test_the_interval_is_the_largest_variance_and_what_is_unsure(
    wins: int, positives: int, negatives: int, unsure: int, families: int
) -> None:
    found, pairs = Auc(wins, positives, negatives, unsure), 2 * positives * negatives
    value, units = wins / pairs, min(positives, negatives)
    reach = norm.isf(0.025 / families) * math.sqrt(value * (1 - value) / units) + unsure / pairs
    interval = found.interval_of(families)
    assert 0 < interval.low < interval.high < 1, "the ends of the range cut off nothing"
    assert (interval.low, interval.high) == pytest.approx((value - reach, value + reach))
    assert interval.units == units


@pytest.mark.parametrize(("positives", "negatives"), [(0, 3), (3, 0)])
def test_a_side_without_weights_has_an_interval_over_none(positives: int, negatives: int) -> None:
    for found in (Auc(0, positives, negatives).interval, null_band(positives, negatives)):
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert found.units == 0


def test_where_all_pairs_are_in_one_order_the_fewer_weights_are_counted() -> None:
    assert Auc(0, 20, 30).interval.units == Auc(1200, 30, 20).interval.units == 20


@pytest.mark.parametrize("wins", [0, 3_000, 20_000])
def test_of_more_families_the_interval_is_wider(wins: int) -> None:
    """Each has its share of the error: one of twenty families has the interval that holds in 399 of 400."""
    found = Auc(wins, 100, 100)
    reaches = [max(one.high - found.value, found.value - one.low) for one in map(found.interval_of, (1, 2, 20))]
    assert reaches == sorted(set(reaches))
    assert found.interval_of(1) == found.interval
    if wins in (0, 20_000):
        assert reaches[2] == pytest.approx(1 - (0.05 / 20 / 2) ** (1 / 100))


@pytest.mark.parametrize(("positives", "negatives"), [(1, 3), (2, 3), (4, 4)])
def test_the_null_band_is_as_wide_as_values_spread_over_every_order(positives: int, negatives: int) -> None:
    places = range(positives + negatives)
    values = [
        sum(one > other for one in ours for other in set(places) - set(ours)) / (positives * negatives)
        for ours in itertools.combinations(places, positives)
    ]
    for families in (1, 5):
        band, reach = null_band(positives, negatives, families), norm.isf(0.025 / families) * float(np.std(values))
        assert (band.low, band.high) == pytest.approx((0.5 - reach, 0.5 + reach))
        assert band.units == min(positives, negatives)
    assert null_band(positives, negatives) == null_band(positives, negatives, 1)


@pytest.mark.parametrize(("families", "share"), [(1, 0.05), (10, 0.05)])
def test_blind_scores_fall_into_the_null_band(families: int, share: float) -> None:
    rng, outside = np.random.default_rng(families), 0
    band = null_band(40, 200, families)
    for _ in range(300):
        values = [exact_auc([rng.normal(size=40)], [rng.normal(size=200)]).value for _ in range(families)]
        outside += not all(band.low <= value <= band.high for value in values)
    assert outside <= 300 * share + 2.6 * math.sqrt(300 * share)
    assert outside >= 1, "a band that nothing ever leaves is too wide to say anything"
