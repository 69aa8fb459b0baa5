"""A table whose shade follows its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.figures.reading import ABSENT, spell
from uds_bench.figures.svg import element, sheet


@dataclass(frozen=True)
class MeanCell:
    """A mean in [0, 1] over `n` facts, or whatever it is `of`; None where there is nothing to take a mean of."""

    value: float | None
    n: int
    of: str = "facts"


def _cell(cell: MeanCell | None) -> Markup:
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
    body = ((name, (_cell(cells.get(column)) for column in columns)) for name, cells in rows)
    return (sheet((corner, *columns), body, "matrix"),)
