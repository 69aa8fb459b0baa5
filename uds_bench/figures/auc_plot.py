"""AUCs on one axis from 0 to 1, a row each: an update's own with its interval, above those of blind updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.figures.spelling import Measured, spell, spell_interval, with_interval
from uds_bench.figures.svg import Scale, element, label, line, marked_along, picture, stretch
from uds_bench.statistics import Interval

WIDTH, LEFT, RIGHT, TOP, ROW = 520.0, 96.0, 388.0, 46.0, 36.0
MARKS = (0, 0.25, 0.5, 0.75, 1)
ENDS = ("the others changed", "blind", "only these changed")
OTHERS = (("random", 95.0), ("neutral", 195.0))
LANES = {"random": 21.0, "neutral": 29.0}
"""By kind of blind update, how far below the top of its row it is drawn."""


@dataclass(frozen=True)
class AucRow:
    """`own`: the update's AUC; `blind`: those that know nothing of the masks, by kind; `null`: where chance alone lies.
    `note`: why the row does not count, or is not there at all; empty where it counts. `best`: the one to be read."""

    name: str
    own: Measured
    blind: Mapping[str, Measured]
    null: Interval | None
    note: str = ""
    best: bool = False

    @property
    def words(self) -> str:
        """The row in words, for those who do not see it."""
        parts = [with_interval(self.name, self.own)]
        parts += [with_interval(kind, found) for kind, found in self.blind.items() if found[0] is not None]
        parts += [f"chance {spell_interval(self.null)}"] if self.null else []
        return ", ".join([*parts, *([self.note] if self.note else [])])


def auc_plot(title: str, rows: Sequence[AucRow], margin: float, bound: float | None = None) -> Markup:
    """`margin`: how far from one half a blind update may lie, as a band; `bound`: dashed."""
    x, bottom = Scale(0, 1, LEFT, RIGHT), TOP + ROW * len(rows)
    low, high = x(0.5 - margin), x(0.5 + margin)
    parts = [element("rect", x=low, y=TOP, width=high - low, height=bottom - TOP, class_="margin")]
    parts += [line(x(mark), TOP, x(mark), bottom + 4, "rule strong" if mark == 0.5 else "grid") for mark in MARKS]
    parts += [] if bound is None else [line(x(bound), TOP, x(bound), bottom, "bound")]
    for at, row in enumerate(rows):
        parts.append(_drawn(row, x, TOP + at * ROW))
    parts += marked_along(x, MARKS, bottom + 17)
    parts += [label(x(at), bottom + 31, end, "end", "middle") for at, end in zip((0, 0.5, 1), ENDS, strict=True)]
    words = f"{title}. {'; '.join(row.words for row in rows)}"
    return picture(WIDTH, bottom + 36, words, label(0, 14, title, "name"), *_legend(margin), *parts, class_="auc-plot")


def _legend(margin: float) -> list[Markup]:
    """What is drawn how, above the axis."""
    found = []
    for kind, at, words in (("own", 5.0, "this update"), *((kind, at, f"{kind} update") for kind, at in OTHERS)):
        found += [_mark(kind, at, 31), label(at + 9, 35, words, "tick")]
    for kind, at, words in (("margin", 295.0, f"±{margin:g}"), ("null", 355.0, "chance alone")):
        found += [
            element("rect", x=at, y=26.0, width=14.0, height=10.0, class_=kind),
            label(at + 19, 35, words, "tick"),
        ]
    return found


def _mark(kind: str, x: float, y: float) -> Markup:
    """A dot, a ring or a diamond: told apart without colour."""
    if kind == "own":
        return element("circle", cx=x, cy=y, r=4.0, class_="dot")
    if kind == "random":
        return element("circle", cx=x, cy=y, r=3.2, class_="random")
    return element("path", d=f"M{x:.1f},{y - 4:.1f} l4,4 l-4,4 l-4,-4 z", class_=kind)


def _drawn(row: AucRow, x: Scale, top: float) -> Markup:
    bold = "name" if row.best else ""
    parts = [element("title", row.words), label(0, top + 16, row.name, bold)]
    if row.null is not None:
        left = x(row.null.low)
        wide = max(x(row.null.high) - left, 1.0)
        parts.append(element("rect", x=left, y=top + 2, width=wide, height=ROW - 4, class_="null"))
    value, span = row.own
    if value is None:
        parts.append(label((LEFT + RIGHT) / 2, top + 16, row.note or "no value", "absent", "middle"))
        return element("g", *parts, class_="mute")
    if span is not None:
        parts.append(stretch(x, span.low, span.high, top + 6, 10.0))
    for kind, (other, _) in row.blind.items():
        parts += [] if other is None else [_mark(kind, x(other), top + LANES[kind])]
    parts.append(_mark("own", x(value), top + 11))
    parts += [label(0, top + 28, "not counted", "tick")] if row.note else []
    parts.append(label(RIGHT + 12, top + 16, spell(value), bold))
    parts.append(label(RIGHT + 54, top + 16, spell_interval(span), "tick"))
    return element("g", *parts, class_="mute" if row.note else None)
