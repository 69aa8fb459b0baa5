"""The proxy test: does a metric, read before an attack, tell how much knowledge comes back under it?

UDS guide, section 6.2, claims that UDS does ("the most reliable predictor") from its aggregate robustness alone. That
does not follow, as robustness says that a metric is stable, so the correlation itself is measured here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from uds_bench.audits.metrics.estimate import Estimate
from uds_bench.audits.metrics.faithfulness import require_knowledge
from uds_bench.metrics.metric import Direction
from uds_bench.statistics import RESAMPLES, SEED, Interval, between_percentiles


def proxy(metric: Mapping[str, float], comeback: Mapping[str, float], direction: Direction) -> Estimate:
    """Spearman's rank correlation over models of remaining knowledge by the metric with knowledge regained.

    Models that still know in plain sight have nothing to regain: leave them out first (see `filters`).

    Args:
        metric: By model, its raw value before the attack; an erasure metric is turned round.
        comeback: By model, knowledge regained: an output's value under the attack less that before it.
        direction: What a higher value of the metric means.

    Returns:
        -1 to 1: +1 is always a perfect warning. NaN where one side is constant or not finite. Interval: percentile
        bootstrap over models.

    Raises:
        KeyError: A model lacks one of the two.
        ValueError: A metric of utility.

    Source: UDS guide, section 6.2.

    Example:
        >>> came_back = {"a": 0.1, "b": 0.2, "c": 0.9}
        >>> round(proxy({"a": 1.0, "b": 2.0, "c": 3.0}, came_back, "knowledge").value, 9)
        1.0
        >>> round(proxy({"a": 1.0, "b": 2.0, "c": 3.0}, came_back, "erasure").value, 9)
        -1.0
    """
    require_knowledge(direction)
    sign = 1.0 if direction == "knowledge" else -1.0
    x = np.array([sign * value for value in metric.values()])
    y = np.array([comeback[name] for name in metric])
    return Estimate(_spearman(x[None], y[None])[0].item() if x.size else math.nan, lambda level: _interval(x, y, level))


def _interval(x: NDArray[np.float64], y: NDArray[np.float64], level: float) -> Interval:
    if x.size < 2 or math.isnan(_spearman(x[None], y[None])[0]):
        return Interval(math.nan, math.nan, "one side is constant, missing or not finite", 0)
    draws = np.random.default_rng(SEED).integers(0, x.size, size=(RESAMPLES, x.size))
    # A resample in which one side is constant shows no relation: 0, which never helps a claim that there is one.
    found = np.nan_to_num(_spearman(x[draws], y[draws]), nan=0.0)
    method = f"percentile bootstrap over models, B={RESAMPLES}, seed {SEED}"
    return between_percentiles(found, method, int(x.size), level)


def _spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Per row, the correlation of mid-ranks; NaN for a row that is constant or not finite."""
    a, b = (rankdata(v, axis=1) - (v.shape[1] + 1) / 2 for v in (x, y))
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
    found[~(np.isfinite(x).all(1) & np.isfinite(y).all(1))] = np.nan
    return np.clip(found, -1, 1)
