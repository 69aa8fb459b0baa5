"""Intervals of means over people, exact where a bootstrap has no width; and McNemar's test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uds_bench.statistics.means import ROUNDING, ROUNDING_ERROR, finite_or_none

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 0
INTERVALS = f"percentile {LEVEL} {RESAMPLES} 1"
"""Names how intervals are made, for records that hold one; its last number rises when the code changes them."""
FEWEST = 5
"""Units below which a percentile bootstrap is far too narrow: a mean just short of its bound clears it several times as
often as is meant (`test_few_units_would_pass_too_often`)."""


@dataclass(frozen=True)
class Interval:
    """A two-sided interval: bounds, how it was made, and the number of units that were resampled or counted."""

    low: float
    high: float
    method: str
    units: int

    @property
    def width(self) -> float:
        """High minus low, in the unit of what it bounds."""
        return self.high - self.low

    @property
    def decides(self) -> bool:
        """Only an interval of finite, positive width over enough units may decide a claim."""
        return math.isfinite(self.low) and math.isfinite(self.high) and self.width > 0 and self.units >= FEWEST


@dataclass(frozen=True)
class Rate:
    """A mean and its interval; NaN, and an interval over no unit, where there is nothing."""

    value: float
    interval: Interval

    def less(self, by: float) -> Rate:
        """The same above another mark than 0.

        Args:
            by: What is taken off the value and both bounds, in their unit.

        Returns:
            A rate as wide as this one.

        Example:
            >>> Rate(0.75, Interval(0.5, 1.0, "by hand", 8)).less(0.25)
            Rate(value=0.5, interval=Interval(low=0.25, high=0.75, method='by hand', units=8))
        """
        interval = replace(self.interval, low=self.interval.low - by, high=self.interval.high - by)
        return Rate(self.value - by, interval)

    def to_json(self) -> dict[str, Any]:
        """Value, low, high and units; None for what is not finite."""
        numbers = {"value": self.value, "low": self.interval.low, "high": self.interval.high}
        return {key: finite_or_none(number) for key, number in numbers.items()} | {"units": self.interval.units}


def cluster_bootstrap(
    values: ArrayLike,
    clusters: Sequence[Any],
    *,
    limits: tuple[float, float] | None = None,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Percentile bootstrap interval of the mean over facts, resampling clusters (authors, subjects) with replacement.

    Where every value sits on one end of `limits` the bootstrap has no width and would decide anything; the exact bound
    for a mean in that range takes its place: were the mean further than 1 - (alpha/2)^(1/clusters) of the range away,
    so many clusters at the end would be less likely than alpha/2.

    Args:
        values: One number a fact, [facts].
        clusters: What each fact belongs to, [facts].
        limits: The metric's range; None for one without ends.
        level: Share of intervals that are to hold the mean, 0 to 1.
        resamples: How often clusters are drawn.
        seed: Of the draws.

    Returns:
        Bounds in the unit of the values, over as many units as there are clusters; NaN over none where there is no
        value, one is not finite, or the clusters are of other facts.

    Source: Efron, 1979; the bound by inverting the binomial test.

    Example:
        Of two clusters one draw in four holds the first alone, and one the second:

        >>> found = cluster_bootstrap([0.0, 0.0, 1.0], ["a", "a", "b"])
        >>> found.low, found.high, found.units
        (0.0, 1.0, 2)
        >>> round(cluster_bootstrap([0.0] * 10, range(10), limits=(0.0, 1.0)).high, 4)  # 1 - 0.025 ** 0.1
        0.3085
    """
    x = np.asarray(values, dtype=float)
    if x.size == 0 or x.size != len(clusters) or not np.isfinite(x).all():
        return Interval(math.nan, math.nan, "no finite values", 0)
    names, index = np.unique(np.asarray([str(c) for c in clusters]), return_inverse=True)
    units = len(names)
    if limits is not None and (bound := _at_limit(x, units, limits, level)) is not None:
        return bound
    sums, counts = np.bincount(index, weights=x), np.bincount(index)
    draws = _draws(units, resamples, seed)
    means = sums[draws].sum(1) / counts[draws].sum(1)
    if np.ptp(means) <= ROUNDING_ERROR * np.abs(x).max():
        means = np.full(1, x.mean())  # equal but for the order of summing: no spread
    return between_percentiles(means, f"percentile bootstrap over clusters, B={resamples}, seed {seed}", units, level)


def between_percentiles(draws: ArrayLike, method: str, units: int, level: float = LEVEL) -> Interval:
    """The interval that holds the middle of a statistic's resamples.

    Args:
        draws: [resamples], the statistic of each, finite.
        method: how they were drawn, in words.
        units: how many were drawn from.
        level: share of the resamples inside.

    Returns:
        The two percentiles, half of the rest below and half above.

    Example:
        >>> between_percentiles(range(101), "by hand", units=10, level=0.5)
        Interval(low=25.0, high=75.0, method='by hand', units=10)
    """
    low, high = np.quantile(np.asarray(draws, dtype=float), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), method, units)


@lru_cache(maxsize=1)
def _draws(units: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """[resamples, units] places; one draw is kept, as many intervals in a row are over the same units."""
    return np.random.default_rng(seed).integers(0, units, size=(resamples, units))


def _at_limit(x: NDArray[np.float64], units: int, limits: tuple[float, float], level: float) -> Interval | None:
    low, high = limits
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return None
    reach = (high - low) * zero_rate_bound(units, level)
    noise = ROUNDING * (high - low)
    method = "exact bound, every value at the end of its range"
    if (x <= low + noise).all():
        return Interval(low, low + reach, method, units)
    if (x >= high - noise).all():
        return Interval(high - reach, high, method, units)
    return None


def paired_bootstrap(values: Sequence[float], clusters: Sequence[Any]) -> Interval:
    """Cluster bootstrap of the mean of differences in [-1, 1].

    Where nothing differs it has no width; the exact bound takes its place: were the share of clusters that differ above
    1 - (alpha/2)^(1/clusters), so many without one would be less likely than alpha/2.

    Args:
        values: One difference a fact, [facts], second model less first.
        clusters: What each fact belongs to, [facts].

    Returns:
        Bounds of the mean difference, -1 to 1 at `LEVEL`; above 0 is more of the second. NaN without a finite value.

    Example:
        >>> found = paired_bootstrap([0.0] * 10, range(10))
        >>> round(found.low, 4), round(found.high, 4)
        (-0.3085, 0.3085)
    """
    if len(values) and all(value == 0 for value in values):
        units = len(set(clusters))
        return Interval(-zero_rate_bound(units), zero_rate_bound(units), "exact bound, nothing differs", units)
    return cluster_bootstrap(values, clusters, limits=(-1.0, 1.0))


def apart_bootstrap(first: Sequence[tuple[Any, float]], second: Sequence[tuple[Any, float]]) -> Interval:
    """Interval of mean(first) - mean(second), each a list of (cluster, value), whose clusters are drawn apart.

    A cluster that stands on both sides is drawn as two, which widens the interval where both rise and fall with it.

    Args:
        first: Cluster and value of each fact of one side, [facts].
        second: The same of the other side, [others].

    Returns:
        Bounds in the unit of the values; above 0 is more on the first side; `units` of the side with fewer clusters.
        NaN over none where a side is empty.

    Example:
        >>> found = apart_bootstrap([("a", 0.75), ("b", 0.75)], [("c", 0.25)])
        >>> found.low, found.high, found.units
        (0.5, 0.5, 1)
    """
    if not first or not second:
        return Interval(math.nan, math.nan, "nothing on one side", 0)
    rng, means, units = np.random.default_rng(SEED), [], []
    for side in (first, second):
        places = {cluster: at for at, cluster in enumerate(dict.fromkeys(cluster for cluster, _ in side))}
        index = np.array([places[cluster] for cluster, _ in side])
        sums, counts = np.bincount(index, weights=np.array([value for _, value in side])), np.bincount(index)
        drawn = rng.integers(0, len(places), size=(RESAMPLES, len(places)))
        means.append(sums[drawn].sum(1) / counts[drawn].sum(1))
        units.append(len(places))
    method = f"percentile bootstrap, sides apart, B={RESAMPLES}, seed {SEED}"
    return between_percentiles(means[0] - means[1], method, min(units))


def zero_rate_bound(units: int, level: float = LEVEL) -> float:
    """The upper limit of a rate that none of so many independent units shows: 1 - (alpha/2)^(1/units).

    Args:
        units: How many were looked at.
        level: Share of intervals that are to hold the rate, 0 to 1; alpha is 1 - level.

    Returns:
        A share, 0 to 1, lower the more were looked at; 1 of none.

    Source: Clopper and Pearson, 1934, for no success.

    Example:
        >>> zero_rate_bound(1), zero_rate_bound(0)  # one unit: 1 - 0.025
        (0.975, 1.0)
    """
    return 1 - ((1 - level) / 2) ** (1 / units) if units else 1.0


EXACT_UP_TO = 25
"""Discordant pairs up to which McNemar's test is exact (LMLM audit, appendix D.1)."""


def mcnemar(b: int, c: int) -> tuple[str, float | None, float]:
    """McNemar's test of paired outcomes from their discordant counts: which test, its statistic and its p-value.

    Exact two-sided binomial up to `EXACT_UP_TO` discordant pairs, else chi-squared with continuity correction.

    Args:
        b: Pairs in which the first outcome alone holds.
        c: Pairs in which the second alone does.

    Returns:
        The test's name; its statistic, 0 and above, None of the exact test; its p-value, 0 to 1, lower is more
        evidence that the two differ, 1 without a discordant pair.

    Raises:
        ValueError: A count is negative.

    Source: LMLM audit, appendix D.1.

    Example:
        >>> mcnemar(4, 0)  # 2 * 0.5 ** 4
        ('exact binomial', None, 0.125)
        >>> mcnemar(30, 10)[1]  # (20 - 1) ** 2 / 40
        9.025
    """
    from scipy.stats import binomtest, chi2

    if b < 0 or c < 0:
        raise ValueError(f"mcnemar: counts are {b} and {c}; they must not be negative")
    if b + c > EXACT_UP_TO:
        statistic = max(0, abs(b - c) - 1) ** 2 / (b + c)
        return "chi-squared, continuity corrected", statistic, float(chi2.sf(statistic, 1))
    return "exact binomial", None, 1.0 if b + c == 0 else float(binomtest(b, b + c).pvalue)
