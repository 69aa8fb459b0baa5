"""Membership inference beside the retain model: the four s_* and PrivLeak.

A model that never saw the forget facts does not score 1/2, as the splits differ by themselves: the retain model's AUC
is the mark. All five are functions of the two AUCs, the candidate's A and the retain model's R.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uds_bench.errors import UdsError
from uds_bench.metrics import mia
from uds_bench.metrics.metric import FactValue, Measured, Metric, MetricSummary
from uds_bench.metrics.subject import Subject
from uds_bench.statistics import LEVEL, SEED, Interval, finite_or_none

Array = NDArray[np.float64]
Formula = Callable[[ArrayLike, ArrayLike], Array]


def similarity(own: ArrayLike, retain: ArrayLike) -> Array:
    """How near a model's membership AUC is to the retain model's: s = clip(1 - |A - R| / R, 0, 1).

    A model that is over-unlearned (A < R) loses as much as one that still knows. For R = 0 its limit: 1 where A is 0
    too, else 0.

    Args:
        own: A, the candidate's AUC, 0 to 1, any shape.
        retain: R, the retain model's, of that shape.

    Returns:
        0 to 1, higher is more erasure: 1 where A = R, 0 from A >= 2R on: saturated, the worst score, no defence.

    Source: UDS guide, section 4.2.

    Example:
        >>> similarity([0.5, 0.25, 1.0], 0.5).tolist()
        [1.0, 0.5, 0.0]
    """
    a, r = np.asarray(own, dtype=float), np.asarray(retain, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(a == r, 1.0, np.clip(1 - np.abs(a - r) / r, 0, 1))


def leak(own: ArrayLike, retain: ArrayLike) -> Array:
    """PrivLeak: 100 ((1 - A) - (1 - R)) / (1 - R), how far a model's membership AUC is from the retain model's.

    Args:
        own: A, the candidate's AUC, 0 to 1, any shape.
        retain: R, the retain model's, of that shape.

    Returns:
        Percent, at least -100 and without an upper limit; higher is more erasure: 0 is as the retain model, -100
        nothing forgotten, above 0 over-unlearned. Infinite for R = 1 and any other A.

    Source: Shi et al., 2025 (MUSE), section 3.

    Example:
        >>> leak([0.5, 0.75, 1.0, 0.25], 0.5).tolist()
        [0.0, -50.0, -100.0, 50.0]
    """
    a, r = np.asarray(own, dtype=float), np.asarray(retain, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(a == r, 0.0, 100 * (r - a) / (1 - r))


def compare(own: mia.SplitScores, retain: mia.SplitScores, formula: Formula) -> MetricSummary:
    """The formula of both models' AUCs, and its interval; both sides hold the same facts.

    Paired bootstrap: the same clusters are drawn for both models. Where either model has all pairs in one order, its
    share of the bootstrap has no width: there the formula's range over both AUCs' own intervals (97.5% each, so 95%
    together) takes its place.

    Args:
        own: The candidate's scores of both splits.
        retain: The retain model's of the same facts.
        formula: From both AUCs to a number: `similarity` or `leak`.

    Returns:
        The formula's value in its own unit and direction; no interval where an end is infinite, no value where it is.

    Source: UDS guide, section 4.2.

    Example:
        A = 3/4 beside R = 1/2 is off by half of R:

        >>> own = mia.SplitScores([2.0, 4.0], [1.0, 3.0], ["a", "b"], ["c", "d"])
        >>> retain = mia.SplitScores([2.0, 3.0], [1.0, 4.0], ["a", "b"], ["c", "d"])
        >>> compare(own, retain, similarity).value
        0.5
    """
    value = float(formula(own.auc, retain.auc))
    if not math.isfinite(value):
        return MetricSummary(None, None)
    units = min(len(set(own.forget_clusters)), len(set(own.holdout_clusters)))
    if own.auc in (0.0, 1.0) or retain.auc in (0.0, 1.0):
        level = 1 - (1 - LEVEL) / 2
        low, high = _range(formula, own.interval(level), retain.interval(level))
        method = "range over both models' AUC intervals"
    else:
        draws = formula(own.resamples, retain.resamples)
        # Ends that are draws themselves: one infinite draw must not spoil the others.
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
        method = f"paired percentile bootstrap over clusters of both sides, B={len(draws)}, seed {SEED}"
    finite = math.isfinite(low) and math.isfinite(high)
    return MetricSummary(value, Interval(float(low), float(high), method, units) if finite else None)


def _range(formula: Formula, own: Interval, retain: Interval) -> tuple[float, float]:
    """Both formulas are monotone in each AUC on either side of A = R: their extremes lie in corners or on that line."""
    points = [(a, r) for a in (own.low, own.high) for r in (retain.low, retain.high)]
    middle = max(own.low, retain.low)
    if middle <= min(own.high, retain.high):
        points.append((middle, middle))
    found = formula(*zip(*points, strict=True))
    return float(found.min()), float(found.max())


def _metric(name: str, inference: Metric, formula: Formula, limits: tuple[float, float], source: str) -> Metric:
    def compute(subject: Subject, variant: str) -> Measured:
        own = inference.compute(subject, variant)
        retain = {found.id: found for found in subject.retain_values(inference.name, variant)}
        values = [_beside(found, retain.get(found.id)) for found in own.values]
        if all(found.value is None for found in retain.values()):
            raise UdsError(f"{name} needs {inference.name} of the retain model, which has no value of any fact")
        clusters = mia.clusters_of(subject)
        sides = mia.SplitScores.of(values, clusters)
        yardstick = mia.SplitScores.of([retain[found.id] for found in values if found.value is not None], clusters)
        notes: dict[str, Any] = own.notes | {
            "auc": finite_or_none(sides.auc),
            "auc_retain": finite_or_none(yardstick.auc),
        }
        if math.isnan(sides.auc):
            return Measured(values, notes | {"undefined": "a split has no scored fact"}, MetricSummary(None, None))
        summary = compare(sides, yardstick, formula)
        if summary.value is None:
            notes["undefined"] = "the retain model's AUC is 1: what is left of it to leak is nothing"
        if formula is similarity:
            notes["saturated"] = sides.auc >= 2 * yardstick.auc
        return Measured(values, notes, summary)

    return Metric(
        name,
        "erasure",
        source,
        compute=compute,
        needs=frozenset({"retain", "holdout"}),
        variants=inference.variants,
        limits=limits,
        splits=mia.SPLITS,
        reads=(inference.name,),
    )


def _beside(own: FactValue, retain: FactValue | None) -> FactValue:
    """A fact counts where both models have a value."""
    if own.value is None or (retain is not None and retain.value is not None):
        return own
    reason = "no value" if retain is None else retain.reason
    return FactValue(own.id, None, f"retain model: {reason}", label=own.label)


_GUIDE = "UDS guide, section 4.2"
S_LOSS = _metric("s_loss", mia.MIA_LOSS, similarity, (0.0, 1.0), _GUIDE)
S_ZLIB = _metric("s_zlib", mia.MIA_ZLIB, similarity, (0.0, 1.0), _GUIDE)
S_MIN_K = _metric("s_min_k", mia.MIA_MIN_K, similarity, (0.0, 1.0), _GUIDE)
S_MIN_K_PLUS_PLUS = _metric("s_min_k_plus_plus", mia.MIA_MIN_K_PLUS_PLUS, similarity, (0.0, 1.0), _GUIDE)
PRIVLEAK = _metric("privleak", mia.MIA_MIN_K, leak, (-100.0, math.inf), "Shi et al. 2025 (MUSE), section 3")
METRICS = (S_LOSS, S_ZLIB, S_MIN_K, S_MIN_K_PLUS_PLUS, PRIVLEAK)
