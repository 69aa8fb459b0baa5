"""Beside whom a prompt is held: those of its place, as many as are heard, and none that read the object."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from uds_bench.audits.lmlm.luck import MOST_HEARD, Luck
from uds_bench.audits.lmlm.told import NOTHING, UNNAMED, first_and_last

OBJECTS = ("a", "b", "c")


def prompt(
    fact: str, own: str, said: float = 1.0, reads: bool = False, counts: bool = True, drawn: bool = False
) -> Any:
    """A prompt about a fact with one of three objects, whose reply tells any of them so far."""
    others = tuple((one,) for one in OBJECTS if one != own)
    told = (said,) * 4 if said else NOTHING
    return SimpleNamespace(
        unit=SimpleNamespace(cluster=fact),
        cell=SimpleNamespace(name="cell"),
        wording="cloze",
        fact=SimpleNamespace(answers=(own,), triplet=("", "plays", own), aliases=((), (), ())),
        others=others,
        replies={"del_on": SimpleNamespace(drawn=drawn)},
        told={"unknown": told, "del_on": told},
        tells=lambda state, names, beside: told,
        how=lambda state, names, beside: UNNAMED,
        reads=lambda state, names: reads,
        counts=lambda state: counts,
    )


def test_of_several_prompts_of_a_fact_the_first_is_held_beside_first_ones() -> None:
    """Though one before it does not count, as it holds its object."""
    asked = [prompt("x", "a", counts=False), prompt("x", "a"), *(prompt("y", "b", said) for said in (0.25, 0.5, 0.75))]
    found = Luck(asked, "unknown").beside(asked[1])
    assert found is not None
    assert found.heard == [(0.5,) * 4]


@pytest.mark.parametrize(("state", "left"), [("unknown", 1), ("del_on", 0)])
def test_who_was_shown_the_object_and_says_nothing_is_heard_with_lookups_off_alone(state: Any, left: int) -> None:
    one, other = prompt("x", "a"), prompt("y", "b", said=0, reads=True)
    found = Luck([one, other], state).beside(one)
    assert (0 if found is None else len(found.facts)) == left
    told = prompt("y", "b", reads=True)
    assert Luck([one, told], state).beside(one) is None, "who read it and says it"


def facts(own: str, count: int) -> list[Any]:
    return [prompt(f"{own}{at}", own) for at in range(count)]


def heard(asked: list[Any], one: Any) -> list[str]:
    found = Luck(asked, "unknown").beside(one)
    assert found is not None
    return list(found.facts)


def test_as_many_as_are_heard_are_all_heard_though_objects_differ_in_number() -> None:
    asked = [*facts("a", 1), *facts("b", 50), *facts("c", MOST_HEARD - 50)]
    assert len(heard(asked, asked[0])) == MOST_HEARD
    asked.append(prompt("c more", "c"))
    assert len(heard(asked, asked[0])) == 50 + MOST_HEARD // 2, "of more, so many of each object"


def test_of_one_other_object_all_that_are_heard_are_of_it() -> None:
    asked = [*facts("a", 1), *facts("b", MOST_HEARD + 50)]
    one = asked[0]
    one.others = (("b",),)
    assert len(heard(asked, one)) == MOST_HEARD


def test_those_are_heard_that_follow_object_by_object() -> None:
    asked = [*facts("a", 3), *facts("b", 150), *facts("c", 150)]
    for at in (0, 2):
        found = heard(asked, asked[at])
        assert found[:100] == [f"b{at + place}" for place in range(100)]
        assert found[100:] == [f"c{at + place}" for place in range(100)]
    late = [*facts("a", 149), *asked[3:]]
    assert heard(late, late[148])[:3] == ["b148", "b149", "b0"], "and round again"


def test_a_prompt_that_does_not_count_is_held_beside_the_first_ones() -> None:
    one = prompt("x", "a", counts=False)
    asked = [*facts("a", 5), one, *facts("b", 150), *facts("c", 150)]
    assert heard(asked, one)[0] == "b0"


def test_of_names_that_end_at_one_place_the_longest_is_last() -> None:
    objects = (("York",), ("New York",), ("Faro",))
    assert first_and_last("Faro, no, New York", objects) == (("Faro",), ("New York",))
    assert first_and_last("New York, no, Faro", objects) == (("New York",), ("Faro",))
    assert first_and_last("York, then New York", (("New York",), ("York",))) == (("York",), ("New York",))
