"""Forget quality: can the candidate's truth ratios be told from those of a model that never saw the facts?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from uds_bench.errors import UdsError
from uds_bench.metrics import truth_ratio
from uds_bench.metrics.metric import FactValue, Measured, Metric, MetricSummary
from uds_bench.metrics.resampling import cluster_draws, percentile_interval
from uds_bench.metrics.subject import Subject
from uds_bench.statistics import Interval

Array = NDArray[np.float64]


def ks_pvalue(distance: float, n: int) -> float:
    """Exact two-sided p-value of the two-sample Kolmogorov-Smirnov distance between samples of n values each.

    Of the C(2n, n) orders in which two samples of one continuous distribution can mix, the share whose distribution
    functions are at least so far apart, by the reflection principle.

    Args:
        distance: Largest difference of the two distribution functions, 0 to 1.
        n: Values of each sample.

    Returns:
        (0, 1]; 1 for distance 0, lower is more evidence that they differ.

    Source: Gnedenko and Korolyuk, 1951.

    Example:
        Of the C(4, 2) = 6 orders of two and two values, two part the samples wholly:

        >>> round(ks_pvalue(1.0, 2), 4), ks_pvalue(0.0, 2)
        (0.3333, 1.0)
    """
    steps = math.ceil(distance * n - 1e-9)
    if steps <= 0:
        return 1.0
    orders = [math.comb(2 * n, n - k * steps) for k in range(1, n // steps + 1)]
    return min(1.0, 2 * (sum(orders[::2]) - sum(orders[1::2])) / math.comb(2 * n, n))


def forget_quality(own: Sequence[float], retain: Sequence[float], clusters: Sequence[str]) -> MetricSummary:
    """p-value of the KS test between the two models' truth ratios of the same facts.

    A p-value estimates nothing, so it has no confidence interval: it shrinks with more facts, and a large one is a lack
    of evidence, not evidence of forgetting. What the interval here holds is the p-value of as many facts at the ends of
    the KS DISTANCE's interval (paired bootstrap over authors): how far the verdict hangs on which authors were asked.

    Args:
        own: The candidate's truth ratios, [facts].
        retain: The retain model's of the same facts, [facts].
        clusters: The author of each fact, [facts].

    Returns:
        A p-value in (0, 1], higher is more erasure: 1 is the same distribution, near 0 is told apart.

    Source: TOFU (Maini et al., 2024), forget quality.

    Example:
        Wholly parted samples of two have the p-value 2 / 6:

        >>> found = forget_quality([0.1, 0.2], [0.8, 0.9], ["a", "b"])
        >>> round(found.value, 4), forget_quality([0.1, 0.2], [0.1, 0.2], ["a", "b"]).value
        (0.3333, 1.0)
    """
    drawn, cluster = cluster_draws(clusters)
    apart, sizes = _steps_below(own, retain, cluster)
    n = len(own)
    distances = np.abs(drawn @ apart).max(1) / (drawn @ sizes)
    ends = percentile_interval(distances, len(sizes))
    value, low, high = (ks_pvalue(d, n) for d in (float(np.abs(apart.sum(0)).max()) / n, ends.high, ends.low))
    return MetricSummary(value, Interval(low, high, f"{ends.method}, of the KS distance, read as p-values", ends.units))


def _steps_below(own: Sequence[float], retain: Sequence[float], cluster: NDArray[np.intp]) -> tuple[Array, Array]:
    """[clusters, values met]: facts at or below it, the candidate's less the retain model's; and facts per cluster."""
    x, y = np.asarray(own, dtype=float), np.asarray(retain, dtype=float)
    met = np.unique(np.concatenate([x, y]))
    sizes = np.bincount(cluster).astype(float)
    summed = np.zeros((len(sizes), len(met)))
    np.add.at(summed, cluster, (x[:, None] <= met).astype(float) - (y[:, None] <= met))
    return summed, sizes


def _compute(subject: Subject, variant: str) -> Measured:
    own = truth_ratio.METRIC.compute(subject, variant)
    retain = {found.id: found.value for found in subject.retain_values("truth_ratio", variant)}
    if all(value is None for value in retain.values()):
        raise UdsError("forget_quality needs truth_ratio of the retain model, which has no value of any fact")
    values = [v if v.value is None else _beside(v, retain.get(v.id)) for v in own.values]
    clusters = {fact.id: fact.cluster for fact in subject.facts}
    rows = [(v.value, r, clusters[v.id]) for v in values if v.value is not None and (r := retain[v.id]) is not None]
    if not rows:
        return Measured(values, own.notes | {"undefined": "no fact has a truth ratio"}, MetricSummary(None, None))
    mine, theirs, authors = zip(*rows, strict=True)
    return Measured(values, own.notes | {"facts": len(rows)}, forget_quality(mine, theirs, authors))


def _beside(own: FactValue, retain: float | None) -> FactValue:
    return own if retain is not None else FactValue(own.id, None, "retain model: no value")


# The test sees order only: the same on P_wrong / P_correct itself, of which prob_mean is a monotone function.
METRIC = Metric(
    "forget_quality",
    "erasure",
    "TOFU, section 3.3",
    compute=_compute,
    needs=frozenset({"retain"}),
    variants=("prob_mean",),
    reads=("truth_ratio",),
)
