"""Intervals and summary formulas shared by every audit: pure functions of numbers, which know no claim and no bound."""

from uds_bench.statistics.aucs import auc, auc_interval, auc_resamples, balanced_cut, drawn
from uds_bench.statistics.intervals import (
    EXACT_UP_TO,
    FEWEST,
    INTERVALS,
    LEVEL,
    RESAMPLES,
    SEED,
    Interval,
    Rate,
    between_percentiles,
    cluster_interval,
    difference_interval,
    mcnemar,
    paired_interval,
    skewed,
    zero_rate_bound,
)
from uds_bench.statistics.means import ROUNDING, ROUNDING_ERROR, finite_or_none, harmonic_mean, mean

__all__ = [
    "EXACT_UP_TO",
    "FEWEST",
    "INTERVALS",
    "LEVEL",
    "RESAMPLES",
    "ROUNDING",
    "ROUNDING_ERROR",
    "SEED",
    "Interval",
    "Rate",
    "auc",
    "auc_interval",
    "auc_resamples",
    "balanced_cut",
    "between_percentiles",
    "cluster_interval",
    "difference_interval",
    "drawn",
    "finite_or_none",
    "harmonic_mean",
    "mcnemar",
    "mean",
    "paired_interval",
    "skewed",
    "zero_rate_bound",
]
