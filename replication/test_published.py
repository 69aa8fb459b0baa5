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

from replication import lacuna, lmlm, wikimem
from replication import uds as published
from replication.lmlm_tables import dead, groups, joined
from replication.uds import MOVED, Cell, Table
from uds_bench.claims import Claim, ControlSubject

pytestmark = pytest.mark.laboratory  # about papers, and no candidate
TEXT, ALIKE = "any value of the text moved", "every prompt file counted alike"
"""Controls of the LMLM audit's claims."""


@pytest.mark.claim("published.uds_table2")
def test_uds_table2(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read(uds_goldens, "uds_table2")
    slips = [published.moved(table, row, cell) for row in table["rows"] for cell in ("rob", "overall")]
    hold(uds_claim, table, errata, published.meta_evaluation_cells, {f"any cell moved by {MOVED}": slips})


@pytest.mark.claim("published.uds_appendix_g")
def test_uds_appendix_g(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read(uds_goldens, "uds_appendix_g")
    (full, *_, retain) = table["rows"]
    slips = [published.moved(table, end, size) for end in (full, retain) for size in table["sizes"]]
    swaps = [published.exchanged(table, *pair) for pair in pairwise(table["rows"])]
    spoilt = {f"any end moved by {MOVED}": slips, "any two neighbours exchanged": swaps}
    hold(uds_claim, table, errata, published.scale_cells, spoilt)


@pytest.mark.claim("published.lmlm_table6")
def test_lmlm_table6(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read_lmlm(uds_goldens, "lmlm_table6")
    spoilt = {TEXT: lmlm.misprinted(table), f"any rate moved by {MOVED}": lmlm.misread_rates(table)}
    # Nothing in the tables fixes these, and appendix D's counts need them.
    assumed = [group.name for group in groups(table) if group.deduced == "complete deletion"]
    hold(uds_claim, table, errata, lmlm.table6_cells, spoilt, {"a and c if deletion was complete": assumed})


@pytest.mark.claim("published.lmlm_table5")
def test_lmlm_table5(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read_lmlm(uds_goldens, "lmlm_table5")
    hold(uds_claim, table, errata, lmlm.table5_cells, {"any score out of its bounds": lmlm.misread_scores(table)})


@pytest.mark.claim("published.lmlm_residual")
def test_lmlm_residual(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read_lmlm(uds_goldens, "lmlm_residual")
    hold(uds_claim, table, errata, lmlm.residual_cells, {TEXT: lmlm.misprinted(table), ALIKE: [lmlm.unweighted(table)]})


@pytest.mark.claim("published.lmlm_f1")
def test_lmlm_f1(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read_lmlm(uds_goldens, "lmlm_f1")
    hold(uds_claim, table, errata, lmlm.f1_cells, {TEXT: lmlm.misprinted(table), ALIKE: [lmlm.unweighted(table)]})


@pytest.mark.claim("published.lmlm_exact_match")
def test_lmlm_exact_match(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read_lmlm(uds_goldens, "lmlm_exact_match")
    hold(
        uds_claim,
        table,
        errata,
        lmlm.exact_match_cells,
        {TEXT: lmlm.misprinted(table), ALIKE: [lmlm.unweighted(table)]},
    )


@pytest.mark.claim("published.lmlm_mcnemar")
def test_lmlm_mcnemar(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read_lmlm(uds_goldens, "lmlm_mcnemar")
    hold(uds_claim, table, errata, lmlm.mcnemar_cells, {TEXT: lmlm.misprinted(table), ALIKE: [lmlm.unweighted(table)]})


@pytest.mark.claim("published.lmlm_informative")
def test_lmlm_informative(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read_lmlm(uds_goldens, "lmlm_informative")
    spoilt = {TEXT: lmlm.misprinted(table), "every database answering when intact": [lmlm.none_dead(table)]}
    hold(uds_claim, table, errata, lmlm.informative_cells, spoilt, {"left out": dead(groups(table))})


@pytest.mark.claim("published.lacuna_table2")
def test_lacuna_table2(uds_claim: Claim, uds_goldens: Path) -> None:
    hold_lacuna(uds_claim, uds_goldens, "lacuna_table2")


@pytest.mark.claim("published.lacuna_table3")
def test_lacuna_table3(uds_claim: Claim, uds_goldens: Path) -> None:
    hold_lacuna(uds_claim, uds_goldens, "lacuna_table3")


@pytest.mark.claim("published.lacuna_text")
def test_lacuna_text(uds_claim: Claim, uds_goldens: Path) -> None:
    text, errata = read(uds_goldens, "lacuna_text")
    sizes = {"1B": read(uds_goldens, "lacuna_table2")[0], "7B": read(uds_goldens, "lacuna_table3")[0]}
    table = lacuna.joined(sizes, text)
    spoilt = {TEXT: lacuna.misquoted(table), "any order turned round": lacuna.misordered(table)}
    hold(uds_claim, table, errata, lacuna.text_cells, spoilt)


@pytest.mark.claim("published.wikimem_table1")
def test_wikimem_table1(uds_claim: Claim, uds_goldens: Path) -> None:
    table, errata = read(uds_goldens, "wikimem_table1")
    spoilt = {
        "any number above what it can be": wikimem.misread(table),
        "any model's cohorts exchanged": wikimem.exchanged_cohorts(table),
        TEXT: wikimem.misquoted(table),
    }
    hold(uds_claim, table, errata, wikimem.table_cells, spoilt, {"rank correlation": wikimem.correlations(table)})


def hold_lacuna(uds_claim: Claim, uds_goldens: Path, name: str) -> None:
    table, errata = read(uds_goldens, name)
    spoilt = {
        "any number out of its bounds": lacuna.misread(table),
        "any change of a task by half a question": lacuna.half_questions(table),
    }
    seen = {
        "share of forget weights that OracleGrad left": lacuna.untouched(table),
        "forget and retain weights against those of no mask": lacuna.against_no_mask(table),
        "right and without probability": lacuna.sure_of_nothing(table),
    }
    hold(uds_claim, table, errata, lacuna.table_cells, spoilt, seen)


def read(uds_goldens: Path, name: str) -> tuple[Table, dict[str, float]]:
    """A copied table and its errata."""
    folder = uds_goldens / "published"
    errata = json.loads((folder / "errata.json").read_text())
    return json.loads((folder / f"{name}.json").read_text()), published.errata_of(errata, name)


def read_lmlm(uds_goldens: Path, family: str) -> tuple[Table, dict[str, float]]:
    """The LMLM audit's tables with what its text prints of one family, and the errata of that family."""
    copies = [read(uds_goldens, name)[0] for name in ("lmlm_table6", "lmlm_table5", "lmlm_text")]
    errata = published.errata_of(json.loads((uds_goldens / "published" / "errata.json").read_text()), family)
    return joined(copies[0], copies[1], copies[2]["families"].get(family, {})), errata


def hold(
    uds_claim: Claim,
    table: Table,
    errata: Mapping[str, float],
    cells_of: Callable[[Table], list[Cell]],
    spoilt: Mapping[str, Iterable[Table]],
    more: Mapping[str, Any] | None = None,
) -> None:
    """No cell deviates by other than its erratum says, and every spoilt table is noticed."""
    cells = cells_of(table)
    worst, where = published.gap(cells, errata)
    noticed = {name: published.least_gap(tables, cells_of, errata) for name, tables in spoilt.items()}
    if errata:
        noticed["without errata"] = published.gap(cells, {})[0]
    provenance = {"source": table["source"], "cells": len(cells), "errata": dict(errata), **(more or {})}
    uds_claim.identity(
        worst,
        tolerance=uds_claim.bound(),
        what=f"{len(cells)} cells, {len(errata)} errata; largest deviation that neither explains, at {where}",
        controls=[ControlSubject(name, "fail", value) for name, value in noticed.items()],
        provenance=provenance,
    )
