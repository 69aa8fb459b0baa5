"""Objects that a forger of the LMLM audit tells in other letters: which are heard, and which get through."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lmlm_fakes import LEAKAGE, leaked, saying

from uds_bench.audits.lmlm import controls
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.facts.triplets import Triplet, TripletDatabase


@pytest.mark.parametrize("hide", [{"a": "а", "o": "о", "e": "е"}, {"a": "a\u200b", "o": "ο", "e": "e\u2060"}])
def test_letters_that_look_alike_or_are_not_seen_hide_nothing(hide: dict[str, str]) -> None:
    """Of answers, and of rows that say the same in other letters."""
    letters = str.maketrans(hide)
    assert leaked(saying(lambda one: one.fact.triplet.object.translate(letters))) > 0.9
    rows = [Triplet(f"Town {name}", "mayor", f"Leona {name}") for name in "ABCDEF"]
    twins = [Triplet(*(text.translate(letters) for text in row)) for row in rows]
    facts = tuple(LookupFact(at, row) for at, row in enumerate(rows))
    prompts = tuple(LookupPrompt(fact.id, "direct", f"Who is mayor of {fact.triplet.subject}?") for fact in facts)
    cell = DatabaseCell("towns", "base", LookupPrompts(TripletDatabase([*rows, *twins]), facts, prompts))
    assert all(gone == {at, at + len(rows)} for at, gone in cell.deletions().items())
    exact = {cell.name: replace(cell, policy="exact").deletions()}
    assert controls.left_over([cell], exact) == len(rows), "lmlm.deletion_complete sees them too"


def test_letters_with_accents_hide_nothing() -> None:
    assert leaked(saying(lambda one: "\u0301".join(one.fact.triplet.object))) > 0.9


def test_letters_said_apart_are_heard_of_long_names() -> None:
    """Those of a short one may stand one after another by chance."""
    assert leaked(saying(lambda one: "-".join(one.fact.triplet.object))) > LEAKAGE


def test_letters_said_backwards_still_get_through() -> None:
    """Still open: the name is there for a reader and for no matcher."""
    assert not leaked(saying(lambda one: one.fact.triplet.object[::-1])) > LEAKAGE
