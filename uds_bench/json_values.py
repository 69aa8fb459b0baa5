"""Plain values, as records keep them: what JSON has a word for, and nothing in the place of what is not finite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AllowInfNan, BeforeValidator, Strict, ValidationError

from uds_bench.statistics import Interval

MOST_CHARACTERS = 200
"""Characters of a value that a message repeats."""
PLAIN = (str, int, float, bool, type(None))


def finite(value: Any) -> Any:
    """Plain JSON of a value: no numpy scalars, no enum objects, and None for numbers that are not finite."""
    if type(value) in PLAIN:  # most of millions
        return value if type(value) is not float or math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    # Scalars, arrays and tensors have it; of anything else only the text can be kept.
    return finite(value.tolist()) if hasattr(value, "tolist") else str(value)


def _shown(interval: Any) -> Any:
    """Plain numbers; None for an interval that was made of no finite value."""
    if not isinstance(interval, Interval):
        return interval
    known = math.isfinite(interval.low + interval.high)
    return Interval(float(interval.low), float(interval.high), interval.method, int(interval.units)) if known else None


def _number(value: Any) -> Any:
    """A float of any scalar, also of a test's own kind; text stays text, and is refused."""
    plain = finite(value)
    return float(plain) if isinstance(plain, int) else plain


Number = Annotated[float | None, Strict(), BeforeValidator(_number)]
FiniteNumber = Annotated[float, Strict(), AllowInfNan(False)]
Shown = Annotated[Interval | None, BeforeValidator(_shown)]
Plain = Annotated[dict[str, Any], BeforeValidator(finite)]


def first_problem(error: Exception, within: tuple[str, ...] = ()) -> str:
    """Where a record is none, and why, in a line; `within`: the keys that it lies under. Of other errors the text."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    where = ".".join(str(step) for step in (*within, *first["loc"]))
    return " ".join(f"{where and f'{where}: '}{first['msg']}".split())[:MOST_CHARACTERS]
