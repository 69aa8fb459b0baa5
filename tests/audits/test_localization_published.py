"""Lacuna's copied tables, what they allow each other, what the text says of them, and what a slip would do."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_tables import read

from replication import lacuna as published
from replication.claims import CLAIMS
from replication.lacuna import ITEM, SLIP, TASKS, misordered, misquoted, misread, orders
from replication.uds import errata_of, gap, least_gap, moved

TOLERANCE = next(spec.bound for spec in CLAIMS if spec.id == "published.lacuna_table2")
SIZES = {"1B": "lacuna_table2", "7B": "lacuna_table3"}
SHORT = {
    "EM": "em",
    "ES": "es",
    "Prob": "prob",
    "ARC-C": "arc_c",
    "ARC-E": "arc_e",
    "HSwag": "hellaswag",
    "MMLU": "mmlu",
    "AUC (F|R)": "auc_forget_or_retain",
    "AUC (F)": "auc_forget",
}

TABLES = {size: read(name) for size, name in SIZES.items()}
TEXT, ERRATA, SETTINGS = read("lacuna_text"), read("errata"), read("lacuna_table5")
BOTH = published.joined(TABLES, TEXT)
CELLS = {SIZES[size]: published.table_cells(table) for size, table in TABLES.items()}
CELLS["lacuna_text"] = published.text_cells(BOTH)
LISTED = [entry for entry in ERRATA["errata"] if entry["table"].startswith("lacuna_")]
COLUMNS = [f"{field}/{method}" for field in TABLES["1B"]["fields"] for method in TABLES["1B"]["methods"]]


# ---- the copies


def shared(public_data: Path, name: str) -> dict[str, Any]:
    path = public_data.parent / "tables" / f"{name}.json"
    if not path.exists():
        pytest.skip("not applicable: the published tables are not beside the public data")
    document: dict[str, Any] = json.loads(path.read_text())
    return document


@pytest.mark.parametrize(("size", "name"), [("1B", "lacuna_table2_olmo2_1b"), ("7B", "lacuna_table3_olmo3_7b")])
def test_copies_are_the_source_s_numbers(public_data: Path, size: str, name: str) -> None:
    source = shared(public_data, name)
    assert TABLES[size]["source"]["sha256"] == TEXT["source"]["sha256"] == source["sha256"]
    assert len(source["rows"]) == len(TABLES[size]["rows"]) == 18
    for row in source["rows"]:
        form = "_paraphrased" if row["metric"].endswith("Paraph.") else ""
        copy = TABLES[size]["rows"][f"{row['group'].split()[0].lower()}/{SHORT[row['metric'].split(' Par')[0]]}{form}"]
        assert copy == {name.replace(".", "/"): cell for name, cell in row["cells"].items() if cell is not None}


def test_settings_are_the_source_s(public_data: Path) -> None:
    source = shared(public_data, "lacuna_table5_hparams")
    assert len(source["rows"]) == len(SETTINGS["rows"]) == 29
    for row in source["rows"]:
        copy = SETTINGS["rows"][f"{row['method']}/{row['name'].replace('vv', 'v')}"]
        for size, column in (("1B", "olmo2_1b"), ("7B", "olmo3_7b")):
            value = row[column]
            assert copy[size] == (json.loads(value) if str(value).startswith("[") else value)
        numbers = not isinstance(copy["1B"], str)
        assert copy["bold"] == row["bold"] == (numbers and copy["1B"] != copy["7B"]), "what differs is bold"


def paper(public_data: Path) -> str:
    found = next((public_data.parent / "seeds").glob("001_*.txt"), None)
    if found is None:
        pytest.skip("not applicable: the paper is not beside the public data")
    return found.read_text()


def test_copies_are_what_the_paper_s_own_text_prints(public_data: Path) -> None:
    text = paper(public_data)
    for size, number in (("1B", 2), ("7B", 3)):
        table = next(
            line
            for line in text.splitlines()
            if line.startswith(("Email Address Phone", "Email Phone")) and (("63.2 36.8" in line) == (number == 2))
        )
        found = [float(number) for number in re.findall(r"[+-]?\d+\.\d+", table)]
        assert found == [value for row in TABLES[size]["rows"].values() for value in row.values()]


def test_sentences_are_the_paper_s(public_data: Path) -> None:
    text = " ".join(paper(public_data).split())
    for said in TEXT["orders"].values():
        assert all(part in text for part in said["printed"].split(" ... ")), said["printed"]
    for name, entry in TEXT["values"].items():
        low, high = (Fraction(str(end)) for end in entry["range"])
        assert (low + high) / 2 == Fraction(entry["printed"])
        assert high - low == Fraction(1, 1000)
        method = name.partition("/")[2]
        assert re.search(rf"{method} [^.]*precision \({re.escape(entry['printed'])}", text), name


# ---- what definitions allow


TOKENS = st.lists(st.tuples(st.booleans(), st.floats(1e-6, 1)), min_size=1, max_size=6)
"""Of an answer, by token: whether it is the likeliest, and its probability, which is at most one half if it is not."""


@given(st.lists(TOKENS, min_size=1, max_size=8))
def test_bounds_follow_from_the_scores_definitions(answers: list[list[tuple[bool, float]]]) -> None:
    exact, strength, prob, joint, floor = (Fraction(0) for _ in range(5))
    for answer in answers:
        n, right = len(answer), [likeliest for likeliest, _ in answer]
        given = next((k for k in range(n) if all(right[k:])), n - 1)  # as the field's loop over k < |y| leaves it
        product = math.prod(p if likeliest else p / 2 for likeliest, p in answer)
        exact += Fraction(sum(right), n)
        strength += 1 - Fraction(given, n)
        prob += Fraction(product ** (1 / n))
        joint += Fraction(product)
        floor += Fraction(1, n)
    exact, strength, prob, joint, floor = (100 * x / len(answers) for x in (exact, strength, prob, joint, floor))
    assert floor <= strength <= exact + floor
    assert max(prob, joint) <= (100 + exact) / 2 + Fraction(1, 10**9)


def pairs(ours: list[float], theirs: list[float]) -> Fraction:
    """The AUC, by all pairs."""
    wins = sum(Fraction(1 + (a > b) - (a < b), 2) for a in ours for b in theirs)
    return wins / (len(ours) * len(theirs))


def test_what_aucs_say_of_an_oracle_and_of_both_masks() -> None:
    """Masks of 15% to forget, 15% to keep, and 70% of no mask, all pairs counted."""
    forget, retain, none = [0.0] * 2 + [1.0 + at for at in range(13)], [0.0] * 15, [0.0] * 70
    alone, both = pairs(forget, retain + none), pairs(forget + retain, none)
    assert alone == 1 - Fraction(2, 15) / 2
    assert both == (alone + Fraction(1, 2)) / 2, "what the column of AUC (F|R) leaves blank"
    forget, retain, none = [0.0, 3.0] * 15, [1.0, 2.0] * 15, [float(at % 4 > at % 3) for at in range(140)]
    assert pairs(forget, retain) == Fraction(1, 2)
    rows = {"precision/auc_forget": {"a/SN": float(pairs(forget, retain + none))}}
    rows["precision/auc_forget_or_retain"] = {"a/SN": float(pairs(forget + retain, none))}
    found = published.against_no_mask({"fields": ["a"], "rows": rows})
    assert found["a"] == pytest.approx((float(pairs(forget, none)), float(pairs(retain, none))), abs=1e-4)
    assert abs(found["a"][0] - found["a"][1]) > 0.01


@pytest.mark.parametrize("size", TABLES)
def test_any_other_reading_of_the_short_row_gives_the_oracle_what_it_cannot_have(size: str) -> None:
    rows = TABLES[size]["rows"]
    printed = list(rows["precision/auc_forget_or_retain"].values())
    blanks = {}
    for blank in ("AE", "MF", "OG", "SN"):
        columns = [column for column in COLUMNS if not column.endswith(blank)]
        read_so = dict(zip(columns, printed, strict=True))
        possible = {c: (rows["precision/auc_forget"][c] + 0.5) / 2 for c in COLUMNS if c.endswith("OG")}
        blanks[blank] = all(abs(read_so.get(column, at) - at) < 0.001 for column, at in possible.items())
    assert blanks == {"AE": False, "MF": False, "OG": True, "SN": False}


# ---- findings


def test_what_the_oracle_left() -> None:
    shares = [share for table in TABLES.values() for share in published.untouched(table).values()]
    assert (min(shares), max(shares)) == (0.17, 0.18)


def test_simnpo_finds_what_was_injected_not_what_is_to_be_forgotten() -> None:
    """As far as rounding tells, retain weights stand out from those of no mask as much as forget weights, or more."""
    rounding = 0.0005 * (0.85 / 0.70 + 2 + 0.85 / 0.70)
    for table in TABLES.values():
        for forget, retain in published.against_no_mask(table).values():
            assert forget > 0.51
            assert retain > forget - rounding
    assert published.against_no_mask(TABLES["1B"])["phone_number"] == (0.5182, 0.5218)


def test_right_tokens_without_probability() -> None:
    assert published.sure_of_nothing(TABLES["1B"]) == []
    fields = ["email_address/MF", "phone_number/MF"]
    assert published.sure_of_nothing(TABLES["7B"]) == fields + [f"{field}_paraphrased" for field in fields]


def test_floors_are_those_of_short_answers() -> None:
    floors = {
        size: [min(table["rows"]["forget/es"][f"{field}/{m}"] for m in table["methods"]) for field in table["fields"]]
        for size, table in TABLES.items()
    }
    assert floors == {"1B": [15.9, 16.6, 66.6, 15.6], "7B": [13.1, 15.3, 68.9, 14.5]}


# ---- cells


@pytest.mark.parametrize("name", CELLS)
def test_errata_are_exactly_the_cells_that_rounding_cannot_explain(name: str) -> None:
    cells = {cell.name: cell for cell in CELLS[name]}
    assert len(cells) == len(CELLS[name]) == (89 if name == "lacuna_text" else 318)
    found = {key: cell for key, cell in cells.items() if not abs(cell.excess) <= 1e-9}
    entries = {entry["cell"]: entry for entry in LISTED if entry["table"] == name}
    assert found.keys() == entries.keys()
    for key, entry in entries.items():
        assert found[key].printed == pytest.approx(entry["printed"], abs=1e-6)
        assert [found[key].low, found[key].high] == entry["allowed"]
        assert found[key].excess == pytest.approx(entry["excess"], abs=TOLERANCE)
        assert entry["reason"]
    assert len(LISTED) == 9
    assert {entry["table"] for entry in LISTED} == CELLS.keys()


@pytest.mark.parametrize("size", TABLES)
def test_scores_may_be_what_exact_fractions_of_the_printed_ones_allow(size: str) -> None:
    rows = {row: {c: Fraction(str(v)) for c, v in cells.items()} for row, cells in TABLES[size]["rows"].items()}
    cells, half = {cell.name: cell for cell in CELLS[SIZES[size]]}, Fraction(1, 20)
    for column in COLUMNS:
        field = column.partition("/")[0]
        for side in ("forget", "retain"):
            forms = ("", "_paraphrased")
            least = min(rows[f"{side}/es{form}"][f"{field}/{m}"] for form in forms for m in ("AE", "MF", "OG", "SN"))
            for form in forms:
                exact = rows[f"{side}/em{form}"][column]
                strength, prob = (cells[f"{side}/{score}{form}/{column}"] for score in ("es", "prob"))
                assert strength.high == pytest.approx(float(min(100, exact + least + 2 * half)))
                assert strength.low == pytest.approx(float(least - half if side == "forget" else 0))
                assert prob.high == pytest.approx(float((100 + exact + half) / 2))
                assert prob.low == 0
        together = cells.get(f"precision/auc_forget_or_retain/{column}")
        if column.endswith("SN"):
            assert together is not None
            assert together.low == float(rows["precision/auc_forget"][column])
            continue
        assert (together is None) is column.endswith("OG")
        span = (0.9, 1.0) if together is None else (0.499, 0.501)
        for cell in filter(None, (cells[f"precision/auc_forget/{column}"], together)):
            assert (cell.low, cell.high) == span
        for form in ("", "_paraphrased") if column.endswith(("MF", "OG")) else ():
            floor = cells[f"floor/{column}{form}"]
            assert (
                floor.low == floor.high == float(min(rows[f"forget/es{form}"][column] for form in ("", "_paraphrased")))
            )
            assert floor.half == 2 * float(half)


@pytest.mark.parametrize("size", TABLES)
def test_every_number_has_a_cell_and_is_watched(size: str) -> None:
    table, errata = TABLES[size], errata_of(ERRATA, SIZES[size])
    named = {cell.name for cell in CELLS[SIZES[size]]}
    assert {f"{row}/{column}" for row, cells in table["rows"].items() for column in cells} <= named
    tried = [list(misread(table)), list(published.half_questions(table))]
    assert [len(each) for each in tried] == [2 * (16 * 17 + 12), 16 * 3]
    assert all(least_gap(each, published.table_cells, errata) > 100 * TOLERANCE for each in tried)


def test_every_value_and_order_of_the_text_is_watched() -> None:
    errata = errata_of(ERRATA, "lacuna_text")
    tried = [list(misquoted(BOTH)), list(misordered(BOTH))]
    assert [len(each) for each in tried] == [4, 87]
    assert all(least_gap(each, published.text_cells, errata) > 100 * TOLERANCE for each in tried)


def test_every_order_reads_both_numbers_that_it_names() -> None:
    """A move of either changes the lead by as much; of utility's four tasks, by a fourth."""
    before = {cell.name: cell.printed for cell in CELLS["lacuna_text"]}
    for order in orders(BOTH):
        row = "utility/arc_e" if order.row == "utility" else order.row
        share = 0.25 if order.row == "utility" else 1.0
        for column, sign in ((order.higher, 1), (order.lower, -1)):
            sizes = {**TABLES, order.size: moved(TABLES[order.size], row, column, 7.0)}
            after = {cell.name: cell.printed for cell in published.text_cells(published.joined(sizes, TEXT))}
            assert after[order.name] - before[order.name] == pytest.approx(sign * share * 7.0)


@pytest.mark.parametrize("entry", [e for e in LISTED if e["table"] == "lacuna_text"], ids=lambda e: e["cell"])
def test_an_erratum_that_healed_opens_the_gap(entry: dict[str, Any]) -> None:
    errata = errata_of(ERRATA, "lacuna_text")
    (order,) = (order for order in orders(BOTH) if order.name == entry["cell"])
    healed = moved(TABLES[order.size], order.row, order.higher, -entry["excess"])
    cells = published.text_cells(published.joined({**TABLES, order.size: healed}, TEXT))
    assert gap(cells, errata)[0] >= abs(entry["excess"]) - 1e-6


@pytest.mark.parametrize("size", TABLES)
def test_a_number_left_out_is_noticed(size: str) -> None:
    table, errata = TABLES[size], errata_of(ERRATA, SIZES[size])
    for row, cells in table["rows"].items():
        for gone in cells:
            left = {column: value for column, value in cells.items() if column != gone}
            found, _ = gap(published.table_cells({**table, "rows": {**table["rows"], row: left}}), errata)
            assert not found <= TOLERANCE


def test_what_is_no_number_is_noticed() -> None:
    errata = errata_of(ERRATA, "lacuna_table2")
    for row, cells in TABLES["1B"]["rows"].items():
        broken = moved(TABLES["1B"], row, next(iter(cells)), math.nan)
        assert math.isnan(gap(published.table_cells(broken), errata)[0])


def test_changes_are_whole_questions_of_fifty() -> None:
    changes = [c for table in TABLES.values() for task in TASKS for c in table["rows"][f"utility/{task}"].values()]
    assert len(changes) == 96
    assert all(Fraction(str(change)) % 2 == 0 for change in changes)
    assert {abs(change) for change in changes} >= {ITEM, 2 * ITEM}, "so the questions are not fewer than fifty"
    assert SLIP * 0.05 < ITEM / 2
