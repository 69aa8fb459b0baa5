"""How numbers are spelt on the page, and what stands where there is none."""

from __future__ import annotations

import math

from uds_bench.statistics import Interval

ABSENT = "–"
Measured = tuple[float | None, Interval | None]
"""A value with its interval."""


def spell(value: float | None) -> str:
    """A number in three decimals, in scientific notation where these would show nothing, `–` if there is none."""
    if value is None or not math.isfinite(value):
        return ABSENT
    return f"{value:.3f}" if value == 0 or 0.001 <= abs(value) < 1e5 else f"{value:.1e}"


def spell_interval(interval: Interval | None) -> str:
    """`low..high`; "" where there is none."""
    return f"{spell(interval.low)}..{spell(interval.high)}" if interval else ""


def with_interval(name: str, found: Measured) -> str:
    """A value with its interval, in words."""
    value, around = found
    return f"{name} {spell(value)}" + (f" ({spell_interval(around)})" if around else "")
