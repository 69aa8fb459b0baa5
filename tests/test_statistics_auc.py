"""Intervals of an AUC: against brute force, the exact bound at the ends, and how often they hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uds_bench.statistics import Interval, auc, auc_interval, auc_resamples, drawn, skewed

SIDE = st.lists(st.tuples(st.integers(-4, 4).map(float), st.sampled_from("abcd")), min_size=1, max_size=12)


def draws(side: list[tuple[float, str]]) -> list[list[float]]:
    """The values of every equally likely draw of as many clusters with replacement."""
    names = sorted({c for _, c in side})
    return [
        [v for name in drawn for v, c in side if c == name] for drawn in itertools.product(names, repeat=len(names))
    ]


def test_resamples_by_brute_force() -> None:
    """Two and three clusters: 4 x 27 equally likely draws, each AUC by counting pairs."""
    positive = [(1.0, "a"), (3.0, "a"), (2.0, "b")]
    negative = [(0.0, "s"), (2.0, "t"), (2.5, "t"), (4.0, "u")]
    exact = sorted(auc(p, n) for p in draws(positive) for n in draws(negative))
    found = auc_resamples(*([v for v, _ in s] for s in (positive, negative)), list("aab"), list("sttu"), 40_000)
    values, counts = np.unique(np.round(found, 12), return_counts=True)
    wanted, expected = np.unique(np.round(exact, 12), return_counts=True)
    assert values.tolist() == wanted.tolist()
    np.testing.assert_allclose(counts / 40_000, expected / len(exact), atol=0.01)


def weighted(
    above: list[float],
    below: list[float],
    kinds: tuple[str, str] | None,
    first: Sequence[float],
    second: Sequence[float] | None = None,
) -> float:
    """The AUC, pair by pair, where each fact of either side counts as often as its weight says."""
    rows = zip(above, first, kinds[0] if kinds else "x" * len(above), strict=True)
    others = zip(below, second or [1] * len(below), kinds[1] if kinds else "x" * len(below), strict=True)
    pairs = [(v * w, (p > n) + (p == n) / 2) for (p, v, k), (n, w, m) in itertools.product(rows, others) if k == m]
    total = sum(weight for weight, _ in pairs)
    return sum(weight * won for weight, won in pairs) / total if total else math.nan


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kinds", [None, ("xxyy", "yyyx")])
def test_each_resample_is_the_auc_of_its_draw(kinds: tuple[str, str] | None) -> None:
    """Facts count as often as their cluster is drawn."""
    positive, negative = [1.0, 3.0, 2.0, 2.5], [0.0, 2.0, 2.5, 4.0]
    found = auc_resamples(positive, negative, "aabb", "sttu", 60, 7, kinds)
    for value, above, below in zip(found, *drawn((2, 3), 60, 7), strict=True):
        expected = weighted(positive, negative, kinds, above[[0, 0, 1, 1]].tolist(), below[[0, 1, 1, 2]].tolist())
        assert value == pytest.approx(expected, nan_ok=True)
    assert np.isnan(found).any() == (kinds is not None)


@pytest.mark.parametrize("kinds", [None, ("xyxyxyxy", "yyxxxyyxyx")])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_an_interval_is_made_of_how_far_each_cluster_moves_the_auc(kinds: tuple[str, str] | None, level: float) -> None:
    """By differences: a cluster that counts a little more moves the AUC by so much, times the clusters of its side."""
    rng = np.random.default_rng(4)
    sides, clusters = (rng.normal(1, 1, 8).tolist(), rng.normal(0, 1, 10).tolist()), ("aabbbcdd", "ssttuuuvww")
    value, step = auc(*sides, kinds), 1e-6

    def more(names: str, name: str) -> list[float]:
        return [1 + step * (one == name) for one in names]

    above = [weighted(*sides, kinds, more(clusters[0], name)) for name in "abcd"]
    below = [weighted(*sides, kinds, [1] * 8, more(clusters[1], name)) for name in "stuvw"]
    moved = [[len(side) * (one - value) / step for one in side] for side in (above, below)]
    found = auc_interval(*sides, *clusters, kinds=kinds, level=level)
    expected = skewed(value, moved, (0.0, 1.0), level)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-5)
    assert found.units == 4


@settings(deadline=None, max_examples=40)
@given(SIDE, SIDE)
def test_interval_holds_the_value_or_its_draws(
    positive: list[tuple[float, str]], negative: list[tuple[float, str]]
) -> None:
    sides = [[v for v, _ in s] for s in (positive, negative)]
    clusters = [[c for _, c in s] for s in (positive, negative)]
    found = auc_interval(*sides, *clusters)
    assert 0 <= found.low <= found.high <= 1
    assert found.units == min(len(set(c)) for c in clusters)
    turned = auc_interval(*([-v for v in side] for side in sides), *clusters)
    assert (turned.low, turned.high) == pytest.approx((1 - found.high, 1 - found.low))
    monotone = auc_interval(*([math.exp(v) + v for v in side] for side in sides), *clusters)
    assert monotone == found


KINDS = st.lists(st.tuples(st.integers(-4, 4).map(float), st.sampled_from("abcd"), st.sampled_from("xy")), min_size=1)


@settings(deadline=None, max_examples=60)
@given(KINDS, KINDS)
def test_pairs_of_one_kind_alone(
    positive: list[tuple[float, str, str]], negative: list[tuple[float, str, str]]
) -> None:
    """Pair by pair; and one kind is as none."""
    won = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for (a, _, kind), (b, _, other) in itertools.product(positive, negative)
        if kind == other
    ]
    (ours, above, kinds), (theirs, below, others) = zip(*positive, strict=True), zip(*negative, strict=True)
    expected = sum(won) / len(won) if won else math.nan
    assert auc(ours, theirs, (kinds, others)) == pytest.approx(expected, nan_ok=True)
    alike = ["x"] * len(ours), ["x"] * len(theirs)
    one, none = (auc_resamples(ours, theirs, above, below, 50, kinds=each) for each in (alike, None))
    np.testing.assert_array_equal(one, none)
    found = auc_resamples(ours, theirs, above, below, 50, kinds=(kinds, others))
    assert np.isnan(found).all() or (np.nanmin(found) >= 0 and np.nanmax(found) <= 1)


def test_kinds_are_drawn_with_their_clusters() -> None:
    """By hand: one cluster with both kinds, which no draw parts."""
    found = auc_resamples([3.0, 1.0], [2.0, 2.0], "aa", "bb", 10, kinds=("xy", "xy"))
    assert found.tolist() == [0.5] * 10
    assert auc_interval([3.0, 1.0], [2.0, 2.0], "aa", "bb", kinds=("xy", "zz")).units == 0


@pytest.mark.parametrize(("positive", "negative"), [(8, 8), (5, 30), (40, 10)])
def test_at_the_ends_the_bound_is_exact(positive: int, negative: int) -> None:
    sides = np.arange(positive) + 100.0, np.arange(negative) * 1.0
    found = auc_interval(*sides, range(positive), range(negative))
    units = min(positive, negative)
    assert found.high == 1
    assert found.low**units == pytest.approx(0.025)
    loose = auc_interval(*sides, range(positive), range(negative), level=0.8)
    assert loose.low**units == pytest.approx(0.1)
    other = auc_interval(-sides[0], -sides[1], range(positive), range(negative))
    assert (other.low, other.high) == pytest.approx((0, 1 - found.low))


def test_the_bound_holds_where_it_is_tight() -> None:
    """The worst case: holdout authors alike, each forgotten one above all of them with probability a, else below.

    The AUC is a, and looks perfect as often as a^m; whoever is told `at least the bound` is then wrong, and that may
    happen to one run in forty. An AUC above the bound would be wrong more often.
    """
    units, runs = 6, 20_000
    bound = auc_interval([1.0] * units, [0.0] * units, range(units), range(units)).low
    rng = np.random.default_rng(0)
    for chance, most in ((bound - 1e-9, 0.025), (0.9 * bound, 0.025)):
        sides = np.where(rng.random((runs, units)) < chance, 1.0, -1.0)
        perfect = sum(auc(side, [0.0] * units) == 1 for side in sides)
        assert perfect / runs <= most + 3 * math.sqrt(most / runs)
    generous = np.where(rng.random((runs, units)) < 1.1 * bound, 1.0, -1.0)
    assert (generous == 1).all(1).mean() > 0.03


def test_interval_covers_the_truth_of_clustered_scores() -> None:
    """Authors differ, facts of one author less so: about 95 of 100 intervals hold the true AUC; by facts far fewer."""
    rng = np.random.default_rng(3)
    truth, held, by_facts, runs = 0.7602, 0, 0, 600  # P(N(1, 1) > N(0, 1)) = Phi(1 / sqrt 2)
    for _ in range(runs):
        sides = [shift + np.repeat(rng.normal(0, 0.95, 20), 6) + rng.normal(0, 0.312, 120) for shift in (1.0, 0.0)]
        authors = np.repeat(np.arange(20), 6)
        found = auc_interval(*sides, authors, authors)
        alone = auc_interval(*sides, range(120), range(120))
        held += found.low <= truth <= found.high
        by_facts += alone.low <= truth <= alone.high
    assert 0.93 <= held / runs <= 0.98
    assert by_facts / runs < 0.8


def test_the_same_clusters_are_drawn_for_every_model() -> None:
    rng = np.random.default_rng(0)
    own, other = rng.normal(size=30), rng.normal(size=30)
    clusters = [f"author {i // 3}" for i in range(30)]
    one = auc_resamples(own, other, clusters, clusters, 500)
    order = rng.permutation(30)
    again = auc_resamples(own[order], other, [clusters[i] for i in order], clusters, 500)
    np.testing.assert_allclose(one, again, atol=1e-12)
    shifted = auc_resamples(own + 0.3, other, clusters, clusters, 500)
    assert (shifted >= one).all()
    assert np.corrcoef(one, shifted)[0, 1] > 0.9


def test_draws_are_their_seeds_and_no_memory() -> None:
    """Another process, which remembers none, must draw the same: a cache would hide draws without a seed."""
    first = [side.copy() for side in drawn((7, 9), 50, 3)]
    drawn.cache_clear()
    again, other = drawn((7, 9), 50, 3), drawn((7, 9), 50, 4)
    for one, same, unlike in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(one, same)
        assert (one != unlike).any()
        assert not same.flags.writeable


@pytest.mark.parametrize("sides", [([], [1.0]), ([1.0], []), ([math.nan], [1.0])])
def test_no_interval_of_nothing(sides: tuple[list[float], list[float]]) -> None:
    nothing(auc_interval(*sides, range(len(sides[0])), range(len(sides[1]))))


@pytest.mark.parametrize("clusters", [("ab", "s"), ("a", "st"), ("a", "s")])
def test_no_interval_of_facts_without_a_cluster(clusters: tuple[str, str]) -> None:
    nothing(auc_interval([1.0, 2.0], [0.0, 1.5], *clusters))


def nothing(found: Interval) -> None:
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.units == 0
    assert not found.decides
