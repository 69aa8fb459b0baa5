"""Intervals and summary formulas against brute force, other libraries, and their own algebra."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from uds_bench.statistics import (
    FEWEST,
    ROUNDING,
    Interval,
    auc,
    balanced_cut,
    cluster_interval,
    difference_interval,
    harmonic_mean,
    paired_interval,
)

SCORES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12)
NUMBERS = st.floats(-100, 100).map(lambda x: round(x, 3))
RATES = st.floats(1e-6, 1e6)


@st.composite
def clustered(draw: st.DrawFn) -> tuple[list[float], list[str]]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=6))
    clusters = [f"author-{index}" for index, size in enumerate(sizes) for _ in range(size)]
    return draw(st.lists(NUMBERS, min_size=len(clusters), max_size=len(clusters))), clusters


def bounds(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


# ---- AUC


@given(SCORES, SCORES)
def test_auc_counts_pairs(positive: list[float], negative: list[float]) -> None:
    wins = sum((p > n) + (p == n) / 2 for p, n in itertools.product(positive, negative))
    assert auc(positive, negative) == wins / (len(positive) * len(negative))


@given(SCORES, SCORES)
def test_auc_of_the_pools_exchanged_is_the_complement(positive: list[float], negative: list[float]) -> None:
    assert auc(positive, negative) + auc(negative, positive) == pytest.approx(1, abs=1e-15)
    assert auc([-p for p in positive], [-n for n in negative]) == auc(negative, positive)


@given(SCORES, SCORES)
def test_auc_sees_order_only(positive: list[float], negative: list[float]) -> None:
    stretched = [[math.exp(x) + 3 * x for x in pool] for pool in (positive, negative)]
    assert auc(*stretched) == auc(positive, negative)


@given(SCORES, SCORES, st.integers(2, 4))
def test_auc_does_not_count_copies_or_order(positive: list[float], negative: list[float], copies: int) -> None:
    assert auc(positive, negative * copies) == pytest.approx(auc(positive, negative), abs=1e-15)
    assert auc(positive[::-1], negative[::-1]) == auc(positive, negative)


def test_auc_of_thirty_by_thirty_lies_on_its_grid() -> None:
    draw = np.random.default_rng(0)
    value = auc(draw.normal(1, 1, 30), draw.normal(0, 1, 30)) * 1800
    assert value == pytest.approx(round(value), abs=1e-9)


@pytest.mark.parametrize("pools", [([], [1.0]), ([1.0], []), ([math.nan], [1.0]), ([1.0], [1.0, math.inf])])
def test_auc_of_nothing_is_not_a_number(pools: tuple[list[float], list[float]]) -> None:
    assert math.isnan(auc(*pools))


# ---- intervals over clusters


@settings(deadline=None, max_examples=20)
@given(clustered())
def test_an_interval_is_over_clusters_and_within_the_range(data: tuple[list[float], list[str]]) -> None:
    values, clusters = data
    limits = (min(values), max(values) + 1)
    interval = cluster_interval(values, clusters, limits=limits)
    assert limits[0] - 1e-9 <= interval.low <= interval.high <= limits[1] + 1e-9
    assert interval.units == len(set(clusters))


@settings(deadline=None, max_examples=20)
@given(clustered(), st.sampled_from([-2.0, 0.5, 3.0]), st.floats(-5, 5))
def test_an_interval_follows_units_and_zero(data: tuple[list[float], list[str]], scale: float, shift: float) -> None:
    values, clusters = data
    low, high = bounds(cluster_interval(values, clusters))
    moved = bounds(cluster_interval([scale * v + shift for v in values], clusters))
    assert moved == pytest.approx(sorted((scale * low + shift, scale * high + shift)), abs=1e-6)


@given(clustered(), st.sampled_from([1.0, 5.0]), st.sampled_from([0.8, 0.95]))
def test_an_interval_in_a_range_follows_its_shift_and_its_turn(
    data: tuple[list[float], list[str]], shift: float, level: float
) -> None:
    """Most values at an end of the range, clusters of unlike size; ranges without a 0 inside, which is a place too."""
    values, clusters = np.clip(np.rint(data[0]) / 40, 0, 1), data[1]
    low, high = bounds(cluster_interval(values, clusters, limits=(0.0, 1.0), level=level))
    moved = cluster_interval(values + shift, clusters, limits=(shift, 1 + shift), level=level)
    assert bounds(moved) == pytest.approx((low + shift, high + shift), abs=1e-7)
    turned = cluster_interval(1 - values, clusters, limits=(0.0, 1.0), level=level)
    assert bounds(turned) == pytest.approx((1 - high, 1 - low), abs=1e-7)


@settings(deadline=None, max_examples=20)
@given(clustered(), st.randoms())
def test_an_interval_ignores_the_order_of_facts(data: tuple[list[float], list[str]], random: object) -> None:
    rows = list(zip(*data, strict=True))
    random.shuffle(rows)
    shuffled = cluster_interval([value for value, _ in rows], [name for _, name in rows])
    assert bounds(shuffled) == pytest.approx(bounds(cluster_interval(*data)), abs=1e-9)


def test_an_interval_by_hand() -> None:
    """Hall's transformation g of the studentized mean is monotone; the ends are where g is Student's quantile."""
    values = np.random.default_rng(5).gamma(1, 1, 12)
    found, mean, n = cluster_interval(values, range(12), limits=(0, 1000)), values.mean(), 12
    skew = float(stats.skew(values)) / math.sqrt(n)

    def transformed(end: float) -> float:
        t = (mean - end) / (values.std(ddof=1) / math.sqrt(n))
        return t + skew * t**2 / 3 + skew**2 * t**3 / 27 + skew / 6

    assert [transformed(found.low), transformed(found.high)] == pytest.approx(
        [stats.t.ppf(0.975, n - 1), stats.t.ppf(0.025, n - 1)]
    )
    assert found.high - mean > mean - found.low, "the long tail is above"
    t = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    for limits in (None, (-1000, 1000)):
        difference = bounds(cluster_interval(values, range(12), limits=limits))
        assert difference == pytest.approx((t.low, found.high)), "of a difference, the wider"


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("values", [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.1, 0.4, 0.7], [0.2, 0.5]])
def test_without_skewness_it_is_students_interval(values: list[float], level: float) -> None:
    expected = stats.ttest_1samp(values, 0).confidence_interval(level)
    found = cluster_interval(values, range(len(values)), level=level)
    assert bounds(found) == pytest.approx((expected.low, expected.high))


def test_clusters_of_unequal_size_move_a_mean_over_facts_as_a_ratio_does() -> None:
    """Against the bootstrap of the ratio of sums, from which the skewed interval differs by less than a tenth."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 9, 120)
    values = np.repeat(rng.normal(0, 1, 120), sizes) + rng.normal(0, 0.3, sizes.sum())
    names = np.repeat(np.arange(120), sizes)
    sums = np.bincount(names, weights=values)
    drawn = stats.bootstrap(
        (sums, sizes),
        lambda s, k, axis=-1: s.sum(axis) / k.sum(axis),
        paired=True,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    found = cluster_interval(values, names)
    assert bounds(found) == pytest.approx((drawn.low, drawn.high), abs=0.1 * found.width)


def test_two_sides_are_as_far_off_as_each_may_be() -> None:
    """Both sides symmetric: no skewness is left, and each side's own interval is Student's."""
    first, second = [0.2, 0.4, 0.6, 0.8], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    off = [stats.sem(side) * stats.t.ppf(0.975, len(side) - 1) for side in (first, second)]
    found = difference_interval(list(zip("abcd", first, strict=True)), list(zip("abcdefg", second, strict=True)))
    assert bounds(found) == pytest.approx((0.1 - math.hypot(*off), 0.1 + math.hypot(*off)))
    assert found.units == 4


def test_a_side_that_is_all_alike_is_not_certain() -> None:
    """Five of nobody's told say less than a hundred of them."""
    told = [(at, float(at % 4 == 0)) for at in range(40)]
    few, many = (difference_interval(told, [(at, 0.0) for at in range(n)], (0.0, 1.0)) for n in (5, 100))
    assert few.low < 0 < many.low
    assert few.high == many.high, "none is the least that there can be"


@pytest.mark.parametrize(("ones", "of"), [(1, 12), (5, 12), (11, 12)])
def test_all_at_the_two_ends_is_the_binomials_exact_interval(ones: int, of: int) -> None:
    expected = stats.binomtest(ones, of).proportion_ci(0.95, method="exact")
    values = [3.0] * 2 * ones + [1.0] * 2 * (of - ones)
    found = cluster_interval(values, np.arange(of).repeat(2), limits=(1.0, 3.0))
    assert bounds(found) == pytest.approx((1 + 2 * expected.low, 1 + 2 * expected.high))


def test_facts_of_one_author_are_no_more_evidence_than_their_author() -> None:
    values = np.random.default_rng(2).random(10)
    authors = list(range(10))
    once, six_times = (
        cluster_interval(values, authors),
        cluster_interval(np.repeat(values, 6), [a for a in authors for _ in range(6)]),
    )
    assert bounds(six_times) == pytest.approx(bounds(once))
    assert cluster_interval(np.repeat(values, 6), range(60)).width < 0.6 * once.width


def test_a_constant_decides_nothing() -> None:
    interval = cluster_interval([0.4] * 12, range(12), limits=(0, 1))
    assert interval.width == pytest.approx(0, abs=1e-12)
    assert not cluster_interval([0.5] * 12, range(12), limits=(0, 1)).decides
    assert not cluster_interval([0.0] * 12, range(12)).decides, "an end is one only where the range is given"


@pytest.mark.parametrize("value", [0.1, 0.3, 0.4, 0.7, 1 / 3])
@pytest.mark.parametrize("sizes", [[1] * 12, [1, 2, 3, 5, 7], [6] * 10])
def test_a_constant_decides_nothing_whatever_its_rounding(value: float, sizes: list[int]) -> None:
    clusters = [index for index, size in enumerate(sizes) for _ in range(size)]
    assert not cluster_interval([value] * len(clusters), clusters, limits=(0, 1)).decides


@pytest.mark.parametrize("value", [1e6 / 3, -1e9 / 7])
def test_a_large_constant_decides_nothing_either(value: float) -> None:
    clusters = [index for index, size in enumerate([1, 2, 3, 5, 7]) for _ in range(size)]
    assert not cluster_interval([value] * len(clusters), clusters).decides


@pytest.mark.parametrize(("shift", "reach"), [(0.0, 0.0), (-0.2, 1 - 0.025 ** (1 / 6))])
def test_equal_clusters_have_no_width_whatever_their_rounding(shift: float, reach: float) -> None:
    """The same facts in each cluster, summed in another order: the means differ in their last bit only.

    Where no cluster differs from 0, their number alone bounds the mean.
    """
    orders = list(itertools.permutations([0.1 + shift, 0.2 + shift, 0.3 + shift]))
    values = [value for order in orders for value in order]
    found = cluster_interval(values, [index // 3 for index in range(18)], limits=(-1, 1))
    assert (found.low, found.high) == pytest.approx((0.2 + shift - reach, 0.2 + shift + reach), abs=1e-12)


def test_a_single_difference_among_many_is_bounded_by_their_number() -> None:
    """The exact bound of one in a hundred, and not what so skewed a mean would be given by its skewness."""
    found = cluster_interval([1.0] + [0.0] * 99, range(100), limits=(-1, 1))
    assert found.high == pytest.approx(stats.binomtest(1, 100).proportion_ci(0.95, method="exact").high)
    half = cluster_interval([0.5] + [0.0] * 99, range(100), limits=(-1, 1))
    none = cluster_interval([0.0] * 100, range(100), limits=(-1, 1))
    assert half.high <= (found.high + none.high) / 2, "a part of its reach moves it by that part at most"


@pytest.mark.parametrize("parts", [[1.0], [1.0, 0.5], [0.25, 0.75], [0.5, 1.0, 1.0]])
@pytest.mark.parametrize(("reach", "each"), [(1.0, 1), (4.0, 1), (0.5, 3)])
def test_a_few_among_many_are_bounded_by_their_shares(parts: list[float], reach: float, each: int) -> None:
    """Stringer's bound, term by term: Clopper and Pearson's of none, and of each share its part of a further step."""
    many = 200
    steps = [stats.beta.ppf(0.975, k + 1, many - k) for k in range(len(parts) + 1)]
    shares = sorted(parts, reverse=True)
    expected = steps[0] + sum(share * (steps[k + 1] - steps[k]) for k, share in enumerate(shares))
    values = np.repeat([*parts, *[0.0] * (many - len(parts))], each) * reach
    found = cluster_interval(values, np.arange(many).repeat(each), limits=(-reach, reach))
    assert found.high == pytest.approx(reach * expected)


def test_clusters_of_unlike_size_are_bounded_by_the_largest() -> None:
    """Each may add what the largest does: of a hundred, one with four facts, none of which differs from 0."""
    names = [*range(100), 99, 99, 99]
    found = cluster_interval([0.0] * 103, names, limits=(0, 1))
    assert found.high == pytest.approx((1 - 0.025**0.01) * 4 * 100 / 103)


@pytest.mark.parametrize("limits", [(0.0, 1.0), (0.0, 10.0), (-1.0, 1.0)])
@pytest.mark.parametrize(("times", "decides"), [(0.5, True), (2.0, False)])
def test_what_lies_within_rounding_of_an_end_is_at_it(limits: tuple[float, float], times: float, decides: bool) -> None:
    value = limits[0] + times * ROUNDING * (limits[1] - limits[0])
    assert cluster_interval([value] * 12, range(12), limits=limits).decides == decides


def test_a_range_without_ends_is_none_and_one_without_width_has_one_value() -> None:
    values = [0.1, 0.2, 0.4, 0.3, 0.9, 0.1]
    assert cluster_interval(values, range(6), limits=(-math.inf, math.inf)) == cluster_interval(values, range(6))
    for limits in ((-math.inf, math.inf), (0.0, math.inf), (-math.inf, 0.0)):
        assert cluster_interval([0.0] * 12, range(12), limits=limits).width == 0
    point = cluster_interval([0.5] * 12, range(12), limits=(0.5, 0.5))
    assert bounds(point) == (0.5, 0.5)


@pytest.mark.parametrize("clusters", [1, 2, 5, 8, 40])
@pytest.mark.parametrize(("value", "limits"), [(0.0, (0.0, 1.0)), (1.0, (0.0, 1.0)), (3.0, (-1.0, 3.0))])
def test_all_at_one_end_gives_the_exact_bound(clusters: int, value: float, limits: tuple[float, float]) -> None:
    """The far end is the mean from which so many clusters at the end come about with probability alpha/2."""
    interval = cluster_interval([value] * (2 * clusters), list(range(clusters)) * 2, limits=limits)
    near, far = (interval.low, interval.high) if value == limits[0] else (interval.high, interval.low)
    assert near == value
    away = abs(far - value) / (limits[1] - limits[0])
    assert stats.binom.pmf(0, clusters, away) == pytest.approx(0.025)
    exact = stats.binomtest(0, clusters).proportion_ci(0.95, method="exact")
    assert away == pytest.approx(exact.high, rel=1e-6)
    assert interval.decides == (clusters >= FEWEST)


def test_no_mean_in_the_range_beats_the_exact_bound() -> None:
    """Of all laws on [0, 1] with a given mean, the one on {0, 1} leaves most clusters at 0: the bound is for it."""
    clusters, draws = 6, 200_000
    far = cluster_interval([0.0] * clusters, range(clusters), limits=(0, 1)).high
    random = np.random.default_rng(0)
    at_end = (random.random((draws, clusters)) >= far).all(1).mean()
    assert at_end == pytest.approx(0.025, abs=0.002)
    shallower = (random.random((draws, clusters)) >= min(1.0, 2 * far)).all(1).mean()  # half as far, twice as often
    assert shallower < at_end


@settings(deadline=None, max_examples=20)
@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_one_cluster_never_decides(values: list[float]) -> None:
    for limits in (None, (-100.0, 100.0), (min(values), min(values) + 1)):
        assert not cluster_interval(values, ["one"] * len(values), limits=limits).decides


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("limits", [None, (0.0, 1.0)])
def test_values_that_are_not_finite_never_decide(broken: float, limits: tuple[float, float] | None) -> None:
    interval = cluster_interval([0.1, broken, 0.9], ["a", "b", "c"], limits=limits)
    nothing(interval)


@pytest.mark.parametrize("limits", [(0.0, 1.0), (-1.0, 1.0), (0.0, 5.0)])
def test_values_beyond_the_range_by_more_than_rounding_never_decide(limits: tuple[float, float]) -> None:
    for value, beyond in ((limits[0], -ROUNDING), (limits[1], ROUNDING)):
        inside = (limits[0] + limits[1]) / 2
        assert cluster_interval([value + beyond, *[inside] * 9], range(10), limits=limits).decides
        nothing(cluster_interval([value + 2 * beyond, *[inside] * 9], range(10), limits=limits))


def nothing(found: Interval) -> None:
    assert not found.decides
    assert [math.isnan(end) for end in bounds(found)] == [True, True]
    assert found.units == 0


def test_nothing_to_resample_never_decides() -> None:
    nothing(cluster_interval([], []))
    nothing(cluster_interval([0.1, 0.2, 0.3], ["a", "b"]))  # a value without a cluster


@given(st.integers(1, 60), st.integers(1, 3))
def test_differences_that_are_all_none_have_the_width_of_their_clusters(clusters: int, each: int) -> None:
    """Were a larger share of clusters to differ, so many without one would come less often than once in forty."""
    names = [str(at) for at in range(clusters)] * each
    found = paired_interval([0.0] * len(names), names)
    assert found.high == -found.low
    assert (1 - found.high) ** clusters == pytest.approx(0.025)
    assert found.units == clusters


@given(clustered())
def test_other_differences_are_the_ordinary_interval(data: tuple[list[float], list[str]]) -> None:
    values, clusters = np.clip(data[0], -1, 1).tolist(), data[1]
    assume(any(values))
    assert paired_interval(values, clusters) == cluster_interval(values, clusters, limits=(-1.0, 1.0))


@given(clustered(), clustered(), st.floats(-1, 1))
def test_sides_apart_follow_a_shift(
    first: tuple[list[float], list[str]], second: tuple[list[float], list[str]], shift: float
) -> None:
    one, other = (list(zip(clusters, values, strict=True)) for values, clusters in (first, second))
    moved = [(cluster, value + shift) for cluster, value in one]
    low, high = bounds(difference_interval(one, other))
    assert bounds(difference_interval(moved, other)) == pytest.approx((low + shift, high + shift), abs=1e-9)


@given(clustered(), clustered())
def test_sides_exchanged_are_the_difference_turned(
    first: tuple[list[float], list[str]], second: tuple[list[float], list[str]]
) -> None:
    one, other = (list(zip(clusters, values, strict=True)) for values, clusters in (first, second))
    low, high = bounds(difference_interval(one, other))
    assert bounds(difference_interval(other, one)) == pytest.approx((-high, -low), abs=1e-9)


@pytest.mark.parametrize("sides", [([], [("a", 1.0)]), ([("a", 1.0)], []), ([], [])])
def test_a_side_of_nothing_decides_nothing(sides: tuple[list[tuple[str, float]], list[tuple[str, float]]]) -> None:
    nothing(difference_interval(*sides))


@given(low=st.floats(), high=st.floats(), units=st.integers(0, 9))
def test_what_may_decide(low: float, high: float, units: int) -> None:
    fine = math.isfinite(low) and math.isfinite(high) and high > low and units >= 5
    assert Interval(low, high, "any", units).decides == fine


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10_000))
def test_a_wider_level_is_a_wider_interval(seed: int) -> None:
    values = np.random.default_rng(seed).random(15)
    narrow, wide = (cluster_interval(values, range(15), level=level) for level in (0.8, 0.99))
    assert wide.low <= narrow.low <= narrow.high <= wide.high


# ---- harmonic mean


@given(st.lists(RATES, min_size=1, max_size=6))
def test_harmonic_mean_inequalities(values: list[float]) -> None:
    mean, slack = harmonic_mean(*values), 1 + 1e-9
    geometric = math.exp(math.fsum(map(math.log, values)) / len(values))
    assert min(values) <= mean * slack
    assert mean <= geometric * slack
    assert geometric <= math.fsum(values) / len(values) * slack
    assert mean <= len(values) * min(values) * slack
    assert mean == pytest.approx(stats.hmean(values))


@given(st.lists(RATES, max_size=4))
def test_harmonic_mean_with_a_zero_is_zero(values: list[float]) -> None:
    assert harmonic_mean(*values, 0.0) == 0.0


@pytest.mark.parametrize("values", [(), (math.nan, 1.0), (1.0, -0.1), (0.0, math.nan), (0.0, -1.0)])
def test_harmonic_mean_of_no_rates(values: tuple[float, ...]) -> None:
    assert math.isnan(harmonic_mean(*values))


# ---- balanced cut


def balanced_accuracy(low: list[float], high: list[float], cut: float) -> float:
    return (sum(x < cut for x in low) / len(low) + sum(x >= cut for x in high) / len(high)) / 2


@given(SCORES, SCORES)
def test_balanced_cut_by_brute_force(low: list[float], high: list[float]) -> None:
    points = sorted({*low, *high})
    assume(len(points) > 1)
    cut = balanced_cut(low, high)
    candidates = [(a + b) / 2 for a, b in itertools.pairwise(points)]
    gaps = {(a + b) / 2: b - a for a, b in itertools.pairwise(points)}
    best = max(balanced_accuracy(low, high, c) for c in candidates)
    assert cut in gaps
    assert balanced_accuracy(low, high, cut) == pytest.approx(best)
    equals = [c for c in candidates if balanced_accuracy(low, high, c) == pytest.approx(best)]
    assert gaps[cut] == max(gaps[c] for c in equals)


@given(SCORES, SCORES)
def test_balanced_cut_of_separate_pools_is_in_the_middle(low: list[float], high: list[float]) -> None:
    high = [x + 20 for x in high]
    assert balanced_cut(low, high) == (max(low) + min(high)) / 2


@pytest.mark.parametrize("pools", [([], [1.0]), ([1.0], []), ([math.nan], [1.0]), ([0.0], [math.inf])])
def test_balanced_cut_of_nothing(pools: tuple[list[float], list[float]]) -> None:
    assert math.isnan(balanced_cut(*pools))


def test_balanced_cut_of_a_single_value() -> None:
    assert balanced_cut([0.5, 0.5], [0.5]) == 0.5


def test_few_units_would_pass_too_often() -> None:
    """Why there is a `FEWEST`: the true mean is .69, the bound .70, and some lie far below: how often is it cleared?"""
    random = np.random.default_rng(0)

    def cleared(units: int) -> float:
        runs = 1 - 0.31 * random.gamma(0.5, 2, (1000, units))
        return float(np.mean([cluster_interval(run, range(units)).low >= 0.70 for run in runs]))

    assert cleared(2) > 4 * 0.025
    assert cleared(40) < 1.5 * 0.025
