"""Reading a run report that may be partial: readers return something that can be shown, and never raise.

A value of the wrong type counts as absent, and is shown as such: nothing is made up in its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from uds_bench.statistics import Interval

ABSENT = "–"


def table(value: Any) -> Mapping[str, Any]:
    """A mapping, or an empty one in its place."""
    return value if isinstance(value, Mapping) else {}


def rows(value: Any) -> list[Mapping[str, Any]]:
    """The mappings of a list, or nothing in their place."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, (list, tuple)) else []


HUGE = 1e100
"""No measurement comes near it, and sums of larger numbers overflow."""


def number(value: Any) -> float | None:
    """A finite number below `HUGE`, else None; booleans are not numbers."""
    # The comparison fails for NaN and infinities too.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -HUGE < value < HUGE:
        return None
    return float(value)


def whole(value: Any) -> int | None:
    """A count: a whole number that is not negative, else None."""
    found = number(value)
    return int(found) if found is not None and found >= 0 and found == int(found) else None


def within(value: Any, *keys: str) -> Any:
    """What lies in tables within tables; None where one of them is missing."""
    for key in keys:
        value = table(value).get(key)
    return value


def texts(value: Any) -> list[str]:
    """The texts of a list, or nothing in their place."""
    return [text(item) for item in value] if isinstance(value, (list, tuple)) else []


def numbers(value: Any) -> tuple[float, ...] | None:
    """A list in which every item is a finite number, else None."""
    if not isinstance(value, (list, tuple)):
        return None
    found = [number(item) for item in value]
    return None if None in found else tuple(item for item in found if item is not None)


def text(value: Any) -> str:
    """Words as they stand, other values as JSON, nothing for None."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def spell(value: Any) -> str:
    """A number in three decimals, in scientific notation where these would show nothing, `–` if there is none."""
    found = number(value)
    if found is None:
        return ABSENT
    return f"{found:.3f}" if found == 0 or 0.001 <= abs(found) < 1e5 else f"{found:.1e}"


def spell_interval(interval: Interval | None) -> str:
    """`low..high`; "" where there is none."""
    return f"{spell(interval.low)}..{spell(interval.high)}" if interval else ""


def interval(value: Any) -> Interval | None:
    """From `{"low", "high", "units", "method"}` or from `[low, high]`; None unless both ends are finite."""
    if isinstance(value, (list, tuple)):
        value = dict(zip(("low", "high"), value, strict=False))
    found = table(value)
    low, high = number(found.get("low")), number(found.get("high"))
    if low is None or high is None:
        return None
    return Interval(low, high, text(found.get("method")), whole(found.get("units")) or 0)


Measured = tuple[float | None, Interval | None]


def measured(value: Any) -> Measured:
    """A value with its interval, as `{"value", "low", "high", "units"}` has them."""
    return number(table(value).get("value")), interval(table(value))


def told(name: str, found: Measured) -> str:
    """A value with its interval, in words."""
    value, around = found
    return f"{name} {spell(value)}" + (f" ({spell_interval(around)})" if around else "")
