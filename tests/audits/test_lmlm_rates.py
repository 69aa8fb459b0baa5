"""Rates of judged prompts beside counts by hand: what is left out, what is taken off, and which part is the worst."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits.lmlm import rates
from uds_bench.audits.lmlm.asking.record import HEARD, OFF, LookupReply
from uds_bench.audits.lmlm.attribution import PromptOutcome
from uds_bench.audits.lmlm.claims import EXCUSED, INFORMATIVE, SILENT_SHARE
from uds_bench.audits.lmlm.leakage import Leakage, too_silent, worst_part
from uds_bench.audits.lmlm.told import NOTHING, TOLD
from uds_bench.grouping import grouped
from uds_bench.statistics import FEWEST, Interval, Rate, cluster_interval, zero_rate_bound


def prompt(fact: int, exact: bool = False, state: str = "forbidden", **told: Any) -> Any:
    """A prompt that one state answers with the object or not, and every other state never."""
    marks = {each: SimpleNamespace(exact=exact and each == state) for each in (*OFF, "full", "del_on")}
    told_in = {each: (float(exact and each == state),) * len(TOLD) for each in HEARD}
    usual = {"given": False, "others": (("x",),), "chance": 0.0, "wording": "direct", "cell": "base"} | told
    return SimpleNamespace(
        unit=SimpleNamespace(
            cluster=f"f{fact}", prompt=SimpleNamespace(text="?"), id=f"{fact} {usual['cell']} {usual['wording']}"
        ),
        fact=SimpleNamespace(id=fact, answers=(f"own {fact}",), triplet=("", "is", ""), aliases=((), (), ())),
        said=dict.fromkeys(HEARD, ""),
        shown=lambda state: "?",
        reads=lambda state, names=(): False,
        counts=lambda state: not usual["given"],
        replies={"del_on": LookupReply("")},
        how=lambda state, names, others: None,
        marks=marks,
        told=told_in,
        tells=lambda state, names, others: NOTHING,
        floors=dict.fromkeys(HEARD, NOTHING),
        **usual | {"cell": SimpleNamespace(name=usual["cell"])},
    )


@pytest.mark.parametrize("prompts", [2, 3, 9, 10, 15, 18, 21])
def test_leakage_is_none_where_more_than_a_third_of_the_prompts_hold_the_object(prompts: int) -> None:
    for holding in range(prompts + 1):
        found = Leakage([prompt(at, given=at < holding) for at in range(prompts)]).by_way("forbidden")["exact"]
        assert math.isnan(found.value) is (3 * holding > prompts), (holding, "a third is not more than a third")
        assert found.interval.units == (0 if 3 * holding > prompts else prompts - holding)


def test_leakage_above_a_floor_is_of_facts_that_have_one() -> None:
    """0.25 is said of the other objects: what is said of the own lies above that, and above nothing where none is."""
    rows = [prompt(at, at < 2) for at in range(4)] + [prompt(9, True, others=())]
    for one in rows:
        one.floors = {**one.floors, "forbidden": (0.25, 0.5, 0.0, 0.0)}
    assert Leakage(rows).by_way("forbidden")["exact"].value == 3 / 5
    assert Leakage(rows).by_way("forbidden")["contains"].value == 2 / 4 - 0.25
    assert Leakage(rows).by_way("forbidden")["recall"].value == 2 / 4 - 0.5
    assert Leakage(rows).by_way("unknown")["recall"].value == 0
    assert math.isnan(Leakage(rows[4:]).by_way("forbidden")["contains"].value)


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=2, max_size=12))
def test_leakage_counts_a_fact_once_however_often_it_is_asked_for(facts: list[list[bool]]) -> None:
    """A fact of many databases is one fact: it weighs no more, and its interval is that of as many facts."""
    rows = [prompt(at, said) for at, asked in enumerate(facts) for said in asked]
    shares = [sum(asked) / len(asked) for asked in facts]
    found = Leakage(rows).by_way("forbidden")["exact"]
    assert found.value == pytest.approx(sum(shares) / len(shares))
    assert found.interval == cluster_interval(shares, range(len(shares)), limits=(0.0, 1.0))


def test_a_share_stays_in_its_range_and_a_difference_in_its_own() -> None:
    """Nobody of twelve shows as much as the exact bound tells, on either side of a difference and on one of a share."""
    none, every = ([prompt(at, exact, state="full") for at in range(12)] for exact in (False, True))
    bound = pytest.approx(zero_rate_bound(12))
    low, high = (rates.baseline(rows).interval for rows in (none, every))
    assert (low.low, low.high, 1 - high.low, high.high) == (0, bound, bound, 1)
    apart = rates.difference(none, lambda one: 0.0).interval
    assert (-apart.low, apart.high, apart.units) == (bound, bound, 12)
    twice = rates.rate([*none, *none], lambda one: 0.0).interval
    assert (twice.high, twice.units) == (bound, 12), "prompts of one fact are one unit"


@pytest.mark.parametrize("chance", [0.0, 0.01, EXCUSED, 0.06, 0.5, 1.0])
def test_chance_takes_off_no_more_of_a_residual_than_is_excused(chance: float) -> None:
    rows = [prompt(at, at < 3, state="del_on", chance=chance * (2 * (at % 2))) for at in range(10)]
    found = rates.residual(rows)
    assert found.value == pytest.approx(0.3 - min(chance, EXCUSED))
    assert rates.residual(rows, above_chance=False).value == pytest.approx(0.3)
    assert rates.residual(rows, above_chance=False).interval.low >= 0


def test_who_is_silent_is_not_cleared_and_who_leaks_is_no_less_red() -> None:
    def silent(of: int, clusters: int = 4) -> list[Any]:
        replies = [{"self_completed": SimpleNamespace(answer="" if at < of else "no")} for at in range(clusters)]
        return [SimpleNamespace(replies=one) for one in replies]

    assert SILENT_SHARE == 2 / 4
    for low, said in ((0.1, False), (math.nextafter(0.1, 1), True)):
        found = Rate(0.2, Interval(low, 0.3, "by hand", 9))
        assert too_silent(silent(3), found, 0.1) is not said
        assert not too_silent(silent(2), found, 0.1)
    assert too_silent(silent(3), Rate(math.nan, Interval(math.nan, math.nan, "by hand", 0)), 0.1)


@pytest.mark.parametrize("state", OFF)
def test_the_worst_part_is_told_with_its_elicitation_and_way(state: Any) -> None:
    quiet, loud = ([prompt(at, exact, state=state) for at in range(9)] for exact in (False, True))
    words = f"by contains with lookups {state.replace('_', ' ')}"
    assert Leakage(loud).worst()[0] == words
    of = {"quiet": Leakage(quiet), "loud": Leakage(loud)}
    for parts in (of, dict(reversed(of.items()))):
        assert worst_part(parts)[:2] == ("loud", words)
        assert worst_part(parts)[2].value == 1
        name, _, found = worst_part(parts | {"nobody": Leakage([])})
        assert name == "nobody"
        assert math.isnan(found.value)


def test_a_part_of_few_facts_hides_no_other_that_is_clear() -> None:
    """Its interval reaches highest, and decides nothing."""
    loud = Leakage([prompt(at, True, state="forbidden") for at in range(9)])
    assert worst_part({"loud": loud, "nobody": Leakage([])}, 0.1)[0] == "loud"
    assert worst_part({"loud": loud, "nobody": Leakage([])}, 1.0)[0] == "nobody"
    assert loud.worst(0.1)[1].value == 1


def test_a_cell_is_informative_where_it_is_answered_clearly_enough() -> None:
    cells = {"never": 0, "seldom": 3, "always": 40}
    rows = [prompt(at, at < right, state="full", cell=cell) for cell, right in cells.items() for at in range(40)]
    lows = {cell: rates.baseline(found).interval.low for cell, found in rates.by_cell(rows).items()}
    assert lows["seldom"] < INFORMATIVE < lows["always"]
    assert rates.uninformative(rows) == ["never", "seldom"]
    assert rates.uninformative(rows, lows["always"]) == ["never", "seldom"], "at the bound it is reached"
    assert rates.uninformative(rows, math.nextafter(lows["always"], 2)) == list(cells)
    assert rates.informative(rows) == [one for one in rows if one.cell.name == "always"]
    few = [prompt(at, state="full", exact=True, cell="few") for at in range(FEWEST - 1)]
    assert rates.uninformative([*rows, *few]) == ["never", "seldom", "few"], "too few facts decide nothing"
    assert rates.least_answered(rows)[0] == "never"
    assert rates.least_answered(rows[40:])[0] == "seldom"


@pytest.mark.parametrize("more", [True, False])
def test_the_wording_furthest_from_all_others_is_found_on_either_side(more: bool) -> None:
    """Facts of two cells have one number, and are told apart. The third wording reaches further on its own side."""
    wordings = {"direct": not more, "few_shot": not more, "cloze": more}
    rows = [
        prompt(at, exact and cell == "base", state="del_on", wording=wording, cell=cell)
        for wording, exact in wordings.items()
        for cell in ("base", "noise")
        for at in range(12)
    ]
    name, found = rates.furthest_wording(rows, 0.1)
    assert name == "cloze"
    assert found.value == pytest.approx((2 / 3 if more else -2 / 3) / 2)
    assert rates.furthest_wording(rows[::-1], 0.1) == (name, found)


def test_prompts_are_grouped_in_the_order_in_which_they_come() -> None:
    kinds = ("b", "x"), ("a", "y"), ("b", "y")
    rows = [prompt(at, wording=wording, cell=cell) for at, (wording, cell) in enumerate(kinds)]
    assert grouped(rows, lambda one: one.wording) == {"b": [rows[0], rows[2]], "a": [rows[1]]}
    assert list(rates.by_cell(rows).items()) == [("x", rows[:1]), ("y", rows[1:])]


def test_the_test_of_two_states_is_of_prompts_that_differ() -> None:
    outcomes = [(True, False)] * 4 + [(True, True)] * 5 + [(False, False)] * 2
    found, *told = rates.discordance([SimpleNamespace(outcome=PromptOutcome(*one)) for one in outcomes])
    assert (found.a, found.b, found.c, found.d) == (5, 4, 0, 2)
    assert told == ["exact binomial", None, 0.125]
