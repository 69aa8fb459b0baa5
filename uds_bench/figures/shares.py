"""How many facts of each checkpoint are of some sort, as bars with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.figures.bars import Bar, chart
from uds_bench.figures.svg import element, folded


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


def _named(share: Share, most: int = 12) -> str:
    more = f" and {len(share.facts) - most} more" if len(share.facts) > most else ""
    return f"{share.name}: {', '.join(share.facts[:most])}{more}"


def shares(rows: Sequence[Share]) -> tuple[Markup, ...]:
    """One panel of bars from 0 to 100%, and the names of the facts below; none where there are no rows."""
    if not rows:
        return ()
    drawn = [Bar(((len(row.facts) / row.total, None, row.words),), row.words) for row in rows]
    words = "; ".join(f"{row.name}: {row.words}" for row in rows)
    told = chart(words, [(row.name, row.name, [bar]) for row, bar in zip(rows, drawn, strict=True)], "bars")
    names = [element("li", _named(row)) for row in rows if row.facts]
    return (element("div", told, folded("which facts", element("ul", *names))) if names else told,)
