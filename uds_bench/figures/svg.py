"""Drawing without a library: escaped elements, a linear scale, and ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from uds_bench.figures.spelling import ABSENT


def element(tag: str, *children: str | Markup, **attributes: str | float | None) -> Markup:
    """`<tag ...>children</tag>`, everything escaped that is not Markup. `class_` gives class, `stroke_width`
    stroke-width; None leaves an attribute out; numbers are cut to two decimals to keep the page small."""
    told = ""
    for name, value in attributes.items():
        if value is not None:
            shown = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
            told += f' {name.rstrip("_").replace("_", "-")}="{escape(shown)}"'
    return Markup(f"<{tag}{told}>{''.join(map(escape, children))}</{tag}>")


def picture(width: float, height: float, label: str, *children: Markup, class_: str = "") -> Markup:
    """An SVG that fills its container and says in words what it shows."""
    return element(
        "svg",
        element("title", label),
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
        class_=class_ or None,
    )


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A line between two points."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def label(x: float, y: float, words: str, class_: str = "", anchor: str = "start") -> Markup:
    """Words at a point."""
    return element("text", words, x=x, y=y, text_anchor=anchor, class_=class_ or None)


def named(name: str, most: int, x: float, y: float, class_: str | None = None, hint: str = "") -> Markup:
    """At most `most` letters of a name, and the whole of it, or what it stands for, as a hint."""
    shown = name if len(name) <= most else f"{name[: most - 1]}…"
    return element("text", element("title", hint or name), shown, x=x, y=y, class_=class_)


def sheet(head: Iterable[str], rows: Iterable[tuple[str | Markup, Iterable[Markup]]], class_: str = "sheet") -> Markup:
    """A table that scrolls: the names of its columns, and rows of a name and the cells beside it."""
    top = element("tr", *(element("th", name or ABSENT, scope="col") for name in head))
    body = [element("tr", element("th", name, scope="row"), *cells) for name, cells in rows]
    grid = element("table", element("thead", top), element("tbody", *body), class_=class_)
    return element("div", grid, class_="scroll", tabindex="0")


def folded(summary: str, *children: Markup) -> Markup:
    """What is seen once its summary is chosen."""
    return element("details", element("summary", summary), *children)


@dataclass(frozen=True)
class Scale:
    """From values in [low, high] to pixels in [start, end]; what lies outside is drawn at the edge."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a value lies, in the unit of the drawing."""
        if self.high <= self.low:
            return (self.start + self.end) / 2
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values (steps of 1, 2 or 5 times a power of ten) inside a range.

    Args:
        low: Its lower end.
        high: Its upper end.
        most: How many at most.

    Returns:
        Ascending; `low` alone of a range too narrow to tell anything apart.

    Example:
        >>> ticks(0.0, 1.0)
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    # Ranges this narrow hold nothing to tell apart, and their steps round to nothing.
    if not high - low > 1e-12 * max(abs(low), abs(high), 1.0):
        return [low]
    rough = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(index * step, 15) for index in range(first, last + 1)]


def domain(values: Iterable[float], least: tuple[float, float] | None = None) -> tuple[float, float]:
    """The range to draw.

    Args:
        values: Finite, in one unit; one or more, unless they all fit into 0..1.
        least: A range that is drawn in any case; without it 0..1 where every value fits there.

    Returns:
        Low and high: `least`, widened where a value lies outside, else the values' own range with a margin.

    Example:
        >>> domain([0.2, 0.4]), domain([0.2, 1.4], (0.0, 1.0))
        ((0.0, 1.0), (0.0, 1.4))
    """
    found = list(values)
    if least is None and all(0 <= value <= 1 for value in found):
        least = (0.0, 1.0)
    if least is not None:
        return min([least[0], *found]), max([least[1], *found])
    low, high = min(found), max(found)
    margin = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


LEFT, RIGHT, WIDTH = 34.0, 240.0, 250.0
"""The axes of a small figure, of which several stand side by side."""


def panel(height: float, words: str, name: str, told: str, *parts: Markup, class_: str = "panel") -> Markup:
    """A small figure under its name and what is told of it; `words`: all that it shows."""
    head = label(4, 14, name, "name"), label(RIGHT, 14, told, "tick", "end")
    return picture(WIDTH, height, words, *head, *parts, class_=class_)


def marked_up(y: Scale, marks: Sequence[float], spelled: str = "g") -> list[Markup]:
    """Lines across a panel at some values, each with its number."""
    lines = [line(LEFT, y(mark), RIGHT, y(mark), "grid") for mark in marks]
    return lines + [label(LEFT - 5, y(mark) + 3.5, f"{mark:{spelled}}", "tick", "end") for mark in marks]


def marked_along(x: Scale, marks: Iterable[float], y: float) -> list[Markup]:
    """Numbers below an axis."""
    return [label(x(mark), y, f"{mark:g}", "tick", "middle") for mark in marks]


def stretch(x: Scale, low: float, high: float, y: float, height: float, class_: str = "bar", rx: float = 2.0) -> Markup:
    """A stretch of an axis as a bar."""
    left, right = sorted((x(low), x(high)))
    return element("rect", x=left, y=y, width=right - left, height=height, rx=rx, class_=class_)


def marked(words: str, sentence: str) -> Markup:
    """The text with every occurrence of the sentence in a `mark`; line breaks are shown."""
    if not words:
        return element("span", "(empty)", class_="absent")
    parts = words.split(sentence) if sentence else [words]
    pieces: list[str | Markup] = [parts[0]]
    for part in parts[1:]:
        pieces += [element("mark", sentence), part]
    return element("span", *pieces, class_="said")
