"""Values before and after, one point a model, beside the lines on which they were to stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.figures.spelling import spell
from uds_bench.figures.svg import (
    LEFT,
    RIGHT,
    Scale,
    domain,
    element,
    label,
    line,
    marked_along,
    marked_up,
    panel,
    ticks,
)

SIZE, TOP, BOTTOM = 250.0, 30.0, 216.0
RADIUS = 3.5


@dataclass(frozen=True)
class Point:
    """A model; `why` it does not count, empty where it does."""

    name: str
    before: float
    after: float
    why: str = ""


def scatter(
    name: str, points: Sequence[Point], shift: float | None, retain: Point | None, lost: Sequence[str] = ()
) -> Markup:
    """Points that count are filled, the others rings, the retain model a diamond; `shift` moves the line y = x; `lost`:
    models that have no value on one of the sides, which are told and cannot be drawn."""
    ends = [value for p in [*points, *([retain] if retain else [])] for value in (p.before, p.after)]
    low, high = domain(ends)
    x, y = Scale(low, high, LEFT, RIGHT), Scale(low, high, BOTTOM, TOP)
    marks = ticks(low, high, 4)
    parts = [*marked_up(y, marks), *marked_along(x, marks, BOTTOM + 14)]
    parts += [line(x(mark), TOP, x(mark), BOTTOM, "grid") for mark in marks]
    parts += [_diagonal(x, y, low, high, 0.0, "rule strong")]
    parts += [_diagonal(x, y, low, high, shift, "bound")] if shift else []
    parts += [_point(x(p.before), y(p.after), p) for p in points]
    if retain is not None:
        at = f"M{x(retain.before):.1f},{y(retain.after) - 5:.1f} l5,5 l-5,5 l-5,-5 z"
        parts.append(element("path", element("title", _hint(retain)), d=at, class_="mean"))
    words = f"{name}: " + "; ".join([*map(_hint, points), *(f"{model} has no value" for model in lost)])
    counted = f"{sum(not p.why for p in points)} of {len(points) + len(lost)} count"
    counted += f", {len(lost)} without a value" if lost else ""
    parts.append(label((LEFT + RIGHT) / 2, SIZE - 4, "before", "tick", "middle"))
    return panel(SIZE, words, name, counted, *parts, class_="panel scatter")


def _diagonal(x: Scale, y: Scale, low: float, high: float, shift: float, class_: str) -> Markup:
    """The line y = x + shift, as far as both axes reach."""
    first, last = max(low, low - shift), min(high, high - shift)
    if first >= last:
        return Markup("")
    return line(x(first), y(first + shift), x(last), y(last + shift), class_)


def _point(x: float, y: float, point: Point) -> Markup:
    hint = element("title", _hint(point))
    return element("circle", hint, cx=x, cy=y, r=RADIUS, class_="reference" if point.why else None)


def _hint(point: Point) -> str:
    left = f" (does not count: {point.why})" if point.why else ""
    return f"{point.name} {spell(point.before)} to {spell(point.after)}{left}"
