"""Shares of one or two checkpoints as bars side by side, a group for each of what they are shares of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.figures.reading import Interval, Measured, spell
from uds_bench.figures.svg import Scale, element, label, line, picture, short

WIDTH, BAR, GAP, TOP, LEFT, RIGHT = 760.0, 13.0, 9.0, 42.0, 170.0, 590.0
KINDS = ("first", "second")
"""Filled and hollow: told apart without colour."""


@dataclass(frozen=True)
class Group:
    """`found`: a share in [0, 1] with its interval for each checkpoint, in their order; `hint`: the name in full."""

    name: str
    hint: str
    found: tuple[Measured, ...]


def _told(name: str, found: Measured) -> str:
    value, span = found
    return f"{name} {spell(value)}" + (f" ({span})" if span else "")


def _whisker(x: Scale, span: Interval, y: float) -> list[Markup]:
    low, high = sorted((x(span.low), x(span.high)))
    ends = [line(end, y - 3, end, y + 3, "whisker") for end in (low, high)]
    return [line(low, y, high, y, "whisker"), *ends]


def _bar(what: str, kind: str, found: Measured, x: Scale, y: float) -> list[Markup]:
    """On its track; the number beside it is all there is where there is no value."""
    value, span = found
    parts = [element("rect", x=LEFT, y=y, width=RIGHT - LEFT, height=BAR - 2, class_="track")]
    if value is not None:
        hint = element("title", _told(what, found))
        parts.append(element("rect", hint, x=LEFT, y=y, width=x(value) - LEFT, height=BAR - 2, class_=kind))
        parts += [] if span is None else _whisker(x, span, y + BAR / 2 - 1)
    told = "no value" if value is None else f"{spell(value)}  {span or ''}".strip()
    return [*parts, label(RIGHT + 10, y + BAR - 3, told, "tick")]


def bars(title: str, names: Sequence[str], groups: Sequence[Group]) -> tuple[Markup, ...]:
    """One panel on an axis from 0 to 1; `names`: one or two checkpoints. None where there is no group."""
    if not groups:
        return ()
    kinds = list(zip(names, KINDS, strict=False))
    x, y = Scale(0, 1, LEFT, RIGHT), TOP
    parts = [label(0, 14, title, "name")]
    for at, (name, kind) in enumerate(kinds):
        left = LEFT + at * (RIGHT - LEFT) / len(KINDS)
        parts.append(element("rect", x=left, y=20.0, width=10.0, height=10.0, class_=kind))
        parts.append(element("text", element("title", name), short(name, 30), x=left + 15, y=29.0, class_="tick"))
    told = []
    for group in groups:
        middle = y + len(kinds) * BAR / 2
        parts.append(element("text", element("title", group.hint), short(group.name, 26), x=0.0, y=middle + 3))
        beside = list(zip(kinds, group.found, strict=True))
        for (name, kind), found in beside:
            parts += _bar(f"{group.hint}, {name}:", kind, found, x, y)
            y += BAR
        told.append(f"{group.hint}: " + ", ".join(_told(name, found) for (name, _), found in beside))
        y += GAP
    for share in (0, 0.5, 1):
        parts += [
            line(x(share), TOP - 4, x(share), y, "grid"),
            label(x(share), y + 11, f"{share:.0%}", "tick", "middle"),
        ]
    drawn = picture(WIDTH, y + 16, f"{title}. {'; '.join(told)}", *parts, class_="bars beside")
    return (element("div", drawn),)
