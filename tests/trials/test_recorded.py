"""The cards of built-in methods that are shipped, and the page that shows them."""

from __future__ import annotations

import json
from pathlib import Path

from uds_bench.trials.builtin import builtin
from uds_bench.trials.card import ClaimRow, MethodCard
from uds_bench.trials.recorded_cards import cleared_by, read, recorded, tables

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "methods.md"


def test_the_page_shows_the_cards_that_are_shipped() -> None:
    made = "\n".join(tables(recorded()))
    assert made
    assert made in PAGE.read_text()


def test_shipped_cards_are_of_methods_that_can_be_tried_and_are_read_back_whole() -> None:
    for card in recorded():
        assert builtin(card.method).name == card.method
        assert read(json.dumps(card.to_json())) == card


def row(verdict: str, **seeds: int) -> ClaimRow:
    return ClaimRow("depth.score", verdict, seeds, None, None, None, ">= 0.7")


def test_a_method_that_was_not_judged_by_a_claim_is_not_counted() -> None:
    cards = [MethodCard("a", (row("pass", **{"pass": 3}),), ()), MethodCard("b", (row("fail", fail=3),), ())]
    assert cleared_by("depth.score", [*cards, MethodCard("c", (row("not applicable"),), ())]) == "1 of 2"
    assert cleared_by("depth.spared", cards) == "0 of 0"


def test_seeds_that_differ_are_told_by_how_many_pass() -> None:
    cards = [MethodCard("a", (row("undecided", **{"pass": 2, "undecided": 1}),), ()), MethodCard("b", (), ())]
    *_, mixed, missing = tables(cards)
    assert mixed == "| a | 2 of 3 pass | - |"
    assert missing == "| b | - | - |"
