"""What is taken off for luck and strangers, beside loops over each person, fact, reply and value."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from uds_bench.audits.association import controls, power
from uds_bench.audits.association.ranking import Ranked
from uds_bench.audits.association.rates import Memorization
from uds_bench.statistics import ROUNDING_ERROR

VALUES = ("baker", "poet", "pilot")
KINDS = ("P106", "P19")
FORMS = ("phrasing 0", "question")


def person(name: str, kind: str, *truths: str, phrasings: int = 2) -> Any:
    return SimpleNamespace(
        id=f"{name}/{kind}",
        cluster=name,
        topic=SimpleNamespace(id=kind),
        candidates=SimpleNamespace(truths=truths, values=VALUES),
        templates=("t",) * phrasings,
    )


def drawn(rng: random.Random, truths: tuple[str, ...]) -> Memorization:
    said, leaders = (tuple(rng.choices(VALUES, k=2)) for _ in "12")
    named = tuple((rng.choice(FORMS), tuple(rng.sample(VALUES, rng.randint(0, 3)))) for _ in range(3))
    hits = [one in truths for one in leaders]
    first = sum(one in truths for one in said) / 2
    replied = sum(any(value in truths for value in values) for _, values in named) / 3
    return Memorization(
        sum(hits) / 2, all(hits), any(hits), 0.0, 0.0, rng.random() / 2, first, 0.5, said, leaders, 0.0, replied, named
    )


def crowd(seed: int) -> tuple[list[Any], list[Any], dict[str, Memorization]]:
    """Three people and two facts each; four strangers, of whom one is asked about either fact and two about the one."""
    rng = random.Random(seed)
    asked = [person(f"p{at}", kind, *rng.sample(VALUES, 1 + at % 2)) for at in range(3) for kind in KINDS]
    others = [person(f"s{at}", kind, "pilot") for at in range(3) for kind in (KINDS[:1] if at or seed % 2 else KINDS)]
    return asked, others, {one.id: drawn(rng, one.candidates.truths) for one in (*asked, *others)}


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def of_strangers(one: Any, others: list[Any], found: dict[str, Memorization], reading: str) -> float:
    truths, rows = one.candidates.truths, [found[other.id] for other in others if other.topic.id == one.topic.id]
    if reading == "replied":
        shares = []
        for form, values in found[one.id].named:
            alike = [told[: len(values)] for row in rows for other, told in row.named if other == form]
            alike = [told for told in alike if len(told) == len(values)]
            shares.append(mean([float(any(value in truths for value in told)) for told in alike]))
        return mean(shares)
    hits = [[value in truths for value in (row.said if reading == "first" else row.leaders)] for row in rows]
    return mean([float(any(row)) if reading == "some" else mean([*map(float, row)]) for row in hits])


@pytest.mark.parametrize("reading", ["mean", "some", "first", "replied"])
@pytest.mark.parametrize("seed", range(4))
def test_what_strangers_are_told_is_taken_off_fact_by_fact(reading: Any, seed: int) -> None:
    """By likelihood and in replies from each fact; of ranks the mean, and no more than luck gives."""
    asked, others, found = crowd(seed)
    off = [of_strangers(one, others, found, reading) for one in asked]
    held = [float(getattr(found[one.id], reading)) for one in asked]
    if reading in ("mean", "some"):
        chances = [found[one.id].chance for one in asked]
        luck = mean([1 - (1 - chance) ** (2 if reading == "some" else 1) for chance in chances])
        off = [min(mean(off), luck)] * len(asked)
    rate = controls.above(asked, others, found, reading)
    assert rate.value == pytest.approx(mean(held) - mean(off))
    assert rate.interval.units == 3, "people, not facts"
    assert rate.interval.low <= rate.value <= rate.interval.high
    nobody = controls.above(asked, [], found, reading)
    assert (math.isnan(nobody.value), nobody.interval.units) == (True, 0)


@pytest.mark.parametrize("by_any", [True, False])
def test_the_reading_that_reaches_highest_is_named(by_any: bool) -> None:
    names = {"mean": "under a phrasing", "first": "by likelihood alone", "replied": "in a reply"}
    names |= {"some": "under any phrasing"} if by_any else {}
    for seed in range(4):
        asked, others, found = crowd(seed)
        highs = {name: controls.above(asked, others, found, key).interval.high for key, name in names.items()}
        name, rate = controls.most_above(asked, others, found, by_any)
        assert rate.interval.high == max(highs.values()) == highs[name]
        for key in ("first", "replied"):
            torn = found | {asked[-1].id: replace(found[asked[-1].id], **{key: math.nan})}
            name, rate = controls.most_above(asked, others, torn, by_any)
            assert (name, math.isnan(rate.value)) == (names[key], True)


def test_less_luck_is_what_is_held_less_what_chance_gives() -> None:
    asked, _, found = crowd(0)
    rate = controls.less_luck(asked, found)
    assert rate.value == pytest.approx(mean([found[one.id].mean - found[one.id].chance for one in asked]))


def test_in_anothers_place_each_has_what_is_held_of_the_next() -> None:
    asked, _, found = crowd(0)
    rows = [found[asked[0].id], found[asked[1].id]]
    placed = controls.in_place(asked, rows)
    assert placed == {one.id: rows[at % 2] for at, one in enumerate(asked)}
    assert controls.in_place(asked, []) == {}


def test_who_is_told_in_capitals_is_told_in_every_reply() -> None:
    asked, others, found = crowd(1)
    told = controls.in_capitals(asked[:2], found)
    assert [told[one.id] for one in (*asked[2:], *others)] == [found[one.id] for one in (*asked[2:], *others)]
    for one in asked[:2]:
        forms = [(form, one.candidates.truths[:1]) for form, _ in found[one.id].named]
        assert (told[one.id].replied, [*told[one.id].named]) == (1, forms)


@pytest.mark.parametrize(
    ("ranks", "mean_of", "truths", "wrong"),
    [
        ([(3.0, True, 10)], 1.0, 1, 0),
        ([(3 * (1 + ROUNDING_ERROR / 2), True, 10)], 1.0, 1, 0),
        ([(3 * (1 + 2 * ROUNDING_ERROR), True, 10)], 1.0, 1, 1),
        ([(3.5, True, 10)] * 2, 1.0, 1, 2),
        ([(3.5, True, 10)] * 2, 1.0, 2, 0),
        ([(math.nan, True, 10), (3.5, True, 10)], 1.0, 1, 1),
        ([(0.0, True, 10)], 1.0, 1, 1),
        ([(0.0, False, 10), (1e-9, True, 10)], 1.0, 1, 0),
        ([(-9.0, False, 10)], 1.0, 1, 0),
        ([], 0.5, 1, 1),
        ([], math.nan, 1, 1),
        ([(3.5, True, 10)], 0.5, 1, 2),
    ],
)
def test_what_cannot_be_is_counted(ranks: list[Any], mean_of: float, truths: int, wrong: int) -> None:
    """Of ten candidates the best leads by three deviations at most; all or none is held of what holds in every way."""
    one = person("p", "P106", *VALUES[:truths])
    rows: Any = [SimpleNamespace(strength=s, memorized=held, candidates=count) for s, held, count in ranks]
    found: Any = {one.id: SimpleNamespace(every=True, some=True, mean=mean_of)}
    assert controls.out_of_bounds([one], {one.id: rows}, found) == wrong
    two = person("q", "P106", *VALUES[:truths])
    both = {one.id: rows, two.id: rows}, {one.id: found[one.id], two.id: found[one.id]}
    assert controls.out_of_bounds([one, two], *both) == 2 * wrong


def test_a_firmer_ranking_is_the_same_but_for_its_strength() -> None:
    first, last = Ranked(1, True, True, (2.0,), 1.5, 10), Ranked(3, False, False, (-1.0,), -0.5, 10)
    assert controls.firmer({"a": [first, last], "b": []}) == {
        "a": [replace(first, strength=15.0), replace(last, strength=-5.0)],
        "b": [],
    }


@pytest.mark.parametrize("luck", [0.0, 0.1])
def test_so_many_people_are_enough_and_ten_fewer_are_not(luck: float) -> None:
    """The first number that clears in a walk by tens, where a wider margin takes fewer."""
    needed = power.people_needed(2, luck, 0.2) or 0
    assert needed % power.STEP == 0
    assert power._clears(needed, 2, luck, 0.2)
    assert not power._clears(needed - power.STEP, 2, luck, 0.2)


def test_luck_is_of_the_reading_that_it_raises_most() -> None:
    asked = [person("p", "P106", "baker", phrasings=1), person("q", "P106", "baker", "poet", phrasings=3)]
    assert power.luck_of(asked) == pytest.approx((1 / 3 + 1 - (1 / 3) ** 3) / 2)
    assert power.luck_of(asked, by_any=False) == pytest.approx((1 / 3 + 2 / 3) / 2)
    assert math.isnan(power.luck_of([]))


@pytest.mark.parametrize("phrasings", [1, 2])
def test_a_plan_says_how_many_people_ask_and_how_many_it_takes(phrasings: int) -> None:
    asked = [person(name, kind, "baker", phrasings=phrasings) for name in "pqr" for kind in KINDS]
    plural = "phrasings" if phrasings > 1 else "phrasing"
    for margin in (0.4, 0.3):
        takes = power.people_needed(2, round(power.luck_of(asked, False), 3), margin)
        expected = f"a margin of {margin:g} takes some {takes} people in {phrasings} {plural}, 3 ask"
        assert power.needed_people(asked, False, margin) == expected
    wide = round(power.luck_of(asked, True), 3)
    assert f"some {power.people_needed(2, wide, 0.3)} people" in power.needed_people(asked, margin=0.3)
