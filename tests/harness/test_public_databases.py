"""The audit's public databases through the road that a manifest takes, asked by the perfect subject."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from uds_bench.audits.lmlm import controls, rates
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell
from uds_bench.audits.lmlm.asking.probe import Library, ask_perfectly
from uds_bench.audits.lmlm.databases import cells_of
from uds_bench.audits.lmlm.judged import JudgedPrompt, judge
from uds_bench.audits.lmlm.section import LmlmSection
from uds_bench.retrieval.settings import RetrieverSettings

ROWS = {"base": 100, "alias": 200}
"""Of the public databases of countries and sports; the others have 140 to 180."""


@pytest.fixture(scope="module")
def cells() -> tuple[DatabaseCell, ...]:
    if "UDS_BENCH_DATA" not in os.environ:
        pytest.skip("not applicable: UDS_BENCH_DATA names no folder with lmlm_audit/")
    folder = Path(os.environ["UDS_BENCH_DATA"]) / "lmlm_audit"
    named = {
        "databases": ["custom_databases/*/*.json", "released_database/*.json"],
        "prompts": ["custom_databases/*/prompts/*/*.jsonl", "released_database/prompts/*.jsonl"],
    }
    section = {key: [str(folder / pattern) for pattern in patterns] for key, patterns in named.items()}
    return cells_of(LmlmSection.model_validate(section | {"wordings": ["direct"]}))


def asked(cells: tuple[DatabaseCell, ...]) -> list[JudgedPrompt]:
    units, replies = ask_perfectly(Library(cells, RetrieverSettings(kind="tfidf")))
    return judge(cells, units, {unit.id: told for unit, told in zip(units, replies, strict=True)})


def test_what_was_published_is_read(cells: tuple[DatabaseCell, ...]) -> None:
    found = {cell.name: (len(cell.source.database), len(cell.facts)) for cell in cells}
    assert len(found) == 9
    for domain in ("countries", "sports"):
        for topology, rows in ROWS.items():
            assert found[f"{domain}/{topology}"] == (rows, rows)
        assert all(140 <= found[f"{domain}/{topology}"][0] <= 180 for topology in ("collision", "noise"))
    assert found["released_database/other"] == (692, 100)


def test_deletion_is_complete_there_and_equal_rows_alone_are_not(cells: tuple[DatabaseCell, ...]) -> None:
    assert controls.left_over(cells, {cell.name: cell.deletions() for cell in cells}) == 0
    exact = {cell.name: replace(cell, policy="exact").deletions() for cell in cells}
    assert controls.left_over(cells, exact) >= 400, "every row of an alias database has a twin"
    assert controls.spared(cells, {cell.name: cell.deletions() for cell in cells}).value == 0


def test_a_perfect_subject_answers_before_and_finds_no_gold_after(cells: tuple[DatabaseCell, ...]) -> None:
    judged = asked(cells)
    assert all(rates.baseline(rows).value > 0.9 for rows in rates.by_cell(judged).values())
    assert sum(one.retains_gold("del_on") for one in judged) == 0
    assert sum(one.retains_gold("full") for one in judged) > 0.9 * len(judged)
