"""Shares that add up, as bars on one axis from 0 to 1; what a bar says is in words beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.figures.reading import spell
from uds_bench.figures.svg import Scale, element, label, line, picture, short

WIDTH, BAR, GAP, TOP, LEFT, RIGHT = 1000.0, 12.0, 8.0, 40.0, 150.0, 820.0


@dataclass(frozen=True)
class Stack:
    """One row: its bars, one below the other, each of parts that are drawn end to end; None draws nothing."""

    name: str
    bars: tuple[Mapping[str, float | None], ...]


def _bar(name: str, parts: Mapping[str, float | None], x: Scale, y: float, kinds: Mapping[str, str]) -> list[Markup]:
    drawn, reached = [], 0.0
    for part, share in parts.items():
        if share is None or share <= 0:
            continue
        left, right = x(reached), x(reached + share)
        hint = element("title", f"{name}, {part}: {spell(share)}")
        drawn.append(element("rect", hint, x=left, y=y, width=right - left, height=BAR, class_=kinds[part]))
        reached += share
    return drawn


def stacks(title: str, rows: Sequence[Stack], kinds: Mapping[str, str]) -> tuple[Markup, ...]:
    """One panel; `kinds`: by part the class that colours it, in the order of the legend. None where no row is."""
    if not rows:
        return ()
    x, y = Scale(0, 1, LEFT, RIGHT), TOP
    parts = [label(0, 14, title, "name")]
    for at, (part, kind) in enumerate(kinds.items()):
        left = LEFT + at * (RIGHT - LEFT) / len(kinds)
        parts.append(element("rect", x=left, y=5.0, width=10.0, height=10.0, class_=kind))
        parts.append(label(left + 14, 14, part, "tick"))
    told = []
    for row in rows:
        middle = y + len(row.bars) * BAR / 2
        parts.append(element("text", element("title", row.name), short(row.name, 24), x=0.0, y=middle + 4))
        for bar in row.bars:
            parts.append(element("rect", x=LEFT, y=y, width=RIGHT - LEFT, height=BAR - 1, class_="track"))
            parts += _bar(row.name, bar, x, y, kinds)
            known = [share for share in bar.values() if share is not None]
            parts.append(label(RIGHT + 8, y + BAR - 2, " + ".join(map(spell, known)) or "no value", "tick"))
            told.append(f"{row.name}: " + ", ".join(f"{part} {spell(share)}" for part, share in bar.items()))
            y += BAR
        y += GAP
    for share in (0, 0.5, 1):
        parts.append(line(x(share), TOP - 6, x(share), y, "grid"))
        parts.append(label(x(share), TOP - 9, f"{share:.0%}", "tick", "middle"))
    return (picture(WIDTH, y, f"{title}. {'; '.join(told)}", *parts, class_="bars stacks"),)
