"""Intervals of values that are no mean over facts: the value is computed again for each resample of clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from uds_bench.statistics import RESAMPLES, SEED, Interval, between_percentiles, drawn

Array = NDArray[np.float64]


def cluster_draws(clusters: Sequence[str], resamples: int = RESAMPLES) -> tuple[Array, NDArray[np.intp]]:
    """How often each cluster is drawn, and which one each fact belongs to; the same for every model on the same facts.

    Args:
        clusters: What each fact belongs to, [facts].
        resamples: How often clusters are drawn.

    Returns:
        Counts, [resamples, clusters], whose rows add up to the number of clusters; and places in them, [facts], in the
        order of the clusters' names.

    Example:
        >>> counts, places = cluster_draws(["b", "a", "b"], resamples=3)
        >>> counts.sum(1).tolist(), places.tolist()
        ([2.0, 2.0, 2.0], [1, 0, 1])
    """
    return side_draws([clusters], resamples)[0]


def side_draws(sides: Sequence[Sequence[str]], resamples: int = RESAMPLES) -> list[tuple[Array, NDArray[np.intp]]]:
    """As `cluster_draws`, of several sets of facts whose clusters are drawn apart.

    Args:
        sides: What each fact of each set belongs to, [sets][facts].
        resamples: How often clusters are drawn.

    Returns:
        Counts and places a set.

    Example:
        >>> [(counts.shape, places.tolist()) for counts, places in side_draws([["a"], ["b", "c"]], resamples=3)]
        [((3, 1), [0]), ((3, 2), [0, 1])]
    """
    named = [np.unique(np.asarray(clusters), return_inverse=True) for clusters in sides]
    draws = drawn(tuple(len(names) for names, _ in named), resamples, SEED)
    return [(counts, index) for counts, (_, index) in zip(draws, named, strict=True)]


def percentile_interval(values: Array, units: int) -> Interval:
    """The interval between the percentiles of a value's resamples.

    Args:
        values: The value in each resample, [resamples], any unit.
        units: How many clusters were drawn from.

    Returns:
        Bounds in the unit of the values at `LEVEL`; NaN where a resample is undefined.

    Example:
        The percentiles 2.5 and 97.5 of 0, 1, ..., 40:

        >>> found = percentile_interval(np.arange(41.0), units=7)
        >>> round(found.low, 9), round(found.high, 9), found.units
        (1.0, 39.0, 7)
    """
    if not len(values) or not np.isfinite(values).all():
        return Interval(math.nan, math.nan, "undefined in some resamples", units)
    return between_percentiles(values, f"percentile bootstrap over clusters, B={len(values)}, seed {SEED}", units)
