"""Every value that WikiMem's table 1 and the text on it print, beside what definitions and the table itself allow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from replication.uds import Cell, Table

COHORTS = ("well_known", "lesser_known")
SLIP = 6
"""By how many half units of the last place a control moves a number: more than rounding can hide."""


def table_cells(table: Table) -> list[Cell]:
    """Each number within what its definition allows; more of the well-known cohort in every row; what the text says."""
    return [*_ranges(table), *_cohorts(table), *_scale(table), *_text(table)]


def _ranges(table: Table) -> Iterator[Cell]:
    """M is a share, and nothing of those of whom nothing is memorized; z* of n candidates is at most sqrt(n - 1), with
    the standard deviation of a population; H counts subjects."""
    most = math.sqrt(table["counterfactuals"])
    for model, row in table["rows"].items():
        for cohort in COHORTS:
            rate, strength, none = (row[f"{cohort}/{key}"] for key in "MzH")
            share = 100 * (1 - none / table["subjects"])
            yield Cell(f"{model}/{cohort}/M", rate, 0.0, share, _half(table, "M"))
            yield Cell(f"{model}/{cohort}/z", strength, math.ulp(0.0), most, _half(table, "z"))
            yield Cell(f"{model}/{cohort}/H", none, 0.0, float(table["subjects"]), 0.0)
            yield Cell(f"{model}/{cohort}/H is whole", none, round(none), round(none), 0.0)


def _cohorts(table: Table) -> Iterator[Cell]:
    for model, row in table["rows"].items():
        for key in "Mz":
            more = row[f"well_known/{key}"] - row[f"lesser_known/{key}"]
            yield Cell(f"{model}/{key} of well-known > lesser-known", more, math.ulp(0.0), math.inf, 0.0)
        more = row["lesser_known/H"] - row["well_known/H"]
        yield Cell(f"{model}/H of well-known <= lesser-known", more, 0.0, math.inf, 0.0)


def _scale(table: Table) -> Iterator[Cell]:
    """Section 7: strength continues to increase with model size; the smallest model memorizes least."""
    rows = table["rows"]
    for models in table["families"].values():
        for smaller, larger in pairwise(models):
            for cohort in COHORTS:
                more = rows[larger][f"{cohort}/z"] - rows[smaller][f"{cohort}/z"]
                yield Cell(f"{cohort}/z of {larger} > {smaller}", more, math.ulp(0.0), math.inf, 0.0)
    smallest = table["families"]["Pythia"][0]
    for cohort in COHORTS:
        others = min(row[f"{cohort}/M"] for model, row in rows.items() if model != smallest)
        more = others - rows[smallest][f"{cohort}/M"]
        yield Cell(f"{cohort}/M of all > {smallest}", more, math.ulp(0.0), math.inf, 0.0)


def _text(table: Table) -> Iterator[Cell]:
    """Section 7: values that are quoted, and models said to memorize less than a smaller one of their family."""
    for place, quoted in table["quoted"].items():
        model, column = place.split("/", 1)
        printed = table["rows"][model][column]
        half = 0.5 * 10.0 ** -quoted["decimals"] + _half(table, column[-1])
        yield Cell(f"text/{place}", quoted["value"], printed, printed, half)
    for model in table["lower_than_smaller"]:
        family = next(models for models in table["families"].values() if model in models)
        smaller = family[: family.index(model)]
        yield Cell(f"text/models smaller than {model}", len(smaller), 1.0, math.inf, 0.0)
        for other in smaller[-1:]:
            for cohort in COHORTS:
                more = table["rows"][other][f"{cohort}/M"] - table["rows"][model][f"{cohort}/M"]
                yield Cell(f"text/{cohort}/M of {other} > {model}", more, math.ulp(0.0), math.inf, 0.0)


def exchanged_cohorts(table: Table) -> Iterator[Table]:
    """The table with one model's cohorts exchanged, for each model."""
    other = dict(zip(COHORTS, reversed(COHORTS), strict=True))
    for model, row in table["rows"].items():
        turned = {f"{other[place.split('/')[0]]}/{place[-1]}": value for place, value in row.items()}
        yield _with(table, model, turned)


def misread(table: Table) -> Iterator[Table]:
    """The table with one number above what it can be, for each number."""
    most = {"M": 100.0, "z": math.sqrt(table["counterfactuals"]), "H": float(table["subjects"])}
    for model, row in table["rows"].items():
        for place in row:
            above = most[place[-1]] + SLIP * _half(table, place[-1])
            yield _with(table, model, {**row, place: above})


def misquoted(table: Table) -> Iterator[Table]:
    """The table with one quoted value moved, for each of them."""
    for place, quoted in table["quoted"].items():
        moved = quoted["value"] + SLIP * 0.5 * 10.0 ** -quoted["decimals"]
        yield {**table, "quoted": {**table["quoted"], place: {**quoted, "value": moved}}}


def correlations(table: Table) -> dict[str, float]:
    """Spearman's rho of M with H and with z*, over all rows and cohorts."""
    from scipy.stats import spearmanr

    columns = {key: [row[f"{c}/{key}"] for row in table["rows"].values() for c in COHORTS] for key in "MzH"}
    return {f"M and {key}": float(spearmanr(columns["M"], columns[key]).statistic) for key in "Hz"}


def _with(table: Table, model: str, row: dict[str, Any]) -> Table:
    return {**table, "rows": {**table["rows"], model: row}}


def _half(table: Table, key: str) -> float:
    return float(0.5 * 10.0 ** -table["decimals"][key])
