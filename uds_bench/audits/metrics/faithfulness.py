"""Faithfulness of a metric: does it tell models that know (P) from models that never knew (N)?

UDS guide, section 4.1 and figure 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from uds_bench.audits.metrics.estimate import Estimate
from uds_bench.metrics.metric import Direction
from uds_bench.statistics import FEWEST, LEVEL, Interval, auc, auc_interval, balanced_cut

BINS = 20


@dataclass(frozen=True)
class Faithfulness:
    """`auc`: P(a knowing model is told from one that never knew), ties half. `cut`: the raw value with the best
    balanced accuracy between the pools, and that accuracy. `positive`, `negative`: the pools' raw values."""

    auc: Estimate
    cut: float
    balanced_accuracy: float
    positive: tuple[float, ...]
    negative: tuple[float, ...]
    direction: Direction


def faithfulness(positive: Sequence[float], negative: Sequence[float], direction: Direction) -> Faithfulness:
    """AUC and cut between the pools under the metric's declared direction.

    A metric of the wrong sign has an AUC below one half: the sign is never chosen by the data.

    Args:
        positive: Raw values of models that know, [models].
        negative: Raw values of models that never knew, [models].
        direction: What a higher value means.

    Returns:
        AUC and balanced accuracy of 0 to 1, higher is better; the cut in the metric's unit. All NaN for a pool that is
        empty or not finite.

    Raises:
        ValueError: A metric of utility, which says nothing of what a model knows.

    Source: UDS guide, section 4.1.

    Example:
        >>> found = faithfulness([3.0, 4.0], [1.0, 2.0], "knowledge")
        >>> found.auc.value, found.cut, found.balanced_accuracy
        (1.0, 2.5, 1.0)
        >>> faithfulness([3.0, 4.0], [1.0, 2.0], "erasure").auc.value
        0.0
    """
    above, below = _sides(positive, negative, direction)
    cut = balanced_cut(below, above)
    right = [not knows_not(v, cut, direction) for v in positive], [knows_not(v, cut, direction) for v in negative]
    accuracy = math.nan if math.isnan(cut) else sum(sum(side) / len(side) for side in right) / 2
    separation = Estimate(auc(above, below), lambda level: separation_interval(above, below, level))
    return Faithfulness(separation, cut, accuracy, tuple(positive), tuple(negative), direction)


def knows_not(value: float, cut: float, direction: Direction) -> bool:
    """Whether a raw value lies on the side of the cut where models never knew. False for NaN.

    Example:
        >>> knows_not(0.25, 0.5, "knowledge"), knows_not(0.25, 0.5, "erasure")
        (True, False)
    """
    require_knowledge(direction)
    return value < cut if direction == "knowledge" else value >= cut


def require_knowledge(direction: Direction) -> None:
    """Nothing, for a metric that says what a model knows.

    Raises:
        ValueError: It is a metric of utility.
    """
    if direction == "utility":
        raise ValueError("a metric of utility says nothing of what a model knows: give one of knowledge or erasure")


def separation_interval(above: Sequence[float], below: Sequence[float], level: float) -> Interval:
    """Interval of an AUC over models, `units` being the size m of the smaller pool (see `auc_interval`).

    Even a perfect separation shows no more than AUC >= (alpha/2)^(1/m), and one with a pair in the wrong order is no
    better evidence: its interval never reaches beyond that. The same from below.

    Args:
        above: Values of the pool that should lie above, [models].
        below: Values of the other, [models].
        level: Share of intervals that are to hold the AUC, 0 to 1.

    Returns:
        Bounds within 0 to 1; NaN over none where there is no AUC.

    Example:
        >>> found = separation_interval([3.0, 4.0], [1.0, 2.0], 0.95)
        >>> round(found.low, 4), found.high  # 0.025 ** (1 / 2)
        (0.1581, 1.0)
    """
    found = auc_interval(above, below, range(len(above)), range(len(below)), level=level)
    if found.units == 0:
        return found
    perfect = float(((1 - level) / 2) ** (1 / found.units))
    return replace(found, low=min(found.low, perfect), high=max(found.high, 1 - perfect))


def fewest_models(bound: float) -> int:
    """Models a side below which not even a perfect separation clears a bound, by the rule of `separation_interval`.

    It has no way round: one side of which a share 1 - a is of the other one has AUC a, and m models of it are told
    apart without fault with probability a^m, whatever is computed from them.

    Args:
        bound: What the AUC is held against, above 0 and below 1.

    Returns:
        A count, `FEWEST` and above.

    Example:
        >>> fewest_models(0.9), fewest_models(0.5)  # 0.025 ** (1 / 36) = 0.903, 0.025 ** (1 / 6) = 0.541
        (36, 6)
    """
    return max(FEWEST, math.ceil(math.log((1 - LEVEL) / 2) / math.log(bound)))


@dataclass(frozen=True)
class Histogram:
    """Counts of both pools between common edges; the last bin holds its right edge."""

    edges: tuple[float, ...]
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    cut: float


def histogram(found: Faithfulness, bins: int = BINS) -> Histogram:
    """Figure 2's data for one metric: how many models of either pool lie between common edges.

    Args:
        found: The pools' raw values.
        bins: How many there are.

    Returns:
        Edges in the metric's unit, [bins + 1], and counts, [bins].

    Raises:
        ValueError: Pools are empty or not finite.

    Source: UDS guide, figure 2.

    Example:
        >>> found = histogram(faithfulness([3.0, 4.0], [0.0, 1.0], "knowledge"), bins=2)
        >>> found.edges, found.positive, found.negative
        ((0.0, 2.0, 4.0), (0, 2), (2, 0))
    """
    both = np.array([*found.positive, *found.negative], dtype=float)
    if not both.size or not np.isfinite(both).all():
        raise ValueError("a histogram needs pools of finite values")
    edges = np.histogram_bin_edges(both, bins)
    counts = [tuple(int(c) for c in np.histogram(pool, edges)[0]) for pool in (found.positive, found.negative)]
    return Histogram(tuple(float(e) for e in edges), counts[0], counts[1], found.cut)


def _sides(
    positive: Sequence[float], negative: Sequence[float], direction: Direction
) -> tuple[Sequence[float], Sequence[float]]:
    require_knowledge(direction)
    return (positive, negative) if direction == "knowledge" else (negative, positive)
