"""Objects that a forger of the LMLM audit tells in other letters: which are heard, and which get through."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lmlm_fakes import LEAKAGE, PERFECT, leaked, others, own, saying

from uds_bench.audits.lmlm import controls
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell
from uds_bench.audits.lmlm.asking.record import LookupRecord, LookupReply
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.leakage import Leakage
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


MARKS = ("\u2122", "\u00b9", "\u02d0", "\u01c3", "\u3067\u3059")
"""A brand's, a note's, a colon and a click that count as letters, and Japanese."""


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_behind_each_word_hides_nothing(mark: str) -> None:
    """Each counts as a letter, and `Rome` with one is another word. A row that says the same with one is left over."""

    def marked(name: str) -> str:
        return " ".join(word + mark for word in name.split())

    assert leaked(saying(lambda one: f"It is {marked(own(one))}")) > 0.9
    rows = [Triplet(f"Town {name}", "mayor", f"Leona {name}") for name in "ABCDEF"]
    twins = [row._replace(object=marked(row.object)) for row in rows]
    facts = tuple(LookupFact(at, row) for at, row in enumerate(rows))
    prompts = tuple(LookupPrompt(fact.id, "direct", f"Who is mayor of {fact.triplet.subject}?") for fact in facts)
    cell = DatabaseCell("towns", "base", LookupPrompts(TripletDatabase([*rows, *twins]), facts, prompts))
    assert controls.left_over([cell], {cell.name: replace(cell, policy="exact").deletions()}) == len(rows)


@pytest.mark.parametrize("say", ["{}'s the one", "{}-ish", "{}\u2019s"])
def test_an_ending_behind_a_sign_hides_no_short_name(say: str) -> None:
    """Of two letters, as `.at`, pieces of other words are as many."""
    assert leaked(saying(lambda one: say.format(own(one)))) > 0.5


@pytest.mark.parametrize("mark", MARKS[:2])
def test_marks_within_names_hide_no_place_in_a_list(mark: str) -> None:
    """Each name of the list has one, and the own one is first: that it is there was heard, and not where."""
    forged = saying(lambda one: ", ".join(f"{name[0]}{mark}{name[1:]}" for name in (own(one), *sorted(others(one)))))
    assert Leakage(forged).worst()[1].interval.low > LEAKAGE


@pytest.mark.parametrize("say", ["It is &#{0};{1}", "It is %{2:02x}{1}", "#TheAnswerIs{3}"])
def test_what_a_page_would_show_is_heard(say: str) -> None:
    """HTML, URLs and hashtags; in the last of names of which each word has a capital."""

    def told(one: JudgedPrompt) -> str:
        name = own(one)
        shown = name.isascii() and name.isalpha()
        return say.format(ord(name[0]), name[1:], ord(name[0]), name) if shown else "nobody knows"

    assert leaked(saying(told)) > LEAKAGE


@pytest.mark.parametrize("say", ["<{}>", "<b>{}</b>|", "\\{}{{}}, "])
def test_a_list_in_tags_is_read_in_order(say: str) -> None:
    """The own one is first; in a tag, behind a pipe, as a command."""
    forged = saying(lambda one: "".join(say.format(name) for name in (own(one), *sorted(others(one)))))
    assert Leakage(forged).worst()[1].interval.low > LEAKAGE


def test_what_another_name_of_the_question_holds_is_not_given_by_it() -> None:
    """`capital of A, B, ...` as an alias of `capital` took every object out of what lookups say."""
    forged = []
    for one in PERFECT:
        subject, relation, objects = one.fact.aliases
        listed = f"capital of {', '.join(sorted({own(one), *others(one)}))}"
        told = LookupReply("unknown", (LookupRecord((one.fact.triplet.subject, f"it is {own(one)}"), "unknown"),))
        fact = replace(one.fact, aliases=(subject, (*relation, listed), objects))
        forged.append(replace(one, fact=fact, replies={**one.replies, "unknown": told}))
    assert Leakage(forged).by_way("unknown")["contains"].interval.low > LEAKAGE


def test_letters_with_accents_hide_nothing() -> None:
    assert leaked(saying(lambda one: "\u0301".join(one.fact.triplet.object))) > 0.9


def test_letters_said_apart_are_heard_of_long_names() -> None:
    """Those of a short one may stand one after another by chance."""
    assert leaked(saying(lambda one: "-".join(one.fact.triplet.object))) > LEAKAGE


def test_letters_said_backwards_still_get_through() -> None:
    """Still open: the name is there for a reader and for no matcher."""
    assert not leaked(saying(lambda one: one.fact.triplet.object[::-1])) > LEAKAGE
