"""Tables: with an interval drawn in some cells, all of a column on one axis; and of means, shaded by their numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.figures.spelling import ABSENT, spell, spell_interval
from uds_bench.figures.svg import Scale, element, label, line, picture, sheet, stretch
from uds_bench.statistics import Interval

WIDTH, HEIGHT, EDGE = 190.0, 26.0, 6.0

Cell = str | Markup


def track(what: str, value: float | None, span: Interval | None, mark: float | None = None) -> Markup:
    """A dot and its interval between 0 and 1; `mark`: a value to compare with, dashed."""
    return _track(what, value, span, mark, (0, 1))


def span_track(what: str, value: float | None, span: Interval | None) -> Markup:
    """A dot and its interval between -1 and 1, 0 dashed."""
    return _track(what, value, span, 0, (-1, 1))


def _track(
    what: str, value: float | None, span: Interval | None, mark: float | None, ends: tuple[float, float]
) -> Markup:
    x, middle = Scale(*ends, EDGE, WIDTH - EDGE), HEIGHT / 2
    parts = [line(EDGE, middle, WIDTH - EDGE, middle, "rule")]
    parts += [line(x(end), middle - 4, x(end), middle + 4, "rule") for end in ends]
    parts += [] if mark is None else [line(x(mark), 0, x(mark), HEIGHT, "bound")]
    if span is not None:
        parts.append(stretch(x, span.low, span.high, middle - 5, 10.0))
    parts += [] if value is None else [element("circle", cx=x(value), cy=middle, r=3.5, class_="dot")]
    words = f"{what}: {spell(value)}" + (f", 95% interval {spell_interval(span)}" if span else "")
    return element("td", picture(WIDTH, HEIGHT, words, *parts, class_="axis"), class_="track")


def figures(value: float | None, span: Interval | None = None) -> Markup:
    """A number and, below it, its interval."""
    # No element("br"): browsers take the end tag that it would have for a second line break.
    below = (Markup("<br>"), element("small", spell_interval(span))) if span else ()
    return element("td", element("b", spell(value)), *below, class_="figure" if value is not None else "absent")


def tally(what: str, count: int | None, most: int) -> Markup:
    """A count as a bar, on a scale of logarithms from 0 to `most`, so that a few show beside thousands."""
    if count is None:
        return element("td", ABSENT, class_="absent")
    x, middle = Scale(0, math.log1p(most), EDGE, WIDTH - 60), HEIGHT / 2
    bar = stretch(x, 0, math.log1p(count), middle - 5, 10.0)
    number = label(WIDTH - 54, middle + 4, f"{count}")
    drawn = picture(WIDTH, HEIGHT, f"{what}: {count}", bar, number, class_="axis")
    return element("td", drawn, class_="track")


def cell(content: Cell | float | None) -> Markup:
    """A `td` as it is; words and numbers in one of their own."""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return element("td", content)
    return element("td", spell(content), class_="figure" if content is not None else "absent")


def interval_table(
    head: Sequence[str], body: Sequence[tuple[Cell, Sequence[Cell | float | None]]]
) -> tuple[Markup, ...]:
    """One panel: a column of names and the cells beside them; none where there is no row."""
    if not body:
        return ()
    return (sheet(head, ((name, map(cell, cells)) for name, cells in body)),)


@dataclass(frozen=True)
class MeanCell:
    """A mean in [0, 1] over `n` facts, or whatever it is `of`; None where there is nothing to take a mean of."""

    value: float | None
    n: int
    of: str = "facts"


def _shaded(cell: MeanCell | None) -> Markup:
    if cell is None:
        return element("td", ABSENT, class_="absent")
    if cell.value is None:
        return element("td", "n/a", class_="absent")
    share = min(max(cell.value, 0.0), 1.0)
    hint = f"mean of {cell.n} {cell.of}"
    return element("td", spell(cell.value), style=f"--share:{share:.3f}", title=hint, class_="shade")


def shaded_table(corner: str, rows: Sequence[tuple[str, Mapping[str, MeanCell]]]) -> tuple[Markup, ...]:
    """One panel, rows x columns in the order in which they first appear; none where there are no rows."""
    if not rows:
        return ()
    columns = dict.fromkeys(column for _, cells in rows for column in cells)
    body = ((name, (_shaded(cells.get(column)) for column in columns)) for name, cells in rows)
    return (sheet((corner, *columns), body, "matrix"),)
