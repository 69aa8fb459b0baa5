"""Intervals of values that are no mean over facts: the value is computed again for each resample of clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from uds_bench.statistics import RESAMPLES, SEED, Interval, between_percentiles, drawn

Array = NDArray[np.float64]


def cluster_draws(
    clusters: Sequence[str], resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[Array, NDArray[np.intp]]:
    """How often each cluster is drawn, [resamples, clusters], and which cluster each fact belongs to, [facts].

    The same for every model on the same facts.
    """
    names, index = np.unique(np.asarray(clusters), return_inverse=True)
    (draws,) = drawn((len(names),), resamples, seed)
    return draws, index


def percentile_interval(values: Array, units: int) -> Interval:
    """The interval between the percentiles of a value's resamples; no bounds where a resample is undefined."""
    if not len(values) or not np.isfinite(values).all():
        return Interval(math.nan, math.nan, "undefined in some resamples", units)
    return between_percentiles(values, f"percentile bootstrap over clusters, B={len(values)}, seed {SEED}", units)
