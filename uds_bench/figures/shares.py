"""How many facts of each checkpoint are of some sort, as bars with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.figures.svg import Scale, element, label, picture, short

WIDTH, ROW, LEFT, RIGHT = 520.0, 26.0, 130.0, 400.0


@dataclass(frozen=True)
class Share:
    """`facts`: the ids that count; `total`: of how many."""

    name: str
    facts: tuple[str, ...]
    total: int

    @property
    def words(self) -> str:
        return f"{len(self.facts)} of {self.total} ({len(self.facts) / self.total:.0%})"


def _named(share: Share, most: int = 12) -> str:
    more = f" and {len(share.facts) - most} more" if len(share.facts) > most else ""
    return f"{share.name}: {', '.join(share.facts[:most])}{more}"


def shares(rows: Sequence[Share]) -> tuple[Markup, ...]:
    """One panel of bars from 0 to 100%, and the names of the facts below; none where there are no rows."""
    if not rows:
        return ()
    x = Scale(0, 1, LEFT, RIGHT)
    parts: list[Markup] = []
    for index, row in enumerate(rows):
        top = index * ROW
        share = len(row.facts) / row.total
        parts += [
            element("text", element("title", row.name), short(row.name, 18), x=0.0, y=top + 17, class_="name"),
            element("rect", x=LEFT, y=top + 6, width=RIGHT - LEFT, height=ROW - 12, class_="track"),
            element("rect", x=LEFT, y=top + 6, width=x(share) - LEFT, height=ROW - 12),
            label(RIGHT + 10, top + 17, row.words, "tick"),
        ]
    words = "; ".join(f"{row.name}: {row.words}" for row in rows)
    drawn = picture(WIDTH, ROW * len(rows), words, *parts, class_="bars")
    named = [element("li", _named(row)) for row in rows if row.facts]
    if not named:
        return (drawn,)
    return (element("div", drawn, element("details", element("summary", "which facts"), element("ul", *named))),)
