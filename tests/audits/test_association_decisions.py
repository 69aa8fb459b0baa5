"""From exact rank tests to a decision: each rule beside the one before it, and what its message says."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from uds_bench.audits.association import rechecks
from uds_bench.audits.association.exact_rank import (
    NAMED,
    RankTest,
    decide_each,
    decide_requests,
    settled,
    shows_most,
    stand_out_alone,
    strangers_needed,
)
from uds_bench.verdicts import Cause, Decision, Verdict

ALONE, TWO, MANY = map(strangers_needed, (1, 2, 9))
"""Strangers that tell one person in one way, or two, or nine."""
UNDECIDED, UNITS = Verdict.UNDECIDED, Cause.UNITS


def one(person: str = "Ann", p: float = 0.4, **more: Any) -> RankTest:
    """A test of a person who is like the strangers, but for what is said otherwise."""
    told: dict[str, Any] = {"way": "asked", "strangers": TWO, "side": "above", "adjusted": p, "rank": 3} | more
    return RankTest(person, p=p, **told)


def each(*tests: RankTest) -> Decision:
    """What the person of the first test comes to."""
    return decide_each(tests)[tests[0].person]


def test_there_are_as_many_strangers_as_a_rate_of_one_in_twenty_takes() -> None:
    """Two sides, of whom the person is one: 2 / (1 + strangers) is the least p."""
    for tests in range(1, 30):
        needed = strangers_needed(tests)
        assert 2 / (1 + needed) * tests <= 0.05 + 1e-9 < 2 / needed * tests


# ---- a person alone


def test_who_is_told_at_the_rate_of_all_fails() -> None:
    told = one(p=0.025, adjusted=0.05, way="held out", side="below", rank=79)
    words = f"below, held out: rank 79 of {TWO + 1}, p 0.0250, rate 0.050: told from strangers"
    assert each(one(), told) == Decision(Verdict.FAIL, 0.025, None, words, 0.025)
    assert each(one(p=0.025, adjusted=0.051)).verdict is not Verdict.FAIL


def test_who_is_like_the_strangers_passes() -> None:
    words = f"asked: rank 3 of {ALONE + 1}, p 1.0000, rate 1.000: as strangers are"
    assert each(one(p=1.0, side="", strangers=ALONE)) == Decision(Verdict.PASS, 1.0, None, words)


def test_a_number_that_is_none_decides_nothing() -> None:
    lacking = one(p=math.nan, adjusted=math.nan)
    for tests in ((one(), lacking), (lacking, one())):
        assert each(*tests) == Decision(UNDECIDED, None, None, "where the person stands is no number")


@pytest.mark.parametrize(("ways", "needed"), [(1, ALONE), (2, TWO)])
def test_fewer_strangers_than_one_takes_are_too_few(ways: int, needed: int) -> None:
    """In as many ways as the person is asked in; the fewest of them count."""
    enough = [one(way=str(at), strangers=needed) for at in range(ways)]
    few = [*enough[1:], one(way="few", strangers=needed - 1)]
    assert each(*enough).verdict is Verdict.PASS
    shown = shows_most(few)
    words = f"above, {shown.way}: rank 3 of {shown.strangers + 1}, p 0.4000, rate 0.400; to tell one takes {needed} "
    words += f"strangers: set [association] strangers = {needed}"
    assert each(*few) == Decision(UNDECIDED, 0.4, None, words, cause=UNITS)


def test_who_is_told_alone_and_not_among_all_waits_for_more_strangers() -> None:
    """Unless there are as many as would tell one among all: then it is luck."""
    others = [one(f"p{at}") for at in range(3)]
    among = strangers_needed(4)
    for count, verdict in ((ALONE, UNDECIDED), (among - 1, UNDECIDED), (among, Verdict.PASS)):
        found = each(one(p=0.05, adjusted=0.2, strangers=count, rank=1), *others)
        assert found.verdict is verdict
        if verdict is UNDECIDED:
            words = f"above, asked: rank 1 of {count + 1}, p 0.0500, rate 0.200; alone it would be told, and among all"
            takes = f"who ask that takes {among} strangers: set [association] strangers = {among}"
            told = f"{words} {takes}, or recheck with --settle"
            assert found == Decision(UNDECIDED, 0.05, None, told, cause=UNITS)
    assert each(one(p=0.051, adjusted=0.2, strangers=ALONE), *others).verdict is Verdict.PASS
    two = one(p=0.05, adjusted=0.2, strangers=TWO), one(way="held out", strangers=TWO)
    assert each(*two, *others).verdict is Verdict.PASS, "of two ways one in twenty is told in one"
    assert each(one(p=0.025, adjusted=0.2, strangers=TWO), two[1], *others).cause is UNITS


def test_facts_of_few_values_tell_nobody() -> None:
    """Of two sides, so that luck may rank all first once in forty times; one test of more values is enough."""
    few = one(chance=0.3, guessed=0.125), one(way="held out", chance=0.0251, guessed=0.25)
    words = "luck ranks all of it first with 0.025, by the number of values, which tells nobody (it is said first of "
    words += f"0.250 of strangers): give {ALONE} counterfactuals, or more facts"
    assert each(*few) == Decision(UNDECIDED, 0.4, None, words)
    assert each(*few, one(way="third", strangers=strangers_needed(3), chance=0.025)).verdict is UNDECIDED
    assert each(one(chance=0.025)).verdict is Verdict.PASS
    assert each(one(chance=0.3, strangers=1)).cause is Cause.INTERVAL, "more strangers would not help"
    assert each(one(p=0.01, chance=0.3)).verdict is Verdict.FAIL


@pytest.mark.parametrize(("first", "verdict"), [(0.0125, UNDECIDED), (0.0126, Verdict.PASS)])
def test_what_luck_puts_first_too_seldom_never_passes(first: float, verdict: Verdict) -> None:
    """Of two ways, and of one side alone, as nobody is told by being said last."""
    found = each(one(first=first), one(way="held out", first=0.9))
    assert found.verdict is verdict
    if verdict is UNDECIDED:
        words = f"above, asked: rank 3 of {TWO + 1}, p 0.4000, rate 0.400; but luck puts so many facts first with "
        assert found == Decision(UNDECIDED, 0.4, None, f"{words}0.0125 alone")


def test_what_is_all_said_first_never_passes_though_strangers_are_guessed_right() -> None:
    ways: dict[str, Any] = {
        "asked": {"said": 1.0, "guessed": 0.125},
        "b": {"said": 1.0, "guessed": 0.25},
        "c": {"guessed": 0.5},
    }
    found = each(*(one(way=way, strangers=MANY, **more) for way, more in ways.items()))
    words = (
        f"above, asked: rank 3 of {MANY + 1}, p 0.4000, rate 0.400; but all of it is said first, as 0.25 of it is of "
    )
    assert found == Decision(UNDECIDED, 0.4, None, f"{words}strangers: ask for what is harder to guess")
    assert each(one(said=0.99, guessed=0.25)).verdict is Verdict.PASS


def test_everybody_is_decided_by_their_own_tests() -> None:
    found = decide_each([one("Bea", 0.01), one("Ann"), one("Bea", way="held out"), one("Cy", strangers=1)])
    assert {name: decision.verdict for name, decision in found.items()} == {
        "Bea": Verdict.FAIL,
        "Ann": Verdict.PASS,
        "Cy": UNDECIDED,
    }
    assert decide_each([]) == {}


def test_whom_their_own_tests_tell_is_told_alone() -> None:
    tests = [
        one("Ann", 0.05),
        one("Bea", 0.05),
        one("Bea", way="held out"),
        one("Cy", 0.025),
        one("Cy", way="held out"),
    ]
    assert stand_out_alone(tests) == {"Ann", "Cy"}
    assert stand_out_alone([one("Ann", 0.01), one("Ann", math.nan, way="held out")]) == frozenset()
    last = [one("Ann", 0.01, side="below"), one("Bea", 0.01), one("Cy", 0.01, side="below"), one("Cy", way="held out")]
    assert (stand_out_alone(last), stand_out_alone(last, above=True)) == ({"Ann", "Bea", "Cy"}, {"Bea"})


def test_of_whom_the_model_before_puts_last_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person whose facts were never held stood out all the same, and passed as forgotten."""
    tests = {"npo": [one("Ann"), one("Bea")], rechecks.BEFORE: [one("Ann", 0.01), one("Bea", 0.01, side="below")]}
    monkeypatch.setattr(rechecks, "tests_of", lambda audit, model: tests[model])
    monkeypatch.setattr(rechecks, "said_first", lambda audit, model, person: 0.0)
    seen = SimpleNamespace(score=SimpleNamespace(notes={"rendered": "alike"}))
    audit: Any = SimpleNamespace(section=SimpleNamespace(retain=None), seen=lambda name="model": seen)
    found = {one.id: one.decision for one in rechecks.rechecked(audit, "npo")}
    assert [found[name].verdict for name in ("Ann", "Bea")] == [Verdict.PASS, Verdict.UNDECIDED]
    assert "the model before is not told either" in found["Bea"].text


def test_only_a_test_that_tells_alone_is_put_again() -> None:
    first = [one("Ann", 0.05), one("Ann", 0.051, way="held out"), one("Bea", 0.01)]
    again = [one("Ann", 0.9, strangers=200), one("Ann", 0.001, way="held out", strangers=200), one("Cy", 0.001)]
    found = settled(first, again)
    assert [(test.person, test.p, test.strangers) for test in found] == [
        ("Ann", 0.9, 200),
        ("Ann", 0.051, TWO),
        ("Bea", 0.01, TWO),
    ]
    assert [test.adjusted for test in found] == pytest.approx([0.9, 0.051 * 3 / 2, 0.03])


# ---- all who ask


def test_whoever_is_told_is_named_and_most_of_all_first() -> None:
    rates = {"Di": 0.04, "Ann": 0.01, "Flo": 0.05, "Cy": 0.03, "Eve": 0.045, "Bea": 0.02}
    tests = [one(name, rate, side="below", strangers=50 + at) for at, (name, rate) in enumerate(rates.items())]
    tests += [one("Ann", 0.0125, way="held out"), one("Gus"), one("Hal")]
    named = [f"{name} (below, asked, rate {rate:.3f})" for rate, name in sorted((r, n) for n, r in rates.items())]
    words = "6 of 8 people who ask are told from 50 people never seen: "
    found = decide_requests(tests)
    assert found == Decision(Verdict.FAIL, 6 / 8, None, f"{words}{', '.join(named[:NAMED])} and 1 more", 6 / 8)
    assert decide_requests(tests, alone=True) == found
    assert decide_requests(tests[1:]).text.endswith(", ".join(named[:3] + named[4:])), "five are named"


NOBODY = "0 of {} people who ask are told from {} people never seen"


@pytest.mark.parametrize(("people", "verdict", "cause"), [(4, UNDECIDED, UNITS), (5, Verdict.NOT_APPLICABLE, None)])
def test_with_too_few_strangers_an_interval_decides_of_many(people: int, verdict: Verdict, cause: Cause | None) -> None:
    needed = strangers_needed(people)
    for count in (needed - 1, needed):
        tests = [one(f"p{at}", strangers=count + at) for at in range(people)]
        text = NOBODY.format(people, count)
        more = f"{text}; to tell one alone takes {needed}: set [association] strangers = {needed}"
        expected = (
            Decision(Verdict.PASS, 0.0, None, text)
            if count == needed
            else Decision(verdict, 0.0, None, more, cause=cause)
        )
        assert decide_requests(tests) == expected


def test_what_cannot_be_told_of_one_is_passed_of_nobody() -> None:
    few = one("Bea", chance=0.3, guessed=0.25)
    guessed = "luck ranks all of it first with 0.300, by the number of values, which tells nobody (it is said first of "
    guessed += f"0.250 of strangers): give {ALONE} counterfactuals, or more facts"
    first = "but luck puts so many facts first with 0.0100 alone"
    for other, why in ((few, guessed), (one("Bea", first=0.01), first), (one("Bea", chance=0.3, first=0.01), first)):
        found = decide_requests([one(), other])
        assert found == Decision(UNDECIDED, 0.0, None, f"{NOBODY.format(2, TWO)}; {why}")
    assert decide_requests([one(), one("Bea", first=0.0126)]).verdict is Verdict.PASS
    assert decide_requests([one(first=0.0125), one("Bea")]).verdict is UNDECIDED


def test_with_strangers_of_their_own_each_is_decided_and_one_who_waits_is_named() -> None:
    calm, waits = one(strangers=ALONE), one("Bea", strangers=ALONE - 1)
    both = decide_requests([calm, one("Zoe", strangers=ALONE + 1)], alone=True)
    assert both == Decision(Verdict.PASS, 0.0, None, NOBODY.format(2, ALONE))
    why = decide_each([calm, waits])["Bea"]
    words = f"{NOBODY.format(2, ALONE - 1)}; Bea: {why.text}"
    assert decide_requests([calm, waits], alone=True) == Decision(UNDECIDED, 0.0, None, words, cause=UNITS)
    guessed = one("Bea", chance=0.3)
    assert decide_requests([calm, guessed], alone=True).cause is Cause.INTERVAL


def test_of_nobody_and_of_what_is_no_number_nothing_is_decided() -> None:
    for tests in ([], [one(p=0.001), one("Bea", math.nan)]):
        words = "a person's standing is no number, or nobody asks"
        assert decide_requests(tests) == Decision(UNDECIDED, None, None, words)
