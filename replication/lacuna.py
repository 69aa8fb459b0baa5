"""Every value that Lacuna's tables and text print, beside what definitions and the tables themselves allow.

A table has rows such as forget/es with a column a field and method (AE, MF, OG, SN: AlphaEdit, MemFlex, OracleGrad,
SimNPO). Forget and retain are in percent, and less is less that is known; utility is a change in points; precision is
an AUC, 0.5 for chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from replication.uds import Cell, Table, moved

FORMS = ("", "_paraphrased")
TASKS = ("arc_c", "arc_e", "hellaswag")
ITEM = 2.0
"""Points that one of fifty questions is worth: all 96 printed changes of these tasks are whole numbers of them. Ours,
read off the tables."""
CHANCE, WITHIN, PRECISE = 0.5, 0.001, 0.9
"""What the text calls not precise and very precise, in numbers; ours, as the audit's own bounds are."""
SLIP = 6
"""By how many half units of the last place a control moves a number: more than rounding can hide."""


def table_cells(table: Table) -> list[Cell]:
    """As many numbers a row as columns; scores within what their definitions allow of each other; changes of whole
    questions; AUCs as the text calls them."""
    full = len(table["fields"]) * len(table["methods"])
    counts = [Cell(f"{name}/numbers", len(row), full, full, 0.0) for name, row in table["rows"].items()]
    scores = [
        cell for side in ("forget", "retain") for field in table["fields"] for cell in _scores(table, side, field)
    ]
    return [*counts, *scores, *_changes(table), *_precision(table)]


def _scores(table: Table, side: str, field: str) -> Iterator[Cell]:
    """Of one field, with EM, ES and Prob a mean over the same answers y, for which the published ES is at least 1/|y|.

    ES is at most EM or 1/|y|, whichever is more, so at most the sum of EM and the mean of 1/|y|: the floor. It is what
    MemFlex and OracleGrad come to on forget answers, however they are asked for; on retain answers no more than the
    least ES is known. A token that is not the likeliest has a probability of one half or less, so Prob is at most
    (1 + EM) / 2, whether or not it is divided by length.
    """
    half = _half(table, side)
    strengths = {
        (form, method): _printed(table, f"{side}/es{form}", f"{field}/{method}")
        for form in FORMS
        for method in table["methods"]
    }
    reached = {at: value for at, value in strengths.items() if side == "retain" or at[1] in ("MF", "OG")}
    floor = min(reached.values())
    if side == "forget":
        for (form, method), value in reached.items():
            yield Cell(f"floor/{field}/{method}{form}", value, floor, floor, 2 * half)
    for (form, method), strength in strengths.items():
        column = f"{field}/{method}"
        exact, prob = (_printed(table, f"{side}/{score}{form}", column) for score in ("em", "prob"))
        least, most = (floor - half if side == "forget" else 0.0), min(100.0, exact + floor + 2 * half)
        yield Cell(f"{side}/em{form}/{column}", exact, 0.0, 100.0, half)
        yield Cell(f"{side}/es{form}/{column}", strength, least, most, half)
        yield Cell(f"{side}/prob{form}/{column}", prob, 0.0, (100.0 + exact + half) / 2, half)


def _changes(table: Table) -> Iterator[Cell]:
    half = _half(table, "utility")
    for task in (*TASKS, "mmlu"):
        for column, change in table["rows"][f"utility/{task}"].items():
            whole = ITEM * round(change / ITEM) if math.isfinite(change) else math.nan
            span = (whole, whole) if task in TASKS else (-100.0, 100.0)
            yield Cell(f"utility/{task}/{column}", change, *span, half)


def _precision(table: Table) -> Iterator[Cell]:
    """AlphaEdit and MemFlex at chance, OracleGrad precise; SimNPO finds forget and retain weights together better than
    forget weights alone, so what it finds is where anything was injected."""
    half = _half(table, "precision")
    spans = {
        "AE": (CHANCE - WITHIN, CHANCE + WITHIN),
        "MF": (CHANCE - WITHIN, CHANCE + WITHIN),
        "OG": (PRECISE, 1.0),
    }
    for name in ("auc_forget", "auc_forget_or_retain"):
        for column, auc in table["rows"][f"precision/{name}"].items():
            alone = 0.0 if name == "auc_forget" else _printed(table, "precision/auc_forget", column)
            span = spans.get(column.rpartition("/")[2], (alone, 1.0))
            yield Cell(f"precision/{name}/{column}", auc, *span, half)


def untouched(table: Table) -> dict[str, float]:
    """By field, the share of forget weights that OracleGrad left as they were: p0 = 2 (1 - AUC), as it moves no other
    (definitions 001.5, item 2)."""
    row = table["rows"]["precision/auc_forget"]
    return {field: round(2 * (1 - row[f"{field}/OG"]), 4) for field in table["fields"]}


def against_no_mask(table: Table) -> dict[str, tuple[float, float]]:
    """By field, how well SimNPO's changes tell forget weights, and retain weights, from those of no mask.

    Follows from both AUCs and the masks' sizes, 15% each, if one score gives both and it does not tell forget from
    retain weights. Retain weights are found as well as forget weights where the second is not below the first.
    """
    alone, both = (table["rows"][f"precision/{name}"] for name in ("auc_forget", "auc_forget_or_retain"))
    found = {}
    for field in table["fields"]:
        forget = (0.85 * alone[f"{field}/SN"] - 0.15 * CHANCE) / 0.70
        found[field] = round(forget, 4), round(2 * both[f"{field}/SN"] - forget, 4)
    return found


def sure_of_nothing(table: Table) -> list[str]:
    """Retain scores that have every token right and no probability: the likeliest tokens share less than 1 in 2000."""
    return [
        f"{column}{form}"
        for form in FORMS
        for column, exact in table["rows"][f"retain/em{form}"].items()
        if exact >= 100.0 and _printed(table, f"retain/prob{form}", column) == 0.0
    ]


def misread(table: Table) -> Iterator[Table]:
    """The table with one number put below, or above, all that its cell allows."""
    for cell in table_cells(table):
        row, column = "/".join(cell.name.split("/")[:2]), "/".join(cell.name.split("/")[2:])
        if column in table["rows"].get(row, ()):
            yield moved(table, row, column, cell.low - SLIP * cell.half - cell.printed)
            yield moved(table, row, column, cell.high + SLIP * cell.half - cell.printed)


def half_questions(table: Table) -> Iterator[Table]:
    """The table with one change of a task moved by half a question."""
    for task in TASKS:
        for column in table["rows"][f"utility/{task}"]:
            yield moved(table, f"utility/{task}", column, ITEM / 2)


@dataclass(frozen=True)
class Order:
    """That one method has at least as high a number as another, in one row of one field and size."""

    name: str
    size: str
    row: str
    higher: str
    lower: str


def joined(sizes: Mapping[str, Table], text: Table) -> Table:
    """Both tables, and what the text says of them."""
    return {**text, "sizes": sizes}


def text_cells(table: Table) -> list[Cell]:
    """What the text repeats of a table, and which method it puts above which."""
    cells = []
    for name, entry in table["values"].items():
        size, row, column = entry["cell"]
        low, high = entry["range"]
        value = _printed(table["sizes"][size], row, column)
        cells.append(Cell(name, (low + high) / 2, value, value, (high - low) / 2))
    for order in orders(table):
        source = table["sizes"][order.size]
        lead = _lead(source, order)
        cells.append(Cell(order.name, lead, 0.0, 100.0, 2 * _half(source, order.row)))
    return cells


def orders(table: Table) -> Iterator[Order]:
    for what, said in table["orders"].items():
        for size in said["sizes"]:
            for row in said["rows"]:
                for field in said["fields"]:
                    for pair in said["pairs"]:
                        higher, lower = (f"{field}/{method}" for method in pair.split(">"))
                        yield Order(f"{what}/{size}/{row}/{field}/{pair}", size, row, higher, lower)


def misquoted(table: Table) -> Iterator[Table]:
    """The text with one number moved, up or down."""
    for name, entry in table["values"].items():
        low, high = entry["range"]
        for by in (SLIP * (high - low) / 2, -SLIP * (high - low) / 2):
            yield {**table, "values": {**table["values"], name: {**entry, "range": [low + by, high + by]}}}


def misordered(table: Table) -> Iterator[Table]:
    """The tables with one order turned round, by more than rounding hides."""
    for order in orders(table):
        source = table["sizes"][order.size]
        by = -_lead(source, order) - SLIP * _half(source, order.row)
        for row in _rows(order.row):
            source = moved(source, row, order.higher, by)
        yield {**table, "sizes": {**table["sizes"], order.size: source}}


def _lead(table: Table, order: Order) -> float:
    rows = _rows(order.row)
    return sum(_printed(table, row, order.higher) - _printed(table, row, order.lower) for row in rows) / len(rows)


def _rows(row: str) -> list[str]:
    """Of utility, which the text speaks of as one, all tasks."""
    return [f"utility/{task}" for task in (*TASKS, "mmlu")] if row == "utility" else [row]


def _printed(table: Table, row: str, column: str) -> float:
    """NaN where nothing is printed, which no cell explains."""
    value: Any = table["rows"].get(row, {}).get(column, math.nan)
    return float(value)


def _half(table: Table, row: str) -> float:
    return 0.5 * 10.0 ** -int(table["decimals"][row.partition("/")[0]])
