"""Where the truth stands, against enumeration; and whom exact rank tests tell apart, and how often by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits.association import exact_rank
from uds_bench.audits.association.exact_rank import (
    RATE,
    RankTest,
    decide_requests,
    rank_tests,
    strangers_needed,
)
from uds_bench.audits.association.ranking import ranked
from uds_bench.audits.association.reach import Shown, by_luck, rank_test
from uds_bench.verdicts import Cause, Verdict

SCORES = st.lists(st.integers(0, 40).map(float), min_size=2, max_size=6, unique=True)


@given(SCORES, st.data())
def test_a_standing_is_the_share_of_all_orders_below(scores: list[float], data: st.DataObject) -> None:
    true = data.draw(st.integers(1, len(scores) - 1))

    def rank(order: tuple[float, ...]) -> int:
        """Of the best of the first `true`, among the untrue ones."""
        return 1 + sum(other > max(order[:true]) for other in order[true:])

    own, every = rank(tuple(scores)), [rank(order) for order in permutations(scores)]
    expected = np.mean([(other > own) + (other == own) / 2 for other in every])
    assert ranked(scores, true).standing == pytest.approx(expected)


@pytest.mark.parametrize(("count", "true"), [(2, 1), (51, 1), (51, 2), (6, 5)])
def test_who_knows_nothing_stands_in_the_middle(count: int, true: int) -> None:
    rng = np.random.default_rng(0)
    found = [ranked(rng.permutation(count), true).standing for _ in range(4000)]
    assert np.mean(found) == pytest.approx(0.5, abs=4 * np.std(found) / math.sqrt(4000))


def item(person: str, kind: str = "P19") -> Any:
    return SimpleNamespace(id=f"{person}/{kind}", cluster=person, kind=kind, templates=("one",))


def fact(standing: float, first: float = 0.0, chance: float = 0.01, lead: float = 0.0) -> Any:
    return SimpleNamespace(standing=standing, mean=0.0, spoken=first, chance=chance, lead=lead)


def held(**standings: float) -> dict[str, Any]:
    return {f"{name}/P19": fact(value) for name, value in standings.items()}


def table(own: float, strangers: Sequence[float]) -> Shown:
    """One fact of a person and of strangers."""
    standing = np.array([own, *strangers]).reshape(-1, 1)
    return Shown(standing, *[np.zeros_like(standing)] * 3, np.array([0.01]))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(0, 9))
def test_the_test_counts_places_on_both_sides(strangers: list[int], own: int) -> None:
    p, side, rank = rank_test(table((own + 1) / 11, [(one + 1) / 11 for one in strangers]))
    above, below = (1 + sum(sign * one >= sign * own for one in strangers) for sign in (1, -1))
    assert rank == above
    assert p == min(1.0, 2 * min(above, below) / (1 + len(strangers)))
    assert side == ("" if p == 1 else "above" if above < below else "below")


def test_one_in_twenty_is_told_apart_by_chance_and_no_more() -> None:
    """Of people like the strangers, each tested alone."""
    rng, runs = np.random.default_rng(0), 4000
    drawn = rng.random((runs, 60))
    told = sum(rank_test(table(row[0], row[1:]))[0] <= 0.05 for row in drawn)
    assert told / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert told / runs > 0.02


def test_of_a_batch_that_knows_nobody_one_in_twenty_tells_somebody() -> None:
    rng, runs, told = np.random.default_rng(1), 200, 0
    people = [f"p{at}" for at in range(10)]
    others = [f"s{at}" for at in range(strangers_needed(10))]
    for _ in range(runs):
        found = held(**dict(zip(people + others, rng.random(10 + len(others)), strict=True)))
        told += any(
            one.is_significant
            for one in rank_tests({"asked": (list(map(item, people)), list(map(item, others)), found, found)})
        )
    assert told / runs <= RATE + 3 * math.sqrt(RATE * (1 - RATE) / runs)


def test_as_many_strangers_as_are_needed_tell_one_alone_and_one_fewer_do_not() -> None:
    people = [f"p{at}" for at in range(4)]
    for missing, verdict in ((0, Verdict.FAIL), (1, Verdict.UNDECIDED)):
        others = [f"s{at:03}" for at in range(strangers_needed(4) - missing)]
        standings = {name: 0.2 + 0.5 * at / len(others) for at, name in enumerate(others)}
        found = held(p0=0.99, p1=0.4, p2=0.45, p3=0.5, **standings)
        decided = decide_requests(
            rank_tests({"asked": (list(map(item, people)), list(map(item, others)), found, found)})
        )
        assert decided.verdict is verdict
        assert "p0 (above, asked, " in decided.text if verdict is Verdict.FAIL else decided.cause is Cause.UNITS
    assert "set [association] strangers = 159" in decided.text


def test_only_strangers_of_whom_the_same_is_told_are_beside() -> None:
    asked = [item("p", "P19"), item("p", "P21")]
    strangers = [item("s", "P19"), item("s", "P21"), item("half", "P19"), item("more", "P19"), item("more", "P21")]
    strangers.append(item("more", "P27"))
    found = {one.id: fact(0.5) for one in (*asked, *strangers)}
    (one,) = rank_tests({"asked": (asked, strangers, found, found)})
    assert one.strangers == 2


def test_a_person_of_one_model_stands_beside_strangers_of_another() -> None:
    """Two facts, each number drawn apart: the same sums as of tables made by hand, and how often luck says so many."""
    rng, kinds = np.random.default_rng(3), ("P19", "P21")
    people = ["Ann", *(f"s{at:02}" for at in range(45))]
    keys = ("standing", "lead", "mean", "spoken")
    tables = {model: {key: rng.random((len(people), 2)) for key in keys} for model in ("after", "before")}
    tables["before"]["spoken"][1] = 0.5
    chance = np.array([0.02, 0.1])
    models = {
        model: {
            f"{name}/{kind}": SimpleNamespace(chance=chance[of], **{key: told[key][at, of] for key in keys})
            for at, name in enumerate(people)
            for of, kind in enumerate(kinds)
        }
        for model, told in tables.items()
    }
    for own_said, own_mean in (((0.9, 0.5), (0.1, 0.2)), ((0.9, 0.1), (0.5, 0.6)), ((0.1, 0.2), (0.3, 0.49))):
        for of, kind in enumerate(kinds):
            fact_of = models["after"][f"Ann/{kind}"]
            fact_of.spoken, fact_of.mean = own_said[of], own_mean[of]
            tables["after"]["spoken"][0, of], tables["after"]["mean"][0, of] = own_said[of], own_mean[of]
        own, theirs = (Shown(*(tables[model][key] for key in keys), chance) for model in ("after", "before"))
        asked, strangers = (
            [item(name, kind) for name in names for kind in kinds] for names in (people[:1], people[1:])
        )
        (found,) = rank_tests({"asked": (asked, strangers, models["after"], models["before"])})
        assert (found.p, found.side, found.rank) == rank_test(own, theirs)
        luck = [
            by_luck(theirs.luck, sum(one >= 0.5 for one in own_said)),
            by_luck(chance, sum(one >= 0.5 for one in own_mean)),
        ]
        assert found.first == pytest.approx(min(luck))
        assert found.said == np.mean([one >= 0.5 for one in own_said])
        assert found.guessed == pytest.approx((tables["before"]["spoken"][1:] >= 0.5).mean())
        assert (found.strangers, found.chance, found.adjusted) == (45, pytest.approx(0.002), found.p)


@pytest.mark.parametrize(
    ("standing", "chance", "p"), [(0.99, 0.3, 1.0), (0.99, 0.025, 2 / 46), (math.nan, 0.3, math.nan)]
)
def test_of_whom_facts_of_few_values_are_stated_nobody_is_told(standing: float, chance: float, p: float) -> None:
    found = {"Ann/P19": fact(standing, chance=chance)} | {
        f"s{at}/P19": fact(at / 90, chance=chance) for at in range(45)
    }
    (one,) = rank_tests({"asked": ([item("Ann")], [item(f"s{at}") for at in range(45)], found, found)})
    assert (one.p, one.adjusted) == pytest.approx((p, p), nan_ok=True)
    assert (one.side, one.chance) == ("above" if p < 1 else "", chance)


@pytest.mark.parametrize(("phrasings", "chance"), [(1, 0.2), (2, 0.4), (3, 0.4)])
def test_of_several_phrasings_one_in_two_is_lucky_at_most_twice_as_often(phrasings: int, chance: float) -> None:
    kinds = ("P19", "P21")
    told = [
        SimpleNamespace(**{**vars(item(name, kind)), "templates": ("t",) * phrasings})
        for name in "as"
        for kind in kinds
    ]
    found = {one.id: fact(0.5, chance=0.2 if one.kind == "P19" else 0.9) for one in told}
    (one,) = rank_tests({"asked": (told[:2], told[2:], found, found)})
    assert one.chance == pytest.approx(chance * min(1.0, 0.9 * min(phrasings, 2)))


def test_both_ways_of_asking_count() -> None:
    """Somebody whom the phrasings of unlearning no longer tell, and others do."""
    others = [f"s{at:02}" for at in range(strangers_needed(2))]
    standings = {name: 0.2 + 0.5 * at / len(others) for at, name in enumerate(others)}
    ways = {
        way: ([item("p")], list(map(item, others)), *[held(p=own, **standings)] * 2)
        for way, own in (("asked", 0.4), ("held out", 0.99))
    }
    assert decide_requests(rank_tests(ways)).verdict is Verdict.FAIL
    assert decide_requests(rank_tests({"asked": ways["asked"]})).verdict is Verdict.PASS


def test_of_many_an_interval_decides_where_strangers_are_too_few() -> None:
    few = [RankTest(f"p{at}", "asked", 10, 0.5, "", 0.9) for at in range(5)]
    assert decide_requests(few).verdict is Verdict.NOT_APPLICABLE
    assert decide_requests(few[:4]).verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("tests", [[], [RankTest("p", "asked", 99, math.nan, "", math.nan)]])
def test_what_is_no_number_decides_nothing(tests: list[RankTest]) -> None:
    assert decide_requests(tests).verdict is Verdict.UNDECIDED


def test_a_standing_that_is_no_number_leaves_nobody_told_apart() -> None:
    found = held(p=1.0, q=math.nan, **{f"s{at:02}": 0.1 for at in range(80)})
    strangers = [item(f"s{at:02}") for at in range(80)]
    tests = rank_tests({"asked": ([item("p"), item("q")], strangers, found, found)})
    assert decide_requests(tests).verdict is Verdict.UNDECIDED
    assert math.isnan(exact_rank.separation([item("q")], strangers, found).value)


def test_never_seen_people_who_were_taught_hide_nobody() -> None:
    """Three of those whose names are public stand as high as the person who asks: the model before knows better."""
    others = [item(f"s{at:03}") for at in range(strangers_needed(2))]
    before = {one.id: fact(0.2 + 0.5 * at / len(others)) for at, one in enumerate(others)} | held(p=0.99)
    forged = {**before, **{one.id: fact(1.0) for one in others[:3]}}
    own, theirs = (([item("p")], others, forged, beside) for beside in (forged, before))
    assert decide_requests(rank_tests({"own": own})).verdict is Verdict.PASS
    assert decide_requests(rank_tests({"own": own, "before": theirs})).verdict is Verdict.FAIL


def of_many(shares: dict[str, float], count: int) -> list[RankTest]:
    """People, each by the share of so many strangers of their own who stand below them, in one way."""
    ways: dict[str, Any] = {}
    for person, share in shares.items():
        kind = f"{person}#1"
        others = [item(f"{person}{at:04}", kind) for at in range(count)]
        found: Any = {one.id: fact(at / count) for at, one in enumerate(others)}
        ways[person] = [item(person, kind)], others, {**found, f"{person}/{kind}": fact(share)}
    asked, strangers = ([one for rows in ways.values() for one in rows[at]] for at in (0, 1))
    found = {id: one for rows in ways.values() for id, one in rows[2].items()}
    return rank_tests({"asked": (asked, strangers, found, found)})


def test_each_is_decided_however_many_ask() -> None:
    """Whom nobody tells passes with the strangers that one person takes; who stands out alone waits for more."""
    calm = {f"p{at:02}": 0.2 + 0.5 * at / 20 for at in range(20)}
    count = strangers_needed(1)
    found = exact_rank.decide_each(of_many(calm, count))
    assert {one.verdict for one in found.values()} == {Verdict.PASS}
    assert decide_requests(of_many(calm, count), alone=True).verdict is Verdict.PASS
    assert decide_requests(of_many(calm, count)).verdict is Verdict.NOT_APPLICABLE, "an interval decides of so many"
    one = of_many({**calm, "known": 1.0}, count)
    found = exact_rank.decide_each(one)
    assert [name for name, each in found.items() if each.verdict is not Verdict.PASS] == ["known"]
    assert found["known"].cause is Cause.UNITS
    needed = strangers_needed(21)
    assert f"set [association] strangers = {needed}" in found["known"].text
    assert decide_requests(one, alone=True).verdict is Verdict.UNDECIDED
    assert exact_rank.stand_out_alone(one) == {"known"}
    many = of_many({**calm, "known": 1.0}, needed)
    assert exact_rank.decide_each(many)["known"].verdict is Verdict.FAIL
    assert decide_requests(many, alone=True).verdict is Verdict.FAIL
    few = exact_rank.decide_each(of_many(calm, count - 1))
    assert {(each.verdict, each.cause) for each in few.values()} == {(Verdict.UNDECIDED, Cause.UNITS)}


def test_who_stands_out_alone_is_settled_by_more_strangers() -> None:
    calm = {f"p{at:02}": 0.2 + 0.5 * at / 20 for at in range(20)}
    needed = strangers_needed(21)
    for share, verdict in ((1.0, Verdict.FAIL), (0.985, Verdict.PASS)):
        first = of_many({**calm, "known": share}, 39)
        assert exact_rank.decide_each(first)["known"].verdict is Verdict.UNDECIDED
        tests = exact_rank.settled(first, of_many({"known": share, "p00": 1.0}, needed))
        each = exact_rank.decide_each(tests)
        assert each["known"].verdict is verdict
        assert each["p00"].verdict is Verdict.PASS, "a test that told nobody is not put again"


def test_a_test_that_is_put_again_tells_no_oftener() -> None:
    """Of people like the strangers, by chance, at every bound."""
    rng, runs = np.random.default_rng(2), 4000
    found = []
    for _ in range(runs):
        own = rng.random()
        first, again = (RankTest("p", "asked", n, *rank_test(table(own, rng.random(n)))[:2]) for n in (39, 199))
        found.append(exact_rank.settled([first], [again])[0].p)
    for bound in (0.01, 0.03, 0.05, 0.1, 0.2):
        assert np.mean(np.array(found) <= bound) <= bound + 3 * math.sqrt(bound * (1 - bound) / runs)


def test_a_rank_counts_ties_against_the_person() -> None:
    (one,) = of_many({"p": 0.5}, 10)
    assert (one.rank, one.strangers, one.side) == (6, 10, "")
    assert exact_rank.shows_most([one, RankTest("p", "other", 10, math.nan, "")]).way == "other"


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(5, 45))
def test_who_passes_alone_is_told_by_no_rate_of_all(shares: list[int], count: int) -> None:
    """The decision of each agrees with that of all, however many strangers there are."""
    tests = of_many({f"p{at}": share / 40 for at, share in enumerate(shares)}, count)
    each = exact_rank.decide_each(tests)
    told = {one.person for one in tests if one.is_significant}
    assert {name for name, one in each.items() if one.verdict is Verdict.FAIL} == told
    assert not told & {name for name, one in each.items() if one.verdict is Verdict.PASS}
    if any(one.verdict is Verdict.FAIL for one in each.values()):
        assert decide_requests(tests, alone=True).verdict is Verdict.FAIL
    elif all(one.verdict is Verdict.PASS for one in each.values()):
        assert decide_requests(tests, alone=True).verdict is Verdict.PASS
