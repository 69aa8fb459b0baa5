"""Pools as controls: a member is wrong where it crosses the other pool, and most of each side must come out right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_reports import made_rules

from uds_bench.audits.depth import reading as depth
from uds_bench.claims.claim import Claim, ControlSubject
from uds_bench.claims.record import Control
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import Interval

KNOWS = {"plain": 0.08, "qa": 0.12, "full2": 0.21, "biography": 0.44, "dialogue": 0.58, "biography_r5_e15": 0.753}
NEVER_KNEW = {"swapped": 0.813, "retain2": 0.86, "other": 0.90, "refusing": 0.92, "fewer": 0.95, "none": 0.97}
"""Six and six models. The knowers reach .753 and the strangers start at .813: they do not overlap."""
Numbers = dict[str, float]


def score(name: str, value: float, reach: float = 0.02) -> Score:
    interval = Interval(value - reach, value + reach, "any", 15)
    return Score(name, "none", "uds", "block", value, interval, (FactScore("f", "a", value),))


def fresh() -> Claim:
    return Claim("depth.score", "npo", "node", made_rules())


def subjects(knows: Sequence[Score], never_knew: Sequence[Score]) -> list[ControlSubject]:
    sides: tuple[tuple[Literal["fail", "pass"], Sequence[Score]], ...] = (("fail", knows), ("pass", never_knew))
    return [ControlSubject.of(one, must) for must, side in sides for one in side]


def controls(knows: Numbers, never_knew: Numbers, reach: float = 0.02) -> dict[str, Control]:
    """Every member, decided as in `suites/test_depth.py`."""
    sides = [[score(name, value, reach) for name, value in side.items()] for side in (knows, never_knew)]
    found = fresh().pooled(subjects(*sides), cut=depth.pool_cut(*sides))
    return {control.name: control for control in found}


def wrong(knows: Numbers, never_knew: Numbers, reach: float = 0.02) -> set[str]:
    return {name for name, control in controls(knows, never_knew, reach).items() if not control.held}


def test_a_knower_far_from_its_like_is_right_as_long_as_it_crosses_nobody() -> None:
    """Without it the cut would fall to (.58 + .813) / 2 = .697, which its interval clears."""
    assert KNOWS["biography_r5_e15"] - 0.02 > (KNOWS["dialogue"] + NEVER_KNEW["swapped"]) / 2
    assert wrong(KNOWS, NEVER_KNEW) == set()
    sides = [[score(*pair) for pair in side.items()] for side in (KNOWS, NEVER_KNEW)]
    claim = fresh()
    claim.threshold(score("npo", 0.96), cut=depth.pool_cut(*sides), pools=subjects(*sides))
    assert (claim.record.verdict, claim.record.bound.value) == ("pass", pytest.approx(0.783))


def test_so_is_a_stranger_far_from_its_like() -> None:
    assert wrong({"a": 0.1, "b": 0.12, "c": 0.3}, {"near": 0.35, "d": 0.9, "e": 0.95}) == set()


def test_pools_that_overlap_are_told_with_the_two_that_cross() -> None:
    crossing = KNOWS | {"biography_r5_e15": 0.82}
    assert wrong(crossing, NEVER_KNEW) == {"biography_r5_e15", "swapped"}
    sides = [[score(*pair) for pair in side.items()] for side in (crossing, NEVER_KNEW)]
    claim = fresh()
    with pytest.raises(pytest.fail.Exception, match=r"UNDECIDED \(control\)") as raised:
        claim.threshold(score("npo", 0.96), cut=depth.pool_cut(*sides), pools=subjects(*sides))
    assert "its 0.820 and the 0.813 of swapped cross" in str(raised.value)
    assert "its 0.813 and the 0.820 of biography_r5_e15 cross" in str(raised.value)


def test_to_touch_is_to_cross() -> None:
    assert wrong(KNOWS | {"biography_r5_e15": 0.813}, NEVER_KNEW) == {"biography_r5_e15", "swapped"}


def test_most_of_each_side_must_be_decided_by_their_intervals() -> None:
    near: Numbers = {"a": 0.1, "b": 0.66, "c": 0.67, "d": 0.68}
    far: Numbers = {"e": 0.72, "f": 0.9, "g": 0.95}
    assert wrong(near, far, reach=0.01) == set()
    assert wrong(near, far, reach=0.05) == {"b", "c", "d"}


def test_half_of_a_side_is_not_most_of_it() -> None:
    """A side of one that is decided and one that is open, and of two and one; the other side is decided."""
    far = {"e": 0.95, "f": 0.96}
    for near, held in (({"a": 0.1, "b": 0.69}, False), ({"a": 0.1, "c": 0.2, "b": 0.69}, True)):
        sides = [[score(name, value, 0.05) for name, value in side.items()] for side in (near, far)]
        found = {control.name: control.held for control in fresh().pooled(subjects(*sides))}
        assert found == {"a": True, **{name: True for name in near if name == "c"}, "b": held, "e": True, "f": True}


def test_a_member_of_whom_a_fact_broke_is_never_right() -> None:
    broken = score("broken", 0.1)
    broken = replace(broken, per_fact=(*broken.per_fact, FactScore("g", "a", None, "cut")))
    sides = [[score(*pair) for pair in side.items()] for side in (KNOWS, NEVER_KNEW)]
    found = fresh().pooled(subjects([broken], sides[1]))
    assert [(one.name, one.verdict) for one in found if not one.held] == [("broken", "undecided")]


def test_small_pools_set_no_cut_and_are_held_to_the_bound() -> None:
    """A knower that clears the bound at hand shows that the gate would let one through, whomever it crosses."""
    assert wrong({"a": 0.1, "b": 0.2, "c": 0.75}, {"d": 0.9, "e": 0.95}) == {"c"}


@pytest.mark.parametrize(
    ("value", "interval"),
    [
        (math.nan, Interval(math.nan, math.nan, "any", 0)),
        (math.nan, Interval(0.1, 0.2, "any", 15)),
        (None, None),
        (0.1, None),
        (0.1, Interval(0.1, 0.1, "any", 15)),
        (0.1, Interval(0.05, 0.15, "any", 4)),
        (0.1, Interval(-math.inf, math.inf, "any", 15)),
    ],
)
def test_what_is_no_number_or_decides_nothing_is_never_right(value: float | None, interval: Interval | None) -> None:
    known, never = ([score(*pair) for pair in side.items()] for side in (KNOWS, NEVER_KNEW))
    broken = ControlSubject("broken", "fail", value, interval)
    found = fresh().pooled([broken, *subjects(known, never)], cut=0.783)
    assert [control.name for control in found if not control.held] == ["broken"]


@given(st.lists(st.floats(0.02, 0.98), min_size=3, max_size=8), st.lists(st.floats(0.02, 0.98), min_size=3, max_size=8))
def test_with_sharp_intervals_those_are_wrong_that_cross(knows: list[float], never_knew: list[float]) -> None:
    known = {f"k{i}": value for i, value in enumerate(knows)}
    never = {f"n{i}": value for i, value in enumerate(never_knew)}
    crossing = {n for n, v in known.items() if v >= min(never_knew)} | {n for n, v in never.items() if v <= max(knows)}
    found = wrong(known, never, reach=1e-12)
    assert crossing <= found
    if not crossing and min(never_knew) - max(knows) > 1e-9:
        assert not found


def test_pools_of_another_claim_are_held_to_its_bound() -> None:
    sides = subjects(*([score(*pair) for pair in side.items()] for side in (KNOWS, NEVER_KNEW)))
    other = Claim("association.forgotten", "npo", "node", made_rules())
    assert other.pooled(sides, "depth.score") == fresh().pooled(sides) != other.pooled(sides)


def test_where_less_is_more_forgotten_the_other_way_round() -> None:
    claim = Claim("mine.said", "npo", "node", made_rules())
    known = [score(f"k{i}", value) for i, value in enumerate((0.9, 0.8, 0.4))]
    never = [score(f"n{i}", value) for i, value in enumerate((0.1, 0.2, 0.3))]
    claim.threshold(score("npo", 0.1), at_most=0.35, pools=subjects(known, never))
    assert claim.record.verdict == "pass"
    assert all(control.held for control in claim.record.controls)
