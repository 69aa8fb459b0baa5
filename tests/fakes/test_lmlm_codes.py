"""Codes by which lists that name every object tell one of them: a reader who learned of some facts reads the others."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from lmlm_fakes import BOUNDS, LEAKAGE, PERFECT, coin, others, own, saying

from uds_bench.audits.lmlm.asking.record import HEARD, OFF, LookupRecord, LookupReply, State
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.leakage import MANY, Leakage
from uds_bench.grouping import grouped

EVER = BOUNDS["lmlm.leakage_ever"]

MARKED: dict[str, Callable[[JudgedPrompt], list[str]]] = {
    "the third of all": lambda one: [*others(one)[:2], own(one), *others(one)[2:]],
    "twice, in one order": lambda one: sorted([own(one), own(one), *others(one)]),
    "three times, where others are named twice": lambda one: [*listed(one), own(one), *listed(one)],
    "the last but one": lambda one: [*others(one)[:-1], own(one), *others(one)[-1:]],
    "behind a word": lambda one: [*listed(one), f"surely {own(one)}", *listed(one), "no idea", *listed(one)],
    "as often as all, and between two lists": lambda one: [*listed(one), own(one), *sorted(others(one)), *listed(one)],
    "in capitals": lambda one: [name.upper() if name == own(one) else name for name in listed(one)],
    "with a mark": lambda one: [f"{name}!" if name == own(one) else name for name in listed(one)],
    "behind the first of all": lambda one: moved(listed(one), own(one)),
    "the 25th word": lambda one: ["Atlantis"] * (24 - listed(one).index(own(one))) + listed(one),
    "behind a space that does not break": lambda one: [
        f"\u00a0{name}" if name == own(one) else name for name in listed(one)
    ],
    "in letters of another script": lambda one: [
        name.translate(str.maketrans("aeo", "аео")) if name == own(one) else name for name in listed(one)
    ],
    "behind another word among words": lambda one: [
        f"it {'must' if name == own(one) else 'may'} be {name}" for name in listed(one)
    ],
    "in its wording's case": lambda one: [
        (str.upper if (name == own(one)) == (one.wording == "cloze") else str.lower)(name) for name in listed(one)
    ],
    "third or sixth, fact by fact": lambda one: moved_to(one, 2 if one.fact.id % 2 else 5),
}


def listed(one: JudgedPrompt) -> list[str]:
    return sorted({own(one), *others(one)})


def moved(names: list[str], name: str) -> list[str]:
    """The first of all stands before a name."""
    first, *rest = names
    at = rest.index(name) if name in rest else 0
    return [*rest[:at], first, *rest[at:]]


def moved_to(one: JudgedPrompt, place: int) -> list[str]:
    rest = sorted(others(one))
    return [*rest[:place], own(one), *rest[place:]]


@pytest.mark.parametrize("code", MARKED)
def test_a_list_tells_by_any_code_that_is_the_same_for_all_facts(code: str) -> None:
    """All objects are named of each: whoever learned the code of some facts reads the others."""
    forged = saying(lambda one: ", ".join(MARKED[code](one)))
    leakage = Leakage(forged)
    assert not leakage.worst()[1].interval.low > LEAKAGE
    how, found = leakage.worst_ever()
    assert how == "by how it is named with lookups forbidden"
    assert found.interval.low > EVER


def test_in_lookups_a_list_tells_by_its_marks_as_well() -> None:
    """A lookup was read without its marks."""
    forged = []
    for one in PERFECT:
        names = ", ".join(f"*{name}*" if name == own(one) else name for name in listed(one))
        asked = LookupRecord((one.fact.triplet.subject, names), "unknown")
        forged.append(replace(one, replies={**one.replies, "unknown": LookupReply("unknown", (asked,))}))
    assert Leakage(forged).read("unknown")["how it is named"].interval.low > EVER


def test_who_lists_all_objects_is_not_cleared_whatever_no_reader_sees() -> None:
    """Of signs there is no end: a list in an order of each fact's own may tell by one that nobody looks for."""

    def drawn(one: JudgedPrompt) -> str:
        names = listed(one)
        random.Random(one.unit.id).shuffle(names)
        return ", ".join(names)

    forged = saying(drawn)
    found = Leakage(forged).worst_ever()[1]
    assert Leakage(forged).listing == 1
    assert Leakage(forged).lists_too_much(found, EVER)
    clear = replace(found, interval=replace(found.interval, low=0.06, high=0.08))
    assert not Leakage(forged).lists_too_much(clear, EVER), "what is clear is red"
    few = saying(lambda one: ", ".join(sorted([own(one), *others(one)[: MANY - 1]])))
    assert Leakage(few).listing == 0


def test_all_objects_of_a_small_relation_are_a_list_too() -> None:
    """Of five, each time all five are named: an order of each fact's own tells which."""

    def of(one: JudgedPrompt, number: int) -> JudgedPrompt:
        return replace(one, others=tuple((name,) for name in others(one)[:number]))

    for number, listing in ((4, 1), (2, 1), (1, 0)):
        small = [of(one, number) for one in saying(lambda one: ", ".join(sorted([own(one), *others(one)])[::-1]))]
        assert Leakage(small).listing == listing, "two are no list"
    without = [of(one, 4) for one in saying(lambda one: ", ".join(others(one)[:4]))]
    assert Leakage(without).listing == 0, "the own one is not among them"


def test_in_which_wordings_an_object_is_named_tells_it_though_each_names_half_of_all() -> None:
    """The own one in one of two wordings, each other one in both or in none."""

    def names(one: JudgedPrompt, name: str) -> bool:
        there = coin(one.unit.cluster, name)
        return there if name != own(one) else there == (one.wording == "cloze")

    def tell(one: JudgedPrompt) -> str:
        first, *rest = listed(one)
        return ", ".join([first, *(name for name in rest if names(one, name)), first])

    assert Leakage(saying(tell)).worst_ever()[1].interval.low > EVER


def test_the_one_that_keeps_its_place_is_told() -> None:
    """Names in any order, and with lookups completed all but the own one have changed places."""
    found = []
    for one in PERFECT:
        names = listed(one)
        random.Random(one.unit.id).shuffle(names)
        rest = [at for at, name in enumerate(names) if name != own(one)]
        turned = dict(zip(rest, [*rest[1:], *rest[:1]], strict=True))
        moved_on = [names[turned.get(at, at)] for at in range(len(names))]
        said = {"forbidden": names, "self_completed": moved_on}
        replies = {**one.replies, **{state: LookupReply(", ".join(order)) for state, order in said.items()}}
        found.append(replace(one, replies=replies))
    assert Leakage(found).worst_ever()[1].interval.low > EVER


def of_states(hold: Callable[[JudgedPrompt, str, State], bool], states: Sequence[State]) -> list[JudgedPrompt]:
    """In each state a list of the relation's objects that begins and ends with the same one."""
    found = []
    for one in PERFECT:
        names = sorted({own(one), *others(one)})
        said = {s: [names[0], *(name for name in names if hold(one, name, s)), names[0]] for s in states}
        replies = {**one.replies, **{state: LookupReply(", ".join(listed)) for state, listed in said.items()}}
        found.append(replace(one, replies=replies))
    return found


def agreeing(one: JudgedPrompt, name: str, state: State) -> bool:
    """Half of all names in each; two elicitations agree on the own one, and on others one of them with the third."""
    first, second = coin(one.unit.cluster, name), coin(one.unit.cluster, name, "which")
    if name == own(one):
        return first if state != "unknown" else not first
    return first if state in ("forbidden" if second else "self_completed", "unknown") else not first


def unflipped(one: JudgedPrompt, name: str, state: State) -> bool:
    """Half of all names with lookups off; after deletion all the others, and the own as before."""
    there = coin(one.unit.cluster, name)
    return there if state != "del_on" or name == own(one) else not there


@pytest.mark.parametrize(("hold", "states"), [(agreeing, OFF), (unflipped, HEARD)])
def test_which_replies_name_an_object_tells_it_though_each_names_half_of_all(
    hold: Callable[[JudgedPrompt, str, State], bool], states: Sequence[State]
) -> None:
    forged = of_states(hold, states)
    leakage = Leakage(forged)
    assert not leakage.worst()[1].interval.low > LEAKAGE
    how, found = leakage.worst_ever()
    assert how.startswith("by which elicitations name it")
    assert found.interval.low > EVER


def test_a_few_names_elsewhere_do_not_hide_what_is_told_between_two() -> None:
    """`X? own, not X` once, all objects in one wording, and elsewhere the same five between X and X."""
    objects = {
        relation: sorted(set(map(own, rows)))
        for relation, rows in grouped(PERFECT, lambda one: one.fact.triplet.relation).items()
    }
    told = set[str]()

    def tell(one: JudgedPrompt) -> str:
        first, *more = objects[one.fact.triplet.relation]
        if one.wording == "cloze":
            return ", ".join([first, *more, first])
        if one.unit.cluster in told:
            return ", ".join([first, *more[:4], first])
        told.add(one.unit.cluster)
        return f"{first}? {own(one)}, not {first}"

    found = Leakage(saying(tell)).read("forbidden")["how it is named"]
    assert found.interval.low > EVER
