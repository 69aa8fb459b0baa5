"""The exact AUC, its interval over clusters of both sides, and the cut between two pools."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uds_bench.statistics.intervals import LEVEL, RESAMPLES, SEED, Interval, skewed, zero_rate_bound

Kinds = tuple[Sequence[Any], Sequence[Any]]


def auc(positive: ArrayLike, negative: ArrayLike, kinds: Kinds | None = None) -> float:
    """Exact P(positive > negative) + P(tie)/2, over all pairs, or over pairs of one kind.

    Args:
        positive: Scores of the side that should lie above, [positives], any unit.
        negative: Scores of the other side, [negatives], the same unit.
        kinds: Of each side what each score is of; two of different kinds make no pair. None: all are of one.

    Returns:
        0 to 1; 1 where all positives lie above, 0.5 where scores say nothing. NaN where there is no pair or a score is
        not finite.

    Source: Lacuna, section 4.2; Mann and Whitney, 1947.

    Example:
        Of four pairs three are won and one is tied, (3 + 1/2) / 4; of the two of one kind both are won:

        >>> auc([2, 3], [1, 2]), auc([2, 3], [1, 2], ("ab", "ab"))
        (0.875, 1.0)
    """
    p, n = np.asarray(positive, dtype=float), np.asarray(negative, dtype=float)
    if not (np.isfinite(p).all() and np.isfinite(n).all()):
        return math.nan
    twice = pairs = 0
    for ours, theirs in _matched(p, n, kinds):
        ordered = np.sort(n[theirs])
        below, not_above = (np.searchsorted(ordered, p[ours], side) for side in ("left", "right"))
        # Integer sums and one division: the same value whatever the order.
        twice += int(below.sum()) + int(not_above.sum())
        pairs += below.size * ordered.size
    return twice / (2 * pairs) if pairs else math.nan


def auc_interval(
    positive: ArrayLike,
    negative: ArrayLike,
    positive_clusters: Sequence[Any],
    negative_clusters: Sequence[Any],
    *,
    kinds: Kinds | None = None,
    level: float = LEVEL,
) -> Interval:
    """Interval of `auc` over clusters of either side: `skewed`, of how far each cluster moves it.

    Where every pair is in the same order nothing moves it, and an exact bound takes its place. Take the m
    clusters of the smaller side and pair each with another of the larger one: these m pairs are independent, and
    were the AUC a, a fact of one drawn against a fact of the other would be in order with probability a. All m in
    order, so all the more all facts in order, then has a probability of at most a^m: an AUC below (alpha/2)^(1/m) is
    refuted. No closer bound holds whatever the scores are distributed like. With kinds it holds where every cluster
    has facts of every kind.

    Args:
        positive: Scores of the side that should lie above, [positives].
        negative: Scores of the other side, [negatives].
        positive_clusters: What each positive belongs to, [positives].
        negative_clusters: What each negative belongs to, [negatives].
        kinds: Of each side what each score is of; only two of one kind are compared.
        level: Share of intervals that are to hold the AUC, 0 to 1.

    Returns:
        Bounds within 0 to 1; `units` is m. NaN over none where there is no AUC or the clusters are of other facts.

    Source: DeLong et al., 1988, for what a unit moves.

    Example:
        >>> found = auc_interval([6, 7, 8, 9], [1, 2, 3, 4], "abcd", "efgh")
        >>> round(found.low, 4), found.high  # 0.025 ** (1 / 4)
        (0.3976, 1.0)
    """
    p, n = np.asarray(positive, dtype=float), np.asarray(negative, dtype=float)
    value = auc(p, n, kinds)
    if math.isnan(value) or p.size != len(positive_clusters) or n.size != len(negative_clusters):
        return Interval(math.nan, math.nan, "no finite values on both sides", 0)
    units = min(len({str(c) for c in clusters}) for clusters in (positive_clusters, negative_clusters))
    if value in (0.0, 1.0):
        reach = zero_rate_bound(units, level)
        low, high = (0.0, reach) if value == 0 else (1 - reach, 1.0)
        return Interval(low, high, "exact bound, every pair in the same order", units)
    wins, pairs = _wins(p, n, positive_clusters, negative_clusters, kinds)
    excess = (wins / 2 - value * pairs) / pairs.sum()
    return skewed(value, [excess.sum(axis) * excess.shape[1 - axis] for axis in (1, 0)], (0.0, 1.0), level)


def auc_resamples(
    positive: ArrayLike,
    negative: ArrayLike,
    positive_clusters: Sequence[Any],
    negative_clusters: Sequence[Any],
    resamples: int = RESAMPLES,
    seed: int = SEED,
    kinds: Kinds | None = None,
) -> NDArray[np.float64]:
    """The exact AUC of every resample, the clusters of each side drawn with replacement.

    The same clusters and seed give the same draws whatever the values: two models on the same facts are compared draw
    by draw. A cluster that stands on both sides is drawn apart on each.

    Args:
        positive: Scores of the side that should lie above, [positives].
        negative: Scores of the other side, [negatives].
        positive_clusters: What each positive belongs to, [positives].
        negative_clusters: What each negative belongs to, [negatives].
        resamples: How often clusters are drawn.
        seed: Of the draws.
        kinds: Of each side what each score is of; only two of one kind are compared.

    Returns:
        [resamples] AUCs, 0 to 1; NaN of a draw without a pair of one kind.

    Example:
        One cluster a side is drawn as it is, and leaves the AUC as it is:

        >>> auc_resamples([2, 3], [1, 2], "aa", "bb", resamples=3).tolist()
        [0.875, 0.875, 0.875]
    """
    wins, pairs = _wins(positive, negative, positive_clusters, negative_clusters, kinds)
    first, second = drawn(wins.shape, resamples, seed)
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = ((first @ wins) * second).sum(1) / (2 * ((first @ pairs) * second).sum(1))
    return found


@lru_cache(maxsize=8)
def drawn(units: tuple[int, ...], resamples: int, seed: int) -> list[NDArray[np.float64]]:
    """How often each unit of each side is drawn; the same arrays every time, to be read.

    Args:
        units: How many units each side has.
        resamples: How often they are drawn.
        seed: Of the draws, which the sides share.

    Returns:
        [resamples, units] counts a side; a row adds up to the side's units.

    Example:
        >>> [side.sum(1).tolist() for side in drawn((2, 3), 4, 0)]
        [[2.0, 2.0, 2.0, 2.0], [3.0, 3.0, 3.0, 3.0]]
    """
    rng = np.random.default_rng(seed)
    draws = [rng.multinomial(k, np.full(k, 1 / k), size=resamples).astype(float) for k in units]
    for side in draws:
        side.setflags(write=False)
    return draws


def _wins(
    positive: ArrayLike,
    negative: ArrayLike,
    positive_clusters: Sequence[Any],
    negative_clusters: Sequence[Any],
    kinds: Kinds | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Between each two clusters, twice the pairs that the positive side wins (a tie counts once), and all pairs."""
    p, n = np.asarray(positive, dtype=float), np.asarray(negative, dtype=float)
    _, above = np.unique([str(c) for c in positive_clusters], return_inverse=True)
    _, below = np.unique([str(c) for c in negative_clusters], return_inverse=True)
    wins, pairs = np.zeros((2, above.max() + 1, below.max() + 1))
    for ours, theirs in _matched(p, n, kinds):
        sizes = np.bincount(above[ours], minlength=len(wins)).astype(float)
        for cluster in np.unique(below[theirs]):
            ordered = np.sort(n[theirs & (below == cluster)])
            beaten = np.searchsorted(ordered, p[ours], "left") + np.searchsorted(ordered, p[ours], "right")
            wins[:, cluster] += np.bincount(above[ours], weights=beaten, minlength=len(wins))
            pairs[:, cluster] += sizes * ordered.size
    return wins, pairs


def _matched(
    positive: NDArray[np.float64], negative: NDArray[np.float64], kinds: Kinds | None
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Which scores of either side are of one kind, kind by kind."""
    if kinds is None:
        yield np.ones(positive.size, bool), np.ones(negative.size, bool)
        return
    ours, theirs = (np.array([str(one) for one in side]) for side in kinds)
    for kind in np.unique(ours):
        yield ours == kind, theirs == kind


def balanced_cut(low: ArrayLike, high: ArrayLike) -> float:
    """The cut with the best balanced accuracy between a pool that should lie below it and one that should not.

    Args:
        low: Values that should lie below, [models], any unit.
        high: Values that should lie at the cut or above, [others], the same unit.

    Returns:
        A number in the unit of the values: among equally good cuts, the middle of the widest gap. NaN where a pool is
        empty or not finite.

    Example:
        Any cut between 2 and 4 parts these pools; the middle of that gap is 3:

        >>> balanced_cut([1, 2], [4, 5])
        3.0
    """
    a, b = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    if not a.size or not b.size or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return math.nan
    points = np.unique(np.concatenate([a, b]))
    if points.size == 1:
        return float(points[0])
    cuts = (points[1:] + points[:-1]) / 2
    # Balanced accuracy in integers, so that rounding breaks no tie.
    quality = [
        (int((a < c).sum()) * b.size + int((b >= c).sum()) * a.size, gap)
        for c, gap in zip(cuts, np.diff(points), strict=True)
    ]
    return float(cuts[max(range(len(cuts)), key=lambda i: quality[i])])
