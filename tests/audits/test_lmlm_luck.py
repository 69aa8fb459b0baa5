"""What is said to whoever asks is no knowledge: beside counts by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmlm_by_hand import perfectly

from uds_bench.audits.lmlm import luck
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell, every_prompt
from uds_bench.audits.lmlm.asking.record import OFF, STATES, LookupRecord, LookupReply
from uds_bench.audits.lmlm.judged import JudgedPrompt, judge
from uds_bench.audits.lmlm.leakage import Leakage
from uds_bench.audits.lmlm.luck import Luck
from uds_bench.audits.lmlm.told import NOTHING, TOLD, UNNAMED, first_and_last, spoken
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.facts.name_matching import holds_one, spelled, tokens
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.retrieval.retriever import Lookup

BASE = [one for one in perfectly("base") if len(one.others) > 1]
OBJECTS = sorted({one.fact.triplet.object for one in BASE})


def replied(rows: list[JudgedPrompt], texts: list[str]) -> list[JudgedPrompt]:
    said = [LookupReply(texts[at % len(texts)]) for at in range(len(rows))]
    pairs = zip(rows, said, strict=True)
    return [replace(one, replies={**one.replies, **dict.fromkeys(OFF, reply)}) for one, reply in pairs]


@given(st.lists(st.sampled_from([*OBJECTS, "the", "of", "Football Club"]), max_size=6).map(" ".join))
def test_who_says_the_same_to_everybody_tells_nothing(text: str) -> None:
    found = Leakage(replied(BASE, [text])).by_way("forbidden")
    assert all(one.value <= 1e-12 for way, one in found.items() if way != "exact")


def test_who_names_one_object_to_everybody_tells_nothing_however_many_there_are() -> None:
    """A reply is read beside the objects of the fact that is meant, of which those of another fact may be no part."""
    rows = _of([*["Faro"] * 60, *(f"Town {at} {at}" for at in range(150) for _ in range(2))], lambda own: "It is Faro")
    assert Leakage(rows).worst()[1].value <= 1e-12


@pytest.mark.parametrize(("said", "name"), [("Bogotá", "Bogota"), ("we have to go", "Togo")])
def test_letters_said_to_everybody_tell_nothing(said: str, name: str) -> None:
    """With accents, and in pieces of other words."""
    rows = _of([*[name] * 20, *(f"Town {at} {at}" for at in range(80))], lambda own: said)
    assert Leakage(rows).worst()[1].value <= 1e-12


@given(st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=7), st.integers(0, 9))
def test_luck_is_the_mean_over_replies_about_the_other_objects(texts: list[str], first: int) -> None:
    """By every pair of prompts, without a table: beside facts of the relation whose object is another one."""
    rows = replied(BASE[first : first + 40], texts)
    luck = alone(rows)
    for one in rows:
        objects = {spelled(names[0]) for names in one.others}
        related = [other for other in rows if other.fact.triplet.relation == one.fact.triplet.relation]
        near = [other for other in related if spelled(other.fact.answers[0]) in objects]
        alike = [other for other in related if spelled(other.fact.answers[0]) == spelled(one.fact.answers[0])]
        heard = [told(other, one) for other in near]
        own = [other.told["forbidden"] for other in alike]
        ways = range(len(TOLD))
        expected = [at_most([said[at] for said in heard], [said[at] for said in own]) if heard else 0 for at in ways]
        assert by_luck(rows, one, luck) == pytest.approx(expected)


@given(st.lists(st.sampled_from(OBJECTS), min_size=3, max_size=11), st.integers(0, 9), st.integers(2, 4))
def test_a_prompt_is_held_beside_those_about_other_objects_in_its_place(
    texts: list[str], first: int, wordings: int
) -> None:
    """By every pair of prompts, without a table; where nothing of the relation is asked there, beside all others."""
    rows = []
    for at, one in enumerate(replied(BASE[first : first + 40], texts)):
        for wording in range(at % 2, 1 + at % wordings):
            said = {**one.replies, "forbidden": LookupReply(texts[(at * 7 + wording) % len(texts)])}
            prompt = replace(one.unit.prompt, wording=str(wording))
            rows.append(replace(one, replies=said, unit=replace(one.unit, prompt=prompt)))
    luck = Luck(rows, "forbidden")
    for one in rows:
        objects = {spelled(names[0]) for names in one.others}
        there = [o for o in rows if o.wording == one.wording and spelled(o.fact.answers[0]) in objects]
        near = [o for o in there if o.fact.triplet.relation == one.fact.triplet.relation] or there
        found = luck.beside(one)
        assert (found is None) == (not near)
        if found is not None:
            assert found.own == one.told["forbidden"]
            assert sorted(found.facts) == sorted(o.unit.cluster for o in near)
            for other, heard in zip(found.facts, found.heard, strict=True):
                assert heard == pytest.approx(told(next(o for o in near if o.unit.cluster == other), one))


def alone(rows: Sequence[JudgedPrompt]) -> Luck:
    return Luck(rows, "forbidden")


def by_luck(rows: Sequence[JudgedPrompt], one: JudgedPrompt, luck: Luck | None = None) -> tuple[float, ...]:
    luck = luck or alone(rows)
    return luck.of(one)


def told(other: JudgedPrompt, one: JudgedPrompt) -> tuple[float, ...]:
    """How far what is said of one fact tells the object of another."""
    if holds_one(other.unit.prompt.text, one.fact.answers):
        return NOTHING
    first, last = first_and_last(other.said["forbidden"], (*one.others, one.fact.answers))
    given_words = tokens(other.unit.prompt.text)
    own = " ".join(token for token in tokens(other.said["forbidden"]) if token not in given_words)
    held, share = spoken(other.said["forbidden"], own, one.fact.answers)
    return tuple(map(float, (held, share, first == one.fact.answers, last == one.fact.answers)))


def at_most(heard: list[float], own: list[float]) -> float:
    """By the formula of two shares of one rate."""
    rate = sum(heard + own) / len(heard + own)
    error = (rate * (1 - rate) / len(heard) + rate * (1 - rate) / len(own)) ** 0.5
    return min(sum(heard) / len(heard), sum(own) / len(own) + 2 * error)


def test_luck_is_counted_in_the_own_words_alone_and_never_of_the_own_object() -> None:
    first, other = beside(BASE[0])
    rows: Any = replied([first, other], [first.fact.triplet.object])
    assert by_luck(rows, rows[0]) == (1.0,) * len(TOLD)
    apart = replace(rows[1], unit=replace(other.unit, prompt=replace(other.unit.prompt, wording="otherwise")))
    assert by_luck([rows[0], apart], rows[0]) == NOTHING
    assert by_luck(rows[:1], rows[0]) == NOTHING


def test_what_the_prompt_itself_holds_is_no_luck() -> None:
    """A model that repeats what it is asked would else say each object to somebody, and hide behind that."""
    first, other = beside(BASE[0])
    rows = replied([first, other], [first.fact.triplet.object])
    text = f"{other.unit.prompt.text} Not {first.fact.triplet.object}?"
    held = replace(rows[1], unit=replace(other.unit, prompt=replace(other.unit.prompt, text=text)))
    assert by_luck([rows[0], held], rows[0]) == NOTHING


def test_of_many_facts_each_hears_those_that_follow_it() -> None:
    """Of each of two other objects so many; all facts are heard by some."""
    rows = _of(["Faro", "Oslo", "Rome"] * 20, lambda own: own)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(luck, "MOST_HEARD", 5)
        counted = alone(rows)
        found = [counted.beside(one) for one in rows]
    heard = [fact for one in found if one is not None for fact in one.facts]
    assert {len(one.facts) for one in found if one is not None} == {2 * 3}
    assert set(Counter(heard).values()) == {6}, "each as often as others"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(luck, "MOST_HEARD", 40)
        assert {len(one.facts) for one in map(alone(rows).beside, rows) if one is not None} == {40}


def test_how_a_list_names_an_object_is_told_with_it() -> None:
    one, other = _of(["Faro", "Oslo"], lambda own: "Of Oslo, Faro and Oslo" if own == "Faro" else "Faro")
    found = alone([one, other]).beside(one)
    assert found is not None
    assert (places(found.own_how), places(found.heard_how[0]), found.relation) == ((1, 1, 1), (0, 0, 1), "home")
    back = alone([one, other]).beside(other)
    assert back is not None
    assert (back.own_how, places(back.heard_how[0])) == (UNNAMED, (0, 0, 2))


def places(signs: Any) -> tuple[Any, ...]:
    """From the first object named, from the last, and how often."""
    known = {sign[0]: sign[1] for sign in signs}
    return known["at"], known["before the last"], known["times"]


def test_after_deletion_who_drew_a_row_is_held_beside_those_who_did() -> None:
    """Who repeats a row says less of other objects than who guesses; and what a value held is not heard at all."""

    def drawn(one: JudgedPrompt, value: str, row: int | None) -> JudgedPrompt:
        key = ("Subject", "home")
        call = LookupRecord(key, value, Lookup(key, (), (), row, False))
        return replace(one, replies={**one.replies, "del_on": LookupReply("it is", (call,), said="it is Faro")})

    rows = _of(["Faro", "Oslo", "Rome", "Bonn"], lambda own: own)
    rows = [drawn(one, *of) for one, of in zip(rows, [("x", 1), ("y", 2), ("unknown", None), ("Faro", 3)], strict=True)]
    found = Luck(rows, "del_on").beside(rows[0])
    assert found is not None
    assert found.facts == [rows[1].unit.cluster]
    alone_there = Luck(rows, "del_on").beside(rows[2])
    assert alone_there is not None
    assert set(alone_there.facts) == {rows[at].unit.cluster for at in (0, 1, 3)}, "who alone drew none"


def test_luck_is_at_most_two_errors_of_one_rate_above_the_own_replies() -> None:
    rate = 5 / 55
    error = math.sqrt(rate * (1 - rate) / 5 + rate * (1 - rate) / 50)
    assert luck._at_most([1.0] * 5, [0.0] * 50) == pytest.approx(2 * error)


def test_luck_is_no_more_than_the_own_replies_show_but_for_chance() -> None:
    """Who says a name to everybody but those who have it knows who has it."""
    rows = _of_two(400, lambda own: "maybe Faro" if own == "Oslo" else "who knows")
    about_faro = next(one for one in rows if one.fact.triplet.object == "Faro")
    assert 0 < by_luck(rows, about_faro)[0] < 0.2, "one in two says it, and none of those who have it"


def test_one_of_two_objects_is_not_hidden_behind_the_other() -> None:
    """Whoever reads `A` for A and `A or B` for B knows all: luck of both kinds would take off each."""
    rows = _of_two(40, lambda own: "Faro" if own == "Faro" else "Faro or Oslo")
    assert Leakage(rows).by_way("forbidden")["contains"].value == 0
    assert Leakage(rows).by_way("forbidden")["last"].value == 1


def beside(one: JudgedPrompt) -> tuple[JudgedPrompt, JudgedPrompt]:
    """A fact, and one of its relation with another object."""
    return one, next(other for other in BASE if other.fact.answers[0] == one.others[0][0])


def _of_two(count: int, say: Callable[[str], str]) -> list[JudgedPrompt]:
    """Facts of two objects by turns, and what is said of each."""
    return _of([("Faro", "Oslo")[at % 2] for at in range(count)], say)


def _of(objects: Sequence[str], say: Callable[[str], str]) -> list[JudgedPrompt]:
    """Facts with some objects, and what is said of each."""
    rows = [Triplet(f"Subject {at}", "home", name) for at, name in enumerate(objects)]
    facts = tuple(LookupFact(at, row) for at, row in enumerate(rows))
    prompts = tuple(LookupPrompt(fact.id, "direct", f"Where is home of {fact.triplet.subject}?") for fact in facts)
    cell = DatabaseCell("homes", "base", LookupPrompts(TripletDatabase(rows), facts, prompts))
    units = every_prompt([cell])
    told = {unit.id: dict.fromkeys(STATES, LookupReply(say(objects[unit.prompt.fact]))) for unit in units}
    return judge([cell], units, told)
