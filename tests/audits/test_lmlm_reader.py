"""What a reader learns from some facts and reads in others: beside a loop over signs, and over draws."""

from __future__ import annotations

import hashlib
import math
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from uds_bench.audits.lmlm.discrimination import Pairs, over_facts
from uds_bench.audits.lmlm.luck import Beside, Place
from uds_bench.audits.lmlm.reader import reading, together
from uds_bench.audits.lmlm.told import UNNAMED, Signs


def shows(*signs: int) -> Signs:
    return frozenset(("at", sign) for sign in signs)


def beside(own: list[int], heard: list[list[int]]) -> dict[str, list[Beside]]:
    """Facts that are all held beside each other: the sign of each, and of it in every other reply."""
    found = {}
    for fact, sign in enumerate(own):
        rest = [other for other in range(len(own)) if other != fact]
        named = [shows(heard[o][fact]) for o in rest]
        found[str(fact)] = [Beside((), [str(o) for o in rest], (), shows(sign), named)]
    return found


def test_any_sign_is_read_that_is_the_same_for_all_facts_and_none_that_is_each_ones_own() -> None:
    """One that is told by the third name of a list; and one told by a number that is drawn for each fact."""
    draw = np.random.default_rng(3)
    lists = draw.integers(0, 5, (80, 80)).tolist()
    found = reading(beside([7] * 80, lists))
    assert found.value == 1
    assert found.interval.low > 0.05, "what leakage_ever may be"
    lacking = reading(beside([0] * 80, [[1] * 80] * 80))
    assert lacking.value == 1
    alone = reading(beside(list(range(100, 180)), (draw.integers(100, 180, (80, 80))).tolist()))
    assert abs(alone.value) < 0.05, "one sign is that of one fact of a half, about 40, by chance"
    assert not math.isnan(alone.value)


@pytest.mark.parametrize("salt", ["a", "b", "c"])
def test_two_codes_are_read_wherever_halves_are_not_foreseen(salt: str) -> None:
    """Every second fact has another one: of halves that are drawn so each learns what the other does not have."""
    draw = np.random.default_rng(3)
    lists = draw.integers(0, 5, (80, 80)).tolist()
    value = reading(beside([7 + at % 2 for at in range(80)], lists), salt).value
    assert value > 0.3, "about half of the facts have the code that is learned"


@pytest.mark.parametrize("kinds", [2, 3, 40])
def test_who_guesses_is_not_read_in_expectation(kinds: int) -> None:
    draw, values = np.random.default_rng(4), []
    for at in range(150):
        lists = draw.integers(0, kinds, (24, 24)).tolist()
        values.append(reading(beside([lists[at][at] for at in range(24)], lists), str(at)).value)
    assert abs(fmean(values)) < 4 * np.std(values) / math.sqrt(len(values))


@pytest.mark.parametrize("kinds", [2, 5])
def test_an_interval_allows_for_halves_that_teach_each_other(kinds: int) -> None:
    """Of signs of two kinds both halves take the same one for true where both err alike."""
    draw, tries, kept = np.random.default_rng(5), 200, 0
    for at in range(tries):
        lists = draw.integers(0, kinds, (60, 60)).tolist()
        interval = reading(beside([lists[at][at] for at in range(60)], lists), str(at)).interval
        kept += interval.low <= 0 <= interval.high
    print(f"{kept / tries:.3f} of intervals hold 0")
    assert binomtest(kept, tries, 0.95).pvalue > 0.001


def by_hand(places: list[tuple[str, Signs]]) -> dict[Any, float]:
    """What is shown of an object, sign by sign."""
    if not any(signs for _, signs in places):
        return {}
    found: dict[Any, float] = {("ever",): 1.0, ("named",): fmean(bool(signs) for _, signs in places)}
    for sign in {sign for _, signs in places for sign in signs}:
        found[sign], found["ever", *sign] = fmean(sign in signs for _, signs in places), 1.0
    found["named at", sum(bool(signs) for _, signs in places)] = 1.0
    found["not at", sum(not signs for _, signs in places)] = 1.0
    for one, other in combinations(sorted({wording for wording, _ in places}), 2):
        there = [any(signs for wording, signs in places if wording == name) for name in (one, other)]
        if there[0] != there[1]:
            found["of two", one, other] = 1.0
    return found


def test_what_is_read_is_that_of_a_loop_over_halves() -> None:
    """Facts at one place or two; what one half teaches is looked for in the other, beside facts of that half alone."""
    draw, facts = np.random.default_rng(7), {}
    for at in range(20):
        rest = [str(other) for other in range(20) if other != at]
        facts[str(at)] = [
            Beside(
                (),
                rest,
                (),
                shows(*draw.integers(0, 4, draw.integers(0, 3)).tolist()),
                [shows(*draw.integers(0, 4, draw.integers(0, 3)).tolist()) for _ in rest],
                place=Place("cell", wording, 0, None),
            )
            for wording in ("cloze", "direct")[: at % 2 + 1]
        ]
    half = {fact: hashlib.sha256(f"salt {fact}".encode()).digest()[0] % 2 for fact in facts}
    seen: dict[tuple[str, str], tuple[dict[Any, float], dict[Any, float]]] = {}
    for fact, asked in facts.items():
        for at, other in enumerate(asked[0].facts):
            if half[fact] == half[other]:
                own = [(one.place.wording, one.own_how) for one in asked]
                seen[fact, other] = by_hand(own), by_hand([(one.place.wording, one.heard_how[at]) for one in asked])
    best: list[tuple[Any, bool]] = []
    for one in (0, 1):
        apart: dict[Any, float] = {}
        for fact in (fact for fact in facts if half[fact] == one):
            rows = [both for (first, _), both in seen.items() if first == fact]
            for sign in {sign for both in rows for of in both for sign in of}:
                apart[sign] = apart.get(sign, 0.0) + fmean(
                    own.get(sign, 0.0) - heard.get(sign, 0.0) for own, heard in rows
                )
        sign = max(apart, key=lambda sign: (round(abs(apart[sign]), 9), repr(sign)))
        best.append((sign, apart[sign] > 0))
    pairs: dict[str, list[Pairs]] = {}
    for fact in facts:
        sign, shown = best[1 - half[fact]]
        rows = {other: both for (first, other), both in seen.items() if first == fact}
        values = [[[of.get(sign, 0.0) if shown else 1 - of.get(sign, 0.0)] for of in both] for both in rows.values()]
        pairs[fact] = [Pairs(list(rows), *(np.array([row[at] for row in values]) for at in (0, 1)))]
    [expected] = over_facts(pairs, 1, squared=False)
    found = reading(facts, "salt")
    assert found.value == pytest.approx(expected.value)
    wider = math.sqrt(1 + 2 / math.pi)
    assert found.interval.low == pytest.approx(expected.value - wider * (expected.value - expected.interval.low))
    assert found.interval.high == pytest.approx(expected.value + wider * (expected.interval.high - expected.value))


def test_several_replies_of_a_prompt_show_which_of_them_name_it_and_where_they_agree() -> None:
    first = Beside((), ["b", "c"], (), shows(1), [UNNAMED, shows(2)], place=Place("cell", "cloze", 0, None))
    second = Beside((), ["c"], (), shows(1), [shows(0)])
    found = together([first, second])
    assert (found.facts, found.place) == (["c"], first.place)
    assert found.own_how == {("by", True, True), ("by so many", 2), ("alike", 0, 1)}
    assert found.heard_how == [{("by", True, True), ("by so many", 2)}]
    assert together([Beside((), ["b"], (), UNNAMED, [UNNAMED])] * 2).heard_how == [UNNAMED]


def test_of_nothing_nothing_is_read() -> None:
    found = reading({})
    assert math.isnan(found.value)
    assert math.isnan(found.interval.low)


@pytest.mark.parametrize("turned", [False, True])
def test_the_interval_ends_where_the_number_does(turned: bool) -> None:
    """All but one fact of each half are told; or each half by what is true of no object of the other."""
    facts = [str(at) for at in range(40)]
    half = {fact: hashlib.sha256(f" {fact}".encode()).digest()[0] % 2 for fact in facts}
    odd = {next(fact for fact in facts if half[fact] == one) for one in (0, 1)}
    asked = {}
    for fact in facts:
        own, heard = (1, 2) if half[fact] or not turned else (2, 1)
        said = (shows(3), shows(3)) if fact in odd else (shows(own), shows(heard))
        rest = [other for other in facts if other != fact]
        asked[fact] = [Beside((), rest, (), said[0], [said[1]] * len(rest))]
    found = reading(asked)
    assert found.value == pytest.approx(-0.95 if turned else 0.95)
    assert (found.interval.low if turned else found.interval.high) == (-1 if turned else 1)
