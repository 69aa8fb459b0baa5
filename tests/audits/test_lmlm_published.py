"""The LMLM audit's copied tables, their recomputation, and what a slip would do to it."""

import hashlib
import itertools
import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from published_tables import read
from references import lmlm_tables as plain

from replication import lmlm as published
from replication import lmlm_tables as tables
from replication.claims import LMLM
from replication.lmlm import FAMILIES
from replication.uds import MOVED, Cell, errata_of, gap, least_gap, moved
from uds_bench.audits.lmlm.attribution import Contingency, PromptOutcome, artifact_gap, contingency
from uds_bench.inference.lookups import Decoding
from uds_bench.retrieval.settings import RetrieverSettings
from uds_bench.statistics import mcnemar

TOLERANCE = next(spec.bound for spec in LMLM if spec.id == "published.lmlm_table6")

TEXT, ERRATA = read("lmlm_text"), read("errata")


def joined(family: str) -> Any:
    return tables.joined(read("lmlm_table6"), read("lmlm_table5"), TEXT["families"].get(family, {}))


TABLES = {family: joined(family) for family in FAMILIES}
ROWS = TABLES["lmlm_table5"]["rows"]
GROUPS = {group.name: group for group in tables.groups(TABLES["lmlm_table5"])}
LISTED = [entry for entry in ERRATA["errata"] if entry["table"].startswith("lmlm_")]


# ---- the copies


def test_copies_are_the_source_s_numbers(public_data: Path) -> None:
    folder = public_data.parent / "tables"
    if not folder.is_dir():
        pytest.skip("not applicable: the published tables are not beside the public data")
    standard, audit, settings = (
        json.loads((folder / f"lmlm_{name}.json").read_text())
        for name in ("table5_standard", "table6_audit", "hyperparameters")
    )
    for name, source in (("lmlm_table5", standard), ("lmlm_table6", audit), ("lmlm_table4", settings)):
        assert read(name)["source"]["sha256"] == TEXT["source"]["sha256"] == source["sha256"]
    for copy, source in zip(read("lmlm_table5")["rows"].values(), standard["rows"], strict=True):
        assert list(copy.values()) == [source[s][v] for s in ("FULL", "DEL_ON", "DEL_OFF") for v in ("P", "R", "F1")]
    for copy, source in zip(read("lmlm_table6")["rows"].values(), audit["rows"], strict=True):
        assert list(copy.values()) == [source[column] for column in ("n", "L", "R", "A")]
    for document, source in (("lmlm_table5", standard), ("lmlm_table6", audit)):
        names = [f"{row['domain']}/{row['variant']}/{row['prompt']}" for row in source["rows"]]
        short = [name.replace("released/released", "released").replace("fewshot", "few_shot") for name in names]
        assert list(read(document)["rows"]) == short
    assert {row["name"]: row["value"] for row in settings["rows"]} == {
        name: row["value"] for name, row in read("lmlm_table4")["rows"].items()
    }


def test_copies_are_what_the_paper_s_own_text_prints(public_data: Path) -> None:
    (paper,) = (public_data.parent / "seeds").glob("000_*.txt") or [None]
    if paper is None:
        pytest.skip("not applicable: the paper is not beside the public data")
    assert hashlib.sha256(paper.read_bytes()).hexdigest() == TEXT["source"]["sha256"]
    text = paper.read_text().replace("\\", "")
    databases = r"(Released LMLM|(?:Countries|Politicians|Sports) (?:Base|Alias|Noise|Collision))"
    wordings = r"(Direct Questions|Paraphrased Questions|Contextual Questions|Cloze Prompts|Continuations|Fewshot)"
    found: dict[int, dict[str, str]] = {3: {}, 9: {}}
    for database, wording, n, numbers in re.findall(databases + wordings + r"((?:[1-9]\d\d)?)((?:[01]\.\d{3})+)", text):
        name = database.replace("Released LMLM", "released").replace(" ", "/").lower()
        short = wording.split()[0].lower().replace("fewshot", "few_shot")
        found[len(numbers) // 5][f"{name}/{short}"] = f"{n}{numbers}"
    audit, standard = read("lmlm_table6")["rows"], read("lmlm_table5")["rows"]
    rates = {k: str(r["n"]) + "".join(f"{r[c]:.3f}" for c in tables.RATES) for k, r in audit.items()}
    assert found[3] == rates
    assert found[9] == {name: "".join(f"{value:.3f}" for value in row.values()) for name, row in standard.items()}


@pytest.mark.parametrize("family", TEXT["families"])
def test_ranges_are_what_their_notation_means(family: str) -> None:
    """Decimals: half a unit of the last place; a count: itself; the rest as the file says of each notation."""
    worded = {"7-10%": (6.5, 10.5), "match within rounding": (0, 0.1), "<0.001": (0, 0.001), "rises": (0, 100)}
    worded["never exceeds 4/600"] = 0, 100 * 4 / 600
    for name, entry in TEXT["families"][family].items():
        printed = entry["printed"]
        assert entry["place"]
        if printed in worded:
            assert entry["range"] == pytest.approx(worded[printed], abs=1e-6)
            continue
        digits = printed.strip("~%").replace(",", "")
        counted = family == "lmlm_table6" or name.split("/")[0] in ("b", "c") or name.startswith("leaked/")
        half = 0 if counted else Fraction(1, 2 * 10 ** len(digits.partition(".")[2]))
        assert entry["range"] == pytest.approx([float(Fraction(digits) - half), float(Fraction(digits) + half)])


def test_defaults_are_those_of_table_4() -> None:
    values = {name: row["value"] for name, row in read("lmlm_table4")["rows"].items()}
    decoding, retriever = Decoding(), RetrieverSettings()
    assert decoding.bias == tuple(values["logit bias on db tokens"].values())
    assert decoding.penalty == values["repetition_penalty"]
    assert values["generation budget"] == f"max({decoding.least}, |p| + {decoding.slack})"
    assert values["do_sample"] is False
    assert (retriever.model, retriever.least) == (values["embedding model"], values["threshold"])
    assert retriever.fallback == values["fallback_policy"]


# ---- counts behind the rates


@pytest.mark.parametrize("name", ROWS)
def test_contingencies_are_as_trying_every_number_finds_them(name: str) -> None:
    counts, row = GROUPS[name].counts, ROWS[name]
    assert (counts.a, counts.b, counts.c, counts.d) == plain.four(row)
    assert min(plain.four(row)) >= 0
    assert counts.n == row["n"]
    choices = plain.choices(row)
    assert GROUPS[name].possible == (min(choices), max(choices))
    assert counts.a == min(choices)


def test_what_fixes_a_in_the_cells_that_leak() -> None:
    ways = {name: group.deduced for name, group in GROUPS.items() if group.deduced != "nothing leaked"}
    assert ways == {
        "countries/alias/continuations": "complete deletion",
        "countries/noise/few_shot": "complete deletion",
        "politicians/alias/few_shot": "complete deletion",
        "politicians/noise/direct": "token scores",
        "sports/base/direct": "token scores",
        "sports/alias/few_shot": "token scores",
        "sports/noise/direct": "token scores",
        "sports/collision/direct": "complete deletion",
        "sports/collision/few_shot": "complete deletion",
    }
    assert all((ROWS[name]["leaked"] == 0) == (name not in ways) for name in ROWS)


def test_printed_statistics_leave_only_collision_to_the_word_that_deletion_was_complete() -> None:
    """The largest c of 4 and chi2 of 407 allow no other a in Alias and Noise than complete deletion does."""
    unsure = {k: plain.choices(row) for k, row in ROWS.items() if len(plain.choices(row)) > 1}
    left: dict[str, set[int]] = {name: set() for name in unsure}
    for tried in itertools.product(*unsure.values()):
        a = dict(zip(unsure, tried, strict=True))
        b, c = dict.fromkeys(plain.VARIANTS, 0), dict.fromkeys(plain.VARIANTS, 0)
        for variant in plain.VARIANTS:
            for name, row in plain.of_variant(ROWS, variant):
                b[variant] += plain.four(row)[1]
                c[variant] += plain.whole(row["leaked"], row["n"]) - a.get(name, plain.four(row)[0])
        chi2 = max(plain.tested(b[v], c[v])[0] or 0 for v in plain.VARIANTS)
        if max(c.values()) == 4 and abs(chi2 - 407) <= Fraction(1, 2):
            for name, value in a.items():
                left[name].add(value)
    assert {name for name, values in left.items() if len(values) > 1} == {
        "sports/collision/direct",
        "sports/collision/few_shot",
    }
    assert all(min(values) == GROUPS[name].counts.a for name, values in left.items())


def test_identities_hold_in_facts_that_give_these_counts() -> None:
    """C.1, C.2, A - R = a / n and McNemar's symmetry; with the attribution that audits use, fact by fact."""
    for group in GROUPS.values():
        counts = group.counts
        states = [(True, True)] * counts.a + [(True, False)] * counts.b + [(False, True)] * counts.c
        facts = [PromptOutcome(on, off) for on, off in states + [(False, False)] * counts.d]
        assert contingency(facts) == counts
        assert artifact_gap(facts) == 0
        leaked, mediated, artifact = (sum(getattr(f, rate) for f in facts) for rate in tables.RATES)
        for rate, number in zip(tables.RATES, (leaked, mediated, artifact), strict=True):
            assert abs(Fraction(number, group.n) - plain.exact(group.row[rate])) <= plain.HALF
        assert sum(f.on for f in facts) == leaked + mediated - counts.c
        assert artifact - mediated == counts.a
        assert mcnemar(counts.b, counts.c) == mcnemar(counts.c, counts.b)
    assert mcnemar(4, 0)[2] == 0.125
    differing = [name for name, group in GROUPS.items() if group.row["artifact"] != group.row["mediated"]]
    assert [(name, GROUPS[name].counts.a) for name in differing] == [
        ("sports/noise/direct", 2),
        ("sports/collision/direct", 1),
    ]


def test_slices_weighted_by_count_pool_to_the_whole_and_unweighted_ones_do_not() -> None:
    every = list(GROUPS.values())
    whole = tables.stack(every)[0]
    for slices in (tables.by_variant(every), tables.by_wording(every)):
        parts = [(tables.stack(part)[0], tables.pooled(part).n) for part in slices.values()]
        assert sum(value * n for value, n in parts) / sum(n for _, n in parts) == pytest.approx(whole, abs=1e-12)
    variants = [tables.stack(part)[0] for part in tables.by_variant(every).values()]
    assert abs(sum(variants) / len(variants) - whole) > 0.5


def test_f1_is_not_the_harmonic_mean_of_mean_precision_and_recall() -> None:
    row = ROWS["countries/base/continuations"]
    harmonic = 2 * row["off_precision"] * row["off_recall"] / (row["off_precision"] + row["off_recall"])
    assert abs(harmonic - row["off_f1"]) < 0.002  # here they nearly agree,
    row = ROWS["sports/base/direct"]
    harmonic = 2 * row["off_precision"] * row["off_recall"] / (row["off_precision"] + row["off_recall"])
    assert row["off_f1"] < harmonic - 0.003  # and here they do not.


# ---- aggregates


@pytest.mark.parametrize("family", ["residual", "f1", "exact_match", "mcnemar", "informative"])
def test_aggregates_are_those_of_exact_fractions(family: str) -> None:
    expected = plain.expected(ROWS)[family]
    cells = {cell.name: cell for cell in FAMILIES[f"lmlm_{family}"](TABLES[f"lmlm_{family}"])}
    assert cells.keys() == expected.keys()
    for name, (low, high) in expected.items():
        assert (cells[name].low, cells[name].high) == pytest.approx((float(low), float(high)), abs=1e-9), name


def test_sizes_are_those_of_the_grid() -> None:
    n = [row["n"] for row in ROWS.values()]
    assert (len(n), sum(n), 3 * sum(n), sum(n) // 6) == (78, 12228, 36684, 2038)
    assert 6 * sum(group.n for group in GROUPS.values() if group.wording == "cloze") == sum(n)


def test_dead_databases_are_three_and_their_leaving_turns_the_order() -> None:
    gone = tables.dead(GROUPS.values())
    assert gone == ["politicians/noise", "sports/base", "sports/alias"] == plain.silent(ROWS)
    assert sum(group.n for group in GROUPS.values() if group.database in gone) == 2880
    left = tables.by_variant(group for group in GROUPS.values() if group.database not in gone)
    stacks = {name: round(tables.stack(part)[0], 2) for name, part in left.items()}
    assert stacks == {"base": 4.85, "alias": 9.05, "collision": 7.21, "noise": 20.69, "released": 0.67}
    full = [sum(tables.mean_score(part, "full_f1")) / 2 for part in left.values()]
    assert [round(min(full), 1), round(max(full), 1)] == [46.6, 51.4]
    best = {
        g.database: max(h.ceiling("full") for h in GROUPS.values() if h.database == g.database) for g in GROUPS.values()
    }
    assert max(best[name] for name in gone) < 0.011 + 0.0005
    assert min(value for name, value in best.items() if name not in gone) > 0.59


def test_without_retrieval_recall_says_more_than_exact_match() -> None:
    more = [row for row in ROWS.values() if row["off_recall"] > row["on_recall"]]
    assert len(more) == 28
    assert round(float(plain.score(list(ROWS.items()), "off_recall")), 2) == 3.77


# ---- cells


def test_a_grid_cell_judges_as_trying_every_number_does() -> None:
    cells = {cell.name: cell for cell in FAMILIES["lmlm_table6"](TABLES["lmlm_table6"])}
    per_row = [cells[f"{name}/{what}"] for name in ROWS for what in (*tables.RATES, "a", "d", "match")]
    assert len(cells) == len(TEXT["families"]["lmlm_table6"]) + 2 * 13 + len(per_row)
    for name, row in ROWS.items():
        for rate in tables.RATES:
            fitting = plain.whole(row[rate], row["n"]) / row["n"]
            cell = cells[f"{name}/{rate}"]
            assert (cell.printed, cell.low, cell.high) == (row[rate], fitting, fitting)
            assert abs(cell.excess) <= 1e-12


def test_no_score_lies_below_exact_match_and_no_f1_above_the_mean() -> None:
    cells = {cell.name: cell for cell in FAMILIES["lmlm_table5"](TABLES["lmlm_table5"])}
    assert len(cells) == 702
    for name, row in ROWS.items():
        a, b, c, _ = plain.four(row)
        for state, right in (("full", 0), ("on", a + b), ("off", a + c)):
            for score in ("precision", "recall", "f1"):
                value = plain.exact(row[f"{state}_{score}"])
                assert value + plain.HALF >= Fraction(right, row["n"])
                assert cells[f"{name}/{state}_{score}"].low == right / row["n"]
            mean = (plain.exact(row[f"{state}_precision"]) + plain.exact(row[f"{state}_recall"])) / 2
            assert plain.exact(row[f"{state}_f1"]) - plain.HALF <= mean + plain.HALF
            assert cells[f"{name}/{state}_f1"].high == pytest.approx(float(mean + plain.HALF))


@pytest.mark.parametrize("family", FAMILIES)
def test_errata_are_exactly_the_cells_that_rounding_cannot_explain(family: str) -> None:
    cells = {cell.name: cell for cell in FAMILIES[family](TABLES[family])}
    found = {name: cell for name, cell in cells.items() if abs(cell.excess) > 1e-9}
    entries = {entry["cell"]: entry for entry in LISTED if entry["table"] == family}
    assert found.keys() == entries.keys()
    for name, entry in entries.items():
        assert found[name].printed == pytest.approx(entry["printed"], abs=1e-6)
        assert [found[name].low, found[name].high] == pytest.approx(entry["allowed"], abs=1e-6)
        assert found[name].excess == pytest.approx(entry["excess"], abs=TOLERANCE)
        assert entry["reason"]


def test_errata_are_of_these_families_alone() -> None:
    assert {entry["table"] for entry in LISTED} <= FAMILIES.keys()
    assert len(LISTED) == 21
    assert {spec.id.removeprefix("published.") for spec in LMLM} == set(FAMILIES)


# ---- slips


@pytest.mark.parametrize("entry", [e for e in LISTED if e["table"] != "lmlm_table6"], ids=lambda e: e["cell"])
def test_an_erratum_that_healed_opens_the_gap(entry: dict[str, Any]) -> None:
    family = entry["table"]
    table, errata = TABLES[family], errata_of(ERRATA, family)
    name, by = entry["cell"], -entry["excess"] * 1.000001
    low, high = table["text"][name]["range"]
    text = {**table["text"], name: {**table["text"][name], "range": [low + by, high + by]}}
    cells = FAMILIES[family]({**table, "text": text})
    assert next(cell for cell in cells if cell.name == name).excess == 0
    worst, where = gap(cells, errata)
    assert (worst, where) == (pytest.approx(abs(entry["excess"]), abs=1e-6), name)
    assert gap(cells, {k: v for k, v in errata.items() if k != name})[0] <= TOLERANCE


def test_a_healed_match_opens_the_gap() -> None:
    table, errata = TABLES["lmlm_table6"], errata_of(ERRATA, "lmlm_table6")
    for name in ("sports/noise/direct", "sports/collision/direct"):
        row = table["rows"][name]
        healed = moved(table, name, "artifact", row["mediated"] - row["artifact"])
        assert gap(FAMILIES["lmlm_table6"](healed), errata) == (pytest.approx(errata[f"{name}/match"]), f"{name}/match")


@pytest.mark.parametrize("family", [family for family in FAMILIES if TABLES[family]["text"]])
def test_every_value_of_the_text_is_watched(family: str) -> None:
    table, errata = TABLES[family], errata_of(ERRATA, family)
    tried = list(published.misprinted(table))
    assert len(tried) == 2 * len(table["text"])
    assert least_gap(tried, FAMILIES[family], errata) > 100 * TOLERANCE


def test_every_rate_and_score_is_watched() -> None:
    rates, scores = TABLES["lmlm_table6"], TABLES["lmlm_table5"]
    tried = [list(published.misread_rates(rates)), list(published.misread_scores(scores))]
    assert [len(each) for each in tried] == [3 * 78, (9 + 3) * 78]
    errata = errata_of(ERRATA, "lmlm_table6")
    assert least_gap(tried[0], FAMILIES["lmlm_table6"], errata) > 100 * TOLERANCE
    assert least_gap(tried[1], FAMILIES["lmlm_table5"], {}) == pytest.approx(MOVED - 2 * 0.0005)


def test_a_number_of_facts_that_is_not_its_database_s_is_noticed() -> None:
    table, errata = TABLES["lmlm_table6"], errata_of(ERRATA, "lmlm_table6")
    for name in ROWS:
        assert gap(FAMILIES["lmlm_table6"](moved(table, name, "n", 1)), errata)[0] >= 1


def test_wordings_of_a_database_ask_for_the_same_facts_even_if_their_sum_is_right() -> None:
    table, errata = TABLES["lmlm_table6"], errata_of(ERRATA, "lmlm_table6")
    traded = moved(moved(table, "politicians/noise/cloze", "n", 1), "politicians/noise/continuations", "n", -1)
    assert gap(FAMILIES["lmlm_table6"](traded), errata) == (2, "politicians/noise/n")


def test_a_database_that_fails_in_one_wording_is_not_dead() -> None:
    table = TABLES["lmlm_informative"]
    silent = {**ROWS["released/cloze"], "full_precision": 0.0, "full_recall": 0.0, "full_f1": 0.0}
    rows = {**table["rows"], "released/cloze": silent}
    assert tables.dead(tables.groups({**table, "rows": rows})) == plain.silent(rows) == plain.silent(ROWS)


def test_too_many_facts_for_three_decimals_are_no_counts() -> None:
    """From 1000 facts on, several numbers round to one rate."""
    table = TABLES["lmlm_table6"]
    large = {**table, "rows": {name: {**row, "n": 1000} for name, row in table["rows"].items()}}
    cells = {cell.name: cell.excess for cell in FAMILIES["lmlm_table6"](large)}
    assert cells["released/one"] == 0
    larger = {**table, "rows": {name: {**row, "n": 1001} for name, row in table["rows"].items()}}
    assert {c.name: c.excess for c in FAMILIES["lmlm_table6"](larger)}["released/one"] < 0


@pytest.mark.parametrize("family", [family for family in FAMILIES if TABLES[family]["text"]])
def test_a_value_that_is_printed_or_recomputed_alone_is_refused(family: str) -> None:
    table = TABLES[family]
    name, *others = table["text"]
    with pytest.raises(ValueError, match=name):
        FAMILIES[family]({**table, "text": {other: table["text"][other] for other in others}})
    with pytest.raises(ValueError, match="unheard"):
        FAMILIES[family]({**table, "text": {**table["text"], "unheard": {"range": [0, 1]}}})


def test_a_missing_row_is_noticed() -> None:
    table, errata = TABLES["lmlm_table6"], errata_of(ERRATA, "lmlm_table6")
    for name in (name for name in ROWS if f"{name}/match" not in errata):
        rows = {other: row for other, row in table["rows"].items() if other != name}
        assert gap(FAMILIES["lmlm_table6"]({**table, "rows": rows}), errata)[0] >= 1


def test_tables_of_other_rows_or_numbers_are_refused() -> None:
    rates, scores = read("lmlm_table6"), read("lmlm_table5")
    less = {**scores, "rows": dict(list(scores["rows"].items())[1:])}
    with pytest.raises(ValueError, match="not the same rows"):
        tables.joined(rates, less, {})
    broken = moved(scores, "released/direct", "on_f1", math.nan)
    with pytest.raises(ValueError, match="released/direct/on_f1"):
        tables.joined(rates, broken, {})


def test_a_range_that_is_no_number_explains_nothing() -> None:
    assert math.isnan(Cell("c", 0.5, math.nan, 0.6, 0.1).excess)
    assert math.isnan(Cell("c", 0.5, 0.4, math.nan, 0.1).excess)
    assert math.isnan(gap([Cell("c", 0.5, math.nan, math.nan, 0.1)], {})[0])


def test_counts_of_a_group_need_no_leak_to_be_counts() -> None:
    group = tables.Group("x/base/direct", {"n": 10, "leaked": 0.0, "mediated": 0.3, "artifact": 0.3}, 0.0005)
    assert group.counts == Contingency(0, 3, 0, 7)
    assert group.deduced == "nothing leaked"
