"""Published tables, recomputed: do the numbers that the field quotes follow from each other?

The tables are copied to goldens/published with their source. A cell that rounding cannot explain is a named erratum in
errata.json; one that is no longer needed fails as a new deviation does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from uds_bench.harness import Claim, ControlSubject
from uds_bench.meta import published
from uds_bench.meta.published import MOVED, Cell, Table


@pytest.mark.claim("published.uds_table2")
def test_uds_table2(claim: Claim, goldens: Path) -> None:
    table, errata = read(goldens, "uds_table2")
    slips = [published.moved(table, row, cell) for row in table["rows"] for cell in ("rob", "overall")]
    hold(claim, table, errata, published.meta_evaluation_cells, {f"any cell moved by {MOVED}": slips})


@pytest.mark.claim("published.uds_appendix_g")
def test_uds_appendix_g(claim: Claim, goldens: Path) -> None:
    table, errata = read(goldens, "uds_appendix_g")
    (full, *_, retain) = table["rows"]
    slips = [published.moved(table, end, size) for end in (full, retain) for size in table["sizes"]]
    swaps = [published.exchanged(table, *pair) for pair in pairwise(table["rows"])]
    spoilt = {f"any end moved by {MOVED}": slips, "any two neighbours exchanged": swaps}
    hold(claim, table, errata, published.scale_cells, spoilt)


def read(goldens: Path, name: str) -> tuple[Table, dict[str, float]]:
    """A copied table and its errata."""
    folder = goldens / "published"
    errata = json.loads((folder / "errata.json").read_text())
    return json.loads((folder / f"{name}.json").read_text()), published.errata_of(errata, name)


def hold(
    claim: Claim,
    table: Table,
    errata: Mapping[str, float],
    cells_of: Callable[[Table], list[Cell]],
    spoilt: Mapping[str, Iterable[Table]],
) -> None:
    """No cell deviates by other than its erratum says, and every spoilt table is noticed."""
    cells = cells_of(table)
    worst, where = published.gap(cells, errata)
    noticed = {name: published.least_gap(tables, cells_of, errata) for name, tables in spoilt.items()}
    noticed["without errata"] = published.gap(cells, {})[0]
    provenance: dict[str, Any] = {"source": table["source"], "cells": len(cells), "errata": dict(errata)}
    claim.identity(
        worst,
        tolerance=claim.bound(),
        what=f"{len(cells)} cells, {len(errata)} errata; largest deviation that neither explains, at {where}",
        controls=[ControlSubject(name, "fail", value) for name, value in noticed.items()],
        provenance=provenance,
    )
