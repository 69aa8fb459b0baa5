"""Published tables recomputed: what a printed cell may be, given that its inputs were rounded before printing.

A cell that rounding cannot explain is a deviation. Known ones stand in a list of errata with their size, signed; a
deviation that is not listed, or a listed one that is not there, is a gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from uds_bench.statistics import harmonic_mean

MOVED = 0.003
"""By how much a control moves a cell: more than rounding of three decimals can hide in a harmonic mean."""

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """A printed number, `half` a unit of its last place, and the range that its rounded inputs allow."""

    name: str
    printed: float
    low: float
    high: float
    half: float

    @property
    def excess(self) -> float:
        """By how much it lies beyond what rounding allows: < 0 too small, > 0 too large, 0 if explained; NaN of NaN."""
        if any(map(math.isnan, (self.printed, self.low, self.high, self.half))):
            return math.nan
        if self.printed + self.half < self.low:
            return self.printed + self.half - self.low
        return max(0.0, self.printed - self.half - self.high)


def meta_evaluation_cells(table: Table) -> list[Cell]:
    """Of table 2, two cells a metric: Rob = HM(Q, R) and Overall = HM(Faithfulness, Rob), from the printed inputs."""
    half = _half(table)
    cells = []
    for name, row in table["rows"].items():
        for result, inputs in (("rob", ("q", "r")), ("overall", ("faithfulness", "rob"))):
            # The harmonic mean rises with each input, so the corners of the inputs' ranges bound it.
            low = harmonic_mean(*(max(0.0, row[i] - half) for i in inputs))
            high = harmonic_mean(*(row[i] + half for i in inputs))
            cells.append(Cell(f"{name}/{result}", row[result], low, high, half))
    return cells


def scale_cells(table: Table) -> list[Cell]:
    """Of appendix G: the full model's 0 and the last retain's 1 follow from the definition, and each step rises."""
    half = _half(table)
    cells = []
    for size in table["sizes"]:
        column = {name: row[size] for name, row in table["rows"].items()}
        (first, *_, last) = column
        cells.append(Cell(f"{size}/{first}", column[first], 0.0, 0.0, half))
        cells.append(Cell(f"{size}/{last}", column[last], 1.0, 1.0, half))
        for lower, higher in pairwise(column):
            # A step up, whatever its size: the printed difference may hide a unit of the last place.
            rise = column[higher] - column[lower]
            cells.append(Cell(f"{size}/{lower}<{higher}", rise, math.ulp(0.0), math.inf, 2 * half))
    return cells


def gap(cells: Sequence[Cell], errata: Mapping[str, float]) -> tuple[float, str]:
    """Largest difference between a cell's excess and the recorded one (0 where none is), and that cell's name.

    NaN, with the reason, where there is nothing to compare, a number is not finite, or an erratum speaks of no cell.
    """
    names = [cell.name for cell in cells]
    if not cells:
        return math.nan, "the table has no cells"
    if unknown := [name for name in errata if name not in names]:
        return math.nan, f"errata of no cell: {', '.join(unknown)}"
    gaps = {cell.name: abs(cell.excess - errata.get(cell.name, 0.0)) for cell in cells}
    if broken := [cell.name for cell in cells if not (math.isfinite(cell.printed) and math.isfinite(gaps[cell.name]))]:
        return math.nan, f"not finite: {', '.join(broken)}"
    worst = max(gaps, key=lambda name: gaps[name])
    return gaps[worst], worst


def moved(table: Table, row: str, column: str, by: float = MOVED) -> Table:
    """The table with one printed number moved: what a slip of the pen would look like."""
    rows = {name: dict(cells) for name, cells in table["rows"].items()}
    rows[row][column] += by
    return {**table, "rows": rows}


def exchanged(table: Table, one: str, other: str) -> Table:
    """The table with two rows' numbers exchanged."""
    rows = table["rows"]
    return {**table, "rows": {**rows, one: rows[other], other: rows[one]}}


def least_gap(tables: Iterable[Table], cells: Callable[[Table], list[Cell]], errata: Mapping[str, float]) -> float:
    """The smallest gap among spoilt tables: above the tolerance if each of them is noticed. NaN if there are none."""
    found = [gap(cells(table), errata)[0] for table in tables]
    return math.nan if not found or any(map(math.isnan, found)) else min(found)


def errata_of(document: Mapping[str, Any], table: str) -> dict[str, float]:
    """Cell name -> recorded excess, of one table. ValueError for a cell that is listed twice."""
    listed = [entry for entry in document["errata"] if entry["table"] == table]
    found = {entry["cell"]: float(entry["excess"]) for entry in listed}
    if len(found) < len(listed):
        raise ValueError(f"errata of {table} list a cell twice")
    return found


def _half(table: Table) -> float:
    return 0.5 * 10.0 ** -int(table["decimals"])
