"""Shares as bars on one axis from 0 to 1, a row for each of what they are shares of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.errors import some
from uds_bench.figures.spelling import Measured, spell, spell_interval, with_interval
from uds_bench.figures.svg import Scale, element, folded, label, line, named, picture
from uds_bench.statistics import Interval

WIDTH, BAR, GAP, TOP, LEFT, RIGHT = 760.0, 13.0, 9.0, 42.0, 170.0, 590.0
KINDS = ("first", "second")
"""Filled and hollow: told apart without colour."""


@dataclass(frozen=True)
class Bar:
    """On its track: parts laid end to end, each a share with its class and hint; None and 0 draw nothing.

    `beside`: its number, which is all there is where there is no value; `span`: the interval of its end."""

    parts: tuple[tuple[float | None, str | None, str], ...]
    beside: str
    span: Interval | None = None


Row = tuple[str, str, Sequence[Bar]]
"""The name of some bars, what it stands for, and the bars one below the other."""


def chart(
    words: str, rows: Sequence[Row], class_: str, title: str = "", legend: Sequence[tuple[str, str]] = ()
) -> Markup:
    """`legend`: names, each with the class that it explains; `words`: all that is shown."""
    x, y = Scale(0, 1, LEFT, RIGHT), TOP
    parts = [label(0, 14, title, "name")]
    for at, (name, kind) in enumerate(legend):
        left = LEFT + at * (RIGHT - LEFT) / len(legend)
        parts.append(element("rect", x=left, y=20.0, width=10.0, height=10.0, class_=kind))
        parts.append(named(name, 30, left + 15, 29.0, "tick"))
    for name, hint, bars in rows:
        parts.append(named(name, 26, 0.0, y + len(bars) * BAR / 2 + 3, hint=hint))
        for bar in bars:
            parts += _drawn(bar, x, y)
            y += BAR
        y += GAP
    for share in (0, 0.5, 1):
        parts.append(line(x(share), TOP - 4, x(share), y, "grid"))
        parts.append(label(x(share), y + 11, f"{share:.0%}", "tick", "middle"))
    return picture(WIDTH, y + 16, words, *parts, class_=class_)


def _drawn(bar: Bar, x: Scale, y: float) -> list[Markup]:
    drawn, reached = [element("rect", x=LEFT, y=y, width=RIGHT - LEFT, height=BAR - 2, class_="track")], 0.0
    for share, kind, hint in bar.parts:
        if share:
            left, reached = x(reached), reached + share
            hinted = element("title", hint)
            drawn.append(element("rect", hinted, x=left, y=y, width=x(reached) - left, height=BAR - 2, class_=kind))
    if bar.span is not None:
        low, high = sorted((x(bar.span.low), x(bar.span.high)))
        middle = y + BAR / 2 - 1
        ends = [line(end, middle - 3, end, middle + 3, "whisker") for end in (low, high)]
        drawn += [line(low, middle, high, middle, "whisker"), *ends]
    return [*drawn, label(RIGHT + 10, y + BAR - 3, bar.beside, "tick")]


@dataclass(frozen=True)
class BarGroup:
    """`found`: a share in [0, 1] with its interval for each checkpoint, in their order; `hint`: the name in full."""

    name: str
    hint: str
    found: tuple[Measured, ...]


def bars(title: str, names: Sequence[str], groups: Sequence[BarGroup]) -> tuple[Markup, ...]:
    """One panel of one or two checkpoints side by side; none where there is no group."""
    if not groups:
        return ()
    rows: list[Row] = []
    for group in groups:
        drawn = []
        for name, kind, (value, span) in zip(names, KINDS, group.found, strict=False):
            beside = "no value" if value is None else f"{spell(value)}  {spell_interval(span)}".strip()
            hint = with_interval(f"{group.hint}, {name}:", (value, span))
            drawn.append(Bar(((value, kind, hint),), beside, None if value is None else span))
        rows.append((group.name, group.hint, drawn))
    said = (f"{one.hint}: " + ", ".join(map(with_interval, names, one.found)) for one in groups)
    legend = list(zip(names, KINDS, strict=False))
    return (element("div", chart(f"{title}. {'; '.join(said)}", rows, "bars beside", title, legend)),)


@dataclass(frozen=True)
class Stack:
    """One row: its bars, one below the other, each of parts that are drawn end to end; None draws nothing."""

    name: str
    bars: tuple[Mapping[str, float | None], ...]


def stacks(title: str, rows: Sequence[Stack], kinds: Mapping[str, str]) -> tuple[Markup, ...]:
    """One panel; `kinds`: by part the class that colours it, in the order of the legend. None where no row is."""
    if not rows:
        return ()
    texts = []
    drawn = []
    for row in rows:
        bars = []
        for parts in row.bars:
            known = [share for share in parts.values() if share is not None]
            hinted = ((share, kinds[part], f"{row.name}, {part}: {spell(share)}") for part, share in parts.items())
            bars.append(Bar(tuple(hinted), " + ".join(map(spell, known)) or "no value"))
            texts.append(f"{row.name}: " + ", ".join(f"{part} {spell(share)}" for part, share in parts.items()))
        drawn.append((row.name, row.name, bars))
    return (chart(f"{title}. {'; '.join(texts)}", drawn, "bars stacks", title, list(kinds.items())),)


@dataclass(frozen=True)
class Share:
    """`facts`: the ids that count; `total`: of how many."""

    name: str
    facts: tuple[str, ...]
    total: int

    @property
    def words(self) -> str:
        """The share in words: how many of how many."""
        return f"{len(self.facts)} of {self.total} ({len(self.facts) / self.total:.0%})"


def shares(rows: Sequence[Share]) -> tuple[Markup, ...]:
    """One panel of bars from 0 to 100%, and the names of the facts below; none where there are no rows."""
    if not rows:
        return ()
    drawn = [Bar(((len(row.facts) / row.total, None, row.words),), row.words) for row in rows]
    words = "; ".join(f"{row.name}: {row.words}" for row in rows)
    picture = chart(words, [(row.name, row.name, [bar]) for row, bar in zip(rows, drawn, strict=True)], "bars")
    names = [element("li", f"{row.name}: {some(row.facts, 12)}") for row in rows if row.facts]
    return (element("div", picture, folded("which facts", element("ul", *names))) if names else picture,)
