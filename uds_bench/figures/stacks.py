"""Shares that add up, as bars on one axis from 0 to 1; what a bar says is in words beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.figures.bars import Bar, chart
from uds_bench.figures.reading import spell


@dataclass(frozen=True)
class Stack:
    """One row: its bars, one below the other, each of parts that are drawn end to end; None draws nothing."""

    name: str
    bars: tuple[Mapping[str, float | None], ...]


def stacks(title: str, rows: Sequence[Stack], kinds: Mapping[str, str]) -> tuple[Markup, ...]:
    """One panel; `kinds`: by part the class that colours it, in the order of the legend. None where no row is."""
    if not rows:
        return ()
    told = []
    drawn = []
    for row in rows:
        bars = []
        for parts in row.bars:
            known = [share for share in parts.values() if share is not None]
            hinted = ((share, kinds[part], f"{row.name}, {part}: {spell(share)}") for part, share in parts.items())
            bars.append(Bar(tuple(hinted), " + ".join(map(spell, known)) or "no value"))
            told.append(f"{row.name}: " + ", ".join(f"{part} {spell(share)}" for part, share in parts.items()))
        drawn.append((row.name, row.name, bars))
    return (chart(f"{title}. {'; '.join(told)}", drawn, "bars stacks", title, list(kinds.items())),)
