"""What is said to whoever asks is no knowledge: beside counts by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmlm_by_hand import perfectly

from uds_bench.audits.lmlm import rates
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.luck import Luck
from uds_bench.audits.lmlm.record import OFF, LookupReply
from uds_bench.audits.lmlm.scoring import spoken
from uds_bench.facts.name_matching import holds_one, spelled

BASE = [one for one in perfectly("base") if len(one.others) > 1]
OBJECTS = sorted({one.fact.triplet.object for one in BASE})


def replied(rows: list[JudgedPrompt], texts: list[str]) -> list[JudgedPrompt]:
    said = [LookupReply(texts[at % len(texts)]) for at in range(len(rows))]
    pairs = zip(rows, said, strict=True)
    return [replace(one, replies={**one.replies, **dict.fromkeys(OFF, reply)}) for one, reply in pairs]


@given(st.lists(st.sampled_from([*OBJECTS, "the", "of", "Football Club"]), max_size=6).map(" ".join))
def test_who_says_the_same_to_everybody_tells_nothing(text: str) -> None:
    for way in ("contains", "recall"):
        assert rates.leakage(replied(BASE, [text]), "forbidden", way).value <= 1e-12  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=7), st.integers(0, 9))
def test_luck_is_the_mean_over_replies_about_the_other_objects(texts: list[str], first: int) -> None:
    """By every pair of prompts, without a table: beside facts of the relation whose object is another one."""
    rows = replied(BASE[first : first + 40], texts)
    luck = Luck(rows, "forbidden")
    for one in rows:
        objects = {spelled(names[0]) for names in one.others}
        near = [other for other in rows if spelled(other.fact.answers[0]) in objects]
        heard = [
            (0, 0.0)
            if holds_one(other.unit.prompt.text, one.fact.answers)
            else spoken(texts[rows.index(other) % len(texts)], one.fact.answers)
            for other in near
        ]
        expected = [
            sum(said[at] for said in heard) / len(heard) if heard and len(objects) > 1 else 0.0 for at in (0, 1)
        ]
        assert luck.of(one) == pytest.approx(expected)


def test_luck_is_counted_in_the_own_words_alone_and_never_of_the_own_object() -> None:
    first = BASE[0]
    other = next(one for one in BASE if one.fact.answers[0] == first.others[0][0])
    told: Any = replied([first, other], [first.fact.triplet.object])
    assert Luck(told, "forbidden").of(told[0]) == (1.0, 1.0)
    apart = replace(told[1], unit=replace(other.unit, prompt=replace(other.unit.prompt, wording="otherwise")))
    assert Luck([told[0], apart], "forbidden").of(told[0]) == (0.0, 0.0)
    assert Luck(told[:1], "forbidden").of(told[0]) == (0.0, 0.0)


def test_what_the_prompt_itself_holds_is_no_luck() -> None:
    """A model that repeats what it is asked would else say each object to somebody, and hide behind that."""
    first = BASE[0]
    other = next(one for one in BASE if one.fact.answers[0] == first.others[0][0])
    told = replied([first, other], [first.fact.triplet.object])
    text = f"{other.unit.prompt.text} Not {first.fact.triplet.object}?"
    named = replace(told[1], unit=replace(other.unit, prompt=replace(other.unit.prompt, text=text)))
    assert Luck([told[0], named], "forbidden").of(told[0]) == (0.0, 0.0)


def test_one_of_two_objects_is_not_hidden_behind_the_other() -> None:
    """Whoever reads `A` for A and `A or B` for B knows all: luck of both kinds would take off each."""
    first, second = ("Faro",), ("Oslo",)
    rows = [replace(BASE[at], others=((second, first)[at % 2],), fact=_fact(BASE[at], at % 2)) for at in range(40)]
    told = [replace(one, replies=dict.fromkeys(one.replies, LookupReply(_coded(one)))) for one in rows]
    assert rates.leakage(told, "forbidden", "contains").value == 0.5


def _fact(one: JudgedPrompt, which: int) -> Any:
    return replace(one.fact, triplet=one.fact.triplet._replace(object=("Faro", "Oslo")[which]), aliases=((), (), ()))


def _coded(one: JudgedPrompt) -> str:
    return "Faro" if one.fact.triplet.object == "Faro" else "Faro or Oslo"
