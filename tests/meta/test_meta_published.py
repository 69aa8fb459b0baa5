"""The copied tables, their recomputation, and what a slip would do to it."""

import json
import math
import shutil
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from published_tables import FOLDER, read
from references import meta_formulas as plain
from small_runs import Bench, Ran

from replication import uds as published
from replication.claims import CLAIMS
from replication.uds import Cell, errata_of, gap, meta_evaluation_cells, moved, scale_cells
from uds_bench.audits.metrics.judged_metrics import JUDGED

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "replication" / "test_published.py"
TOLERANCE = next(spec.bound for spec in CLAIMS if spec.id == "published.uds_table2")

TABLE, SCALE, ERRATA = read("uds_table2"), read("uds_appendix_g"), read("errata")


def written(value: float) -> str:
    """A number as it is printed, with three decimals."""
    return f"{value:.3f}"


def test_cells_are_judged_as_exact_fractions_judge_them() -> None:
    cells = {cell.name: cell for cell in meta_evaluation_cells(TABLE)}
    assert len(cells) == 40
    for name, row in TABLE["rows"].items():
        for result, inputs in (("rob", ("q", "r")), ("overall", ("faithfulness", "rob"))):
            exact = plain.beyond_rounding(written(row[result]), [written(row[i]) for i in inputs])
            assert cells[f"{name}/{result}"].excess == pytest.approx(float(exact), abs=1e-12)


def test_errata_are_exactly_the_cells_that_rounding_cannot_explain() -> None:
    for name, cells in (("uds_table2", meta_evaluation_cells(TABLE)), ("uds_appendix_g", scale_cells(SCALE))):
        found = {cell.name: cell for cell in cells if cell.excess != 0}
        assert found.keys() == errata_of(ERRATA, name).keys()
        for entry in (e for e in ERRATA["errata"] if e["table"] == name):
            cell = found[entry["cell"]]
            assert cell.printed == entry["printed"]
            assert [cell.low, cell.high] == pytest.approx(entry["allowed"], abs=1e-6)
            assert cell.excess == pytest.approx(entry["excess"], abs=TOLERANCE)
            assert entry["reason"]


def test_the_table_is_of_the_twenty() -> None:
    assert list(TABLE["rows"]) == list(JUDGED)
    assert {name: row["label"] for name, row in TABLE["rows"].items()} == {n: r.label for n, r in JUDGED.items()}


def test_the_scale_rises_at_each_size() -> None:
    for size in SCALE["sizes"]:
        column = [Fraction(written(row[size])) for row in SCALE["rows"].values()]
        assert all(lower < higher for lower, higher in pairwise(column))
        assert column[-1] == 1


def test_copies_are_the_source_s_numbers(public_data: Path) -> None:
    tables = public_data.parent / "tables"
    if not tables.is_dir():
        pytest.skip("not applicable: the published tables are not beside the public data")
    source = json.loads((tables / "uds_table2_meta_eval.json").read_text())
    assert source["sha256"] == TABLE["source"]["sha256"]
    keys = {"label": "metric", "faithfulness": "faith", "q": "Q", "r": "R", "rob": "rob", "overall": "overall"}
    assert [{k: row[v] for k, v in keys.items()} for row in source["rows"]] == list(TABLE["rows"].values())
    scale = json.loads((tables / "uds_appendix_g_scale.json").read_text())
    assert {row.pop("source"): row for row in scale["rows"]} == SCALE["rows"]


# ---- gaps


@pytest.mark.parametrize("by", [-published.MOVED, published.MOVED])
@pytest.mark.parametrize("result", ["rob", "overall"])
@pytest.mark.parametrize("name", JUDGED)
def test_a_moved_cell_is_noticed(name: str, result: str, by: float) -> None:
    worst, where = gap(meta_evaluation_cells(moved(TABLE, name, result, by)), errata_of(ERRATA, "uds_table2"))
    assert worst > TOLERANCE
    assert where.startswith(f"{name}/")
    assert read("uds_table2") == TABLE


def cells(excess: float = 0.0) -> list[Cell]:
    return [Cell("right", 0.5, 0.4995, 0.5005, 0.0005), Cell("wrong", 0.6 + excess, 0.4, 0.5995, 0.0005)]


def test_a_listed_deviation_closes_the_gap_and_one_that_healed_opens_it() -> None:
    assert gap(cells(), {})[0] == 0
    assert gap(cells(0.002), {}) == (pytest.approx(0.002), "wrong")
    assert gap(cells(0.002), {"wrong": 0.002})[0] == pytest.approx(0)
    assert gap(cells(), {"wrong": 0.002}) == (pytest.approx(0.002), "wrong")
    assert gap(cells(0.002), {"wrong": -0.002})[0] == pytest.approx(0.004)


@pytest.mark.parametrize(
    ("found", "errata", "told"),
    [
        ([], {}, "no cells"),
        (cells(), {"gone": 0.1}, "gone"),
        (cells(), {"right": math.nan}, "right"),
        (cells(math.nan), {}, "wrong"),
    ],
)
def test_what_cannot_be_compared_is_no_agreement(found: list[Cell], errata: dict[str, float], told: str) -> None:
    worst, text = gap(found, errata)
    assert math.isnan(worst)
    assert told in text


def test_equal_printed_neighbours_may_still_rise() -> None:
    """Rounding may hide a rise, and never a fall."""
    flat = {**SCALE, "rows": {**SCALE["rows"], "retain95": SCALE["rows"]["retain99"]}}
    assert gap(scale_cells(flat), errata_of(ERRATA, "uds_appendix_g"))[0] == 0
    fallen = moved(SCALE, "retain95", "8B", -0.356)
    assert gap(scale_cells(fallen), errata_of(ERRATA, "uds_appendix_g"))[1] == "8B/retain99<retain95"


def test_spoilt_tables_must_exist_to_be_noticed() -> None:
    assert math.isnan(published.least_gap([], meta_evaluation_cells, {}))


def test_an_erratum_is_listed_once() -> None:
    twice = {"errata": [{"table": "t", "cell": "c", "excess": 0.1}] * 2}
    with pytest.raises(ValueError, match="twice"):
        errata_of(twice, "t")


# ---- the claims


def test_the_suite_passes_and_states_its_evidence(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(SUITE)
    assert ran.code == 0, ran.text
    assert ran.verdicts == {spec.id: "pass" for spec in CLAIMS}
    assert {claim["evidence"] for claim in ran.claims.values()} == {"recomputed from published tables"}
    assert all(control["held"] for claim in ran.claims.values() for control in claim["controls"])
    assert ran.report is not None
    assert ran.report["loads"] == {}


@pytest.mark.parametrize(
    ("drop", "change", "told"),
    [("em/overall", 0.0, "em/overall"), (None, 0.01, "uds/rob"), ("em/overall", 0.01, "uds/rob")],
)
def test_a_deviation_that_is_not_listed_fails(bench: Bench, drop: str | None, change: float, told: str) -> None:
    errata = [e for e in ERRATA["errata"] if e["cell"] != drop]
    ran = spoilt_run(bench, errata, "uds_table2", uds_table2=moved(TABLE, "uds", "rob", change))
    assert ran.code == 1
    assert ran.verdicts["published.uds_table2"] == "fail"
    assert told in ran.claims["published.uds_table2"]["message"]


def test_an_erratum_that_is_no_longer_needed_fails(bench: Bench) -> None:
    healed = moved(TABLE, "em", "overall", 0.001)
    ran = spoilt_run(bench, ERRATA["errata"], "uds_table2", uds_table2=healed)
    assert ran.verdicts["published.uds_table2"] == "fail"
    assert "em/overall" in ran.claims["published.uds_table2"]["message"]


def test_a_slip_in_the_deletion_audit_s_tables_fails_the_claims_that_read_it(bench: Bench) -> None:
    more = moved(read("lmlm_table6"), "countries/noise/direct", "mediated", 0.05)
    errata = [e for e in ERRATA["errata"] if e["table"] != "lmlm_exact_match" or e["cell"] != "on/base"]
    ran = spoilt_run(bench, errata, "lmlm", lmlm_table6=more)
    assert ran.code == 1
    failed = {name for name, verdict in ran.verdicts.items() if verdict == "fail"}
    read_by = ("table6", "residual", "exact_match", "mcnemar", "informative")
    assert failed == {f"published.lmlm_{name}" for name in read_by}
    assert "on/base" in ran.claims["published.lmlm_exact_match"]["message"]
    assert "countries/noise/direct" in ran.claims["published.lmlm_table6"]["message"]


def spoilt_run(bench: Bench, errata: list[dict[str, Any]], tables: str, **documents: Any) -> Ran:
    """The suite's claims of some tables on goldens of its own: the copies but for some documents."""
    folder = Path(shutil.copytree(FOLDER, bench.folder / "spoilt" / "published"))
    for name, document in (documents | {"errata": {**ERRATA, "errata": errata}}).items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    bench.manifest()
    return bench.run(SUITE, "-k", tables, "-o", f"uds_goldens={folder.parent}")
