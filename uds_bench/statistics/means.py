"""Means, and numbers that a record can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable

ROUNDING = 1e-4
"""Share of a metric's range below which two values are the same: float noise must not look like spread."""
ROUNDING_ERROR = 1e-12
"""Relative difference that the order of a sum alone can make."""


def finite_or_none(value: float) -> float | None:
    """None for NaN and infinity, which strict JSON has no word for.

    Args:
        value: Any number.

    Returns:
        The number itself, or None.

    Example:
        >>> [finite_or_none(value) for value in (0.5, math.nan, -math.inf)]
        [0.5, None, None]
    """
    return value if math.isfinite(value) else None


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean, whatever the order of what it is of.

    Args:
        values: Numbers, [units].

    Returns:
        A number between the smallest and the largest; NaN where there is none.

    Example:
        >>> mean([0.0, 0.5, 1.0]), mean([])
        (0.5, nan)
    """
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else math.nan


def largest(values: Iterable[float]) -> float:
    """The largest of some numbers.

    Args:
        values: Numbers of one unit.

    Returns:
        One of them; NaN where one is NaN or there is none: what could not be seen is never small.

    Example:
        >>> largest([0.25, 0.5]), largest([0.25, math.nan]), largest([])
        (0.5, nan, nan)
    """
    listed = list(values)
    return math.nan if not listed or any(map(math.isnan, listed)) else max(listed)


def harmonic_mean(*values: float) -> float:
    """Harmonic mean of non-negative numbers: the count over the sum of reciprocals.

    Args:
        values: Numbers, 0 and above, of one unit.

    Returns:
        At most the arithmetic mean; 0 if any is 0; NaN if any is NaN or negative, or if there is none.

    Source: UDS guide, sections 4.1 and 6.1.

    Example:
        >>> harmonic_mean(1.0, 0.5, 0.5)  # 3 / (1 + 2 + 2)
        0.6
        >>> harmonic_mean(1.0, 0.0)
        0.0
    """
    if not values or any(math.isnan(v) or v < 0 for v in values):
        return math.nan
    return 0.0 if 0 in values else len(values) / sum(1 / v for v in values)
