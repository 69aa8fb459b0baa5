"""Intervals of means over people, exact where everybody is at an end; and McNemar's test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uds_bench.statistics.means import ROUNDING, ROUNDING_ERROR, finite_or_none

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 0
INTERVALS = f"skewness-corrected {LEVEL}, percentile {RESAMPLES} 3"
"""Names how intervals are made, for records that hold one; its last number rises when the code changes them."""
FEWEST = 5
"""Units below which spread and skewness are hardly estimated, and an interval decides nothing."""


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

    def minus(self, by: float) -> Rate:
        """The same above another mark than 0.

        Args:
            by: What is taken off the value and both bounds, in their unit.

        Returns:
            A rate as wide as this one.

        Example:
            >>> Rate(0.75, Interval(0.5, 1.0, "by hand", 8)).minus(0.25)
            Rate(value=0.5, interval=Interval(low=0.25, high=0.75, method='by hand', units=8))
        """
        interval = replace(self.interval, low=self.interval.low - by, high=self.interval.high - by)
        return Rate(self.value - by, interval)

    def over(self, whole: float) -> Rate:
        """The same as a share of something.

        Args:
            whole: Of which it is one, above 0, in its unit.

        Returns:
            A rate over as many units; NaN where the whole is.

        Example:
            >>> Rate(0.25, Interval(0.125, 0.5, "by hand", 8)).over(0.5)
            Rate(value=0.5, interval=Interval(low=0.25, high=1.0, method='by hand', units=8))
        """
        low, high = self.interval.low / whole, self.interval.high / whole
        return Rate(self.value / whole, replace(self.interval, low=low, high=high))

    def to_json(self) -> dict[str, Any]:
        """Value, low, high and units; None for what is not finite."""
        numbers = {"value": self.value, "low": self.interval.low, "high": self.interval.high}
        return {key: finite_or_none(number) for key, number in numbers.items()} | {"units": self.interval.units}


def cluster_interval(
    values: ArrayLike, clusters: Sequence[Any], *, limits: tuple[float, float] | None = None, level: float = LEVEL
) -> Interval:
    """Interval of the mean over facts, whose units are clusters (authors, subjects).

    `skewed`, and in a range no wider than what most clusters at one place of it show by their number alone, whether
    that is an end of the range or, of differences, 0: where all are there, by that alone.

    Args:
        values: One number a fact, [facts].
        clusters: What each fact belongs to, [facts].
        limits: The metric's range; None for one without ends.
        level: Share of intervals that are to hold the mean, 0 to 1.

    Returns:
        Bounds in the unit of the values, over as many units as there are clusters; NaN over none where there is no
        value, one is not finite or out of its range, or the clusters are of other facts.

    Example:
        >>> found = cluster_interval([0.2, 0.4, 0.3, 0.5, 0.4, 0.6], "aabbcc", limits=(0.0, 1.0))
        >>> round(found.low, 4), round(found.high, 4), found.units  # .4 and 4.303 standard errors
        (0.1516, 0.6484, 3)
        >>> round(cluster_interval([0.0] * 10, range(10), limits=(0.0, 1.0)).high, 4)  # 1 - 0.025 ** 0.1
        0.3085
    """
    x = np.asarray(values, dtype=float)
    if x.size == 0 or x.size != len(clusters) or not np.isfinite(x).all():
        return Interval(math.nan, math.nan, "no finite values", 0)
    if limits is not None and (x.min() < limits[0] - ROUNDING or x.max() > limits[1] + ROUNDING):
        return Interval(math.nan, math.nan, f"values beyond {limits[0]:g} to {limits[1]:g}", 0)
    sums, counts = _by_cluster(x, clusters)
    found = skewed(float(sums.sum() / counts.sum()), [_influence(sums, counts)], limits, level)
    return found if limits is None else _bounded(found, sums, counts, limits, level)


def skewed(
    value: float, sides: Sequence[ArrayLike], limits: tuple[float, float] | None = None, level: float = LEVEL
) -> Interval:
    """The t interval of an estimate that adds up over independent units, corrected for their skewness.

    Near an end of a range values are skewed, and an interval that is alike on both sides, or a percentile bootstrap,
    ends short of the truth on the long side. A difference has its symmetric end where that lies further: a few that all
    differ one way by chance look skewed, and are not clear of 0.

    Args:
        value: The estimate.
        sides: How far each unit would move it, about 0, by independent sample, each [units]: for a mean, the value less
            the mean.
        limits: Range of the estimate; None for one without ends.
        level: Share of intervals that are to hold what is estimated, 0 to 1.

    Returns:
        Bounds in the unit of the value, over the units of the smallest sample; without width where units are alike.

    Source: Hall, 1992, "On the removal of skewness by transformation"; Zhou and Dinh, 2005, for two samples; degrees of
    freedom after Welch, 1947.

    Example:
        The far end lies where the long tail is:

        >>> found = skewed(1.0, [[-0.5] * 8 + [4.0]], limits=(0.0, 9.0))
        >>> round(found.low, 2), round(found.high, 2)
        (0.26, 4.65)
    """
    parts = [np.asarray(side, dtype=float) for side in sides]
    units = min(part.size for part in parts)
    method = "skewness-corrected t interval over clusters"
    shares = [(part**2).sum() / (part.size - 1) / part.size if part.size > 1 else 0.0 for part in parts]
    error = math.sqrt(sum(shares))
    if error <= ROUNDING_ERROR * max(1.0, abs(value)):
        return Interval(value, value, method, units)
    freedom = sum(shares) ** 2 / sum(s**2 / (p.size - 1) for s, p in zip(shares, parts, strict=True) if s)
    spread = sum((part**2).mean() / part.size for part in parts) ** 1.5
    skew = sum((part**3).mean() / part.size**2 for part in parts) / spread
    from scipy.special import stdtrit

    reach = float(stdtrit(freedom, (1 + level) / 2))
    low, high = (float(value - error * _unskewed(end, skew)) for end in (reach, -reach))
    if limits is None or limits[0] < 0:
        low, high = min(low, value - error * reach), max(high, value + error * reach)
    if limits is not None:
        low, high = max(low, limits[0]), min(high, limits[1])
    return Interval(low, high, method, units)


def _unskewed(t: float, skew: float) -> float:
    """The studentized estimate of which Hall's monotone cubic transformation makes `t`."""
    if abs(skew) < 1e-6:
        return t - skew / 6
    return float(3 / skew * (np.cbrt(1 + skew * (t - skew / 6)) - 1))


def _by_cluster(x: NDArray[np.float64], clusters: Sequence[Any]) -> NDArray[np.float64]:
    """Sum and number of the facts of each cluster, [2, clusters]."""
    _, index = np.unique(np.asarray([str(c) for c in clusters]), return_inverse=True)
    return np.stack([np.bincount(index, weights=x), np.bincount(index)]).astype(np.float64)


def _influence(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each cluster moves the mean over facts, times the clusters: exact where all are of one size."""
    return np.asarray((sums - sums.sum() / counts.sum() * counts) / counts.mean())


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


def _bounded(
    found: Interval,
    sums: NDArray[np.float64],
    counts: NDArray[np.float64],
    limits: tuple[float, float],
    level: float,
) -> Interval:
    """No wider than Stringer's bounds from the ends of the range and, of differences, from 0."""
    places = [limits[0], *([0.0] if limits[0] < 0 < limits[1] else []), limits[1]]
    if not (np.isfinite(limits).all() and limits[0] < limits[1]):
        return found
    above = min(at + _stringer(sums - at * counts, counts, limits[1] - at, level) for at in places[:-1])
    below = max(at - _stringer(at * counts - sums, counts, at - limits[0], level) for at in places[1:])
    if found.width > 0:
        return replace(found, low=max(found.low, below), high=min(found.high, above))
    noise = ROUNDING * (limits[1] - limits[0])
    if min(abs(found.low - at) for at in places) > noise:
        return found
    method = "exact bound, every cluster at one place of its range"
    return Interval(max(below, limits[0]), min(above, limits[1]), method, found.units)


def _stringer(sums: NDArray[np.float64], counts: NDArray[np.float64], reach: float, level: float) -> float:
    """Stringer's upper bound of a mean to which each fact adds at most `reach`.

    Of shares that are all 0 or 1 it is Clopper and Pearson's; a cluster that adds a part moves it by that part.

    Source: Stringer, 1963; Bickel, 1992, for its coverage.
    """
    from scipy.special import betaincinv

    scale = counts.max() / counts.mean()
    shares = np.sort(np.clip(sums / (reach * counts.max()), 0, 1))[::-1]
    shares = shares[: np.count_nonzero(shares > ROUNDING)]
    ranks = np.arange(min(shares.size + 1, counts.size))
    bounds = np.append(
        betaincinv(ranks + 1, counts.size - ranks, (1 + level) / 2), np.ones(shares.size + 1 - ranks.size)
    )
    return float(reach * scale * (bounds[0] + (np.diff(bounds) * shares).sum()))


def paired_interval(values: Sequence[float], clusters: Sequence[Any]) -> Interval:
    """Interval of the mean of differences in [-1, 1].

    Args:
        values: One difference a fact, [facts], second model less first.
        clusters: What each fact belongs to, [facts].

    Returns:
        Bounds of the mean difference, -1 to 1 at `LEVEL`; above 0 is more of the second. NaN without a finite value.

    Example:
        >>> found = paired_interval([0.0] * 10, range(10))
        >>> round(found.low, 4), round(found.high, 4)
        (-0.3085, 0.3085)
    """
    return cluster_interval(values, clusters, limits=(-1.0, 1.0))


def difference_interval(
    first: Sequence[tuple[Any, float]],
    second: Sequence[tuple[Any, float]],
    limits: tuple[float, float] | None = None,
) -> Interval:
    """Interval of mean(first) - mean(second), each a list of (cluster, value), whose clusters are independent.

    Each side's own interval says how far it may be off: a side whose people are all alike is not certain for that. A
    cluster that stands on both sides counts as two, which widens the interval where both rise and fall with it.

    Args:
        first: Cluster and value of each fact of one side, [facts].
        second: The same of the other side, [others].
        limits: Range of the values; None for values without ends.

    Returns:
        Bounds in the unit of the values; above 0 is more on the first side; `units` of the side with fewer clusters.
        NaN over none where a side is empty.

    Source: Newcombe, 1998, method 10, of proportions; Zou and Donner, 2008, of any two estimates.

    Example:
        Of ten who tell and ten who do not, each side may be 1 - 0.025 ** 0.1 off:

        >>> found = difference_interval([(at, 1.0) for at in range(10)], [(at, 0.0) for at in range(10)], (0.0, 1.0))
        >>> round(found.low, 4), found.high, found.units  # 1 - sqrt(2) * 0.3085
        (0.5637, 1.0, 10)
    """
    if not first or not second:
        return Interval(math.nan, math.nan, "nothing on one side", 0)
    values = [[value for _, value in side] for side in (first, second)]
    sides = first, second
    one, other = (cluster_interval(v, [c for c, _ in s], limits=limits) for v, s in zip(values, sides, strict=True))
    high_mean, low_mean = (float(np.mean(side)) for side in values)
    low = math.hypot(high_mean - one.low, other.high - low_mean)
    high = math.hypot(one.high - high_mean, low_mean - other.low)
    difference = high_mean - low_mean
    method = "from each side's own interval (Newcombe; Zou and Donner)"
    return Interval(difference - low, difference + high, method, min(one.units, other.units))


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
