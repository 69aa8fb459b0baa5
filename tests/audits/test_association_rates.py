"""Rates over people and their intervals: exact bounds, mirrors and shifts, which hold whatever the numbers are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from uds_bench.audits.association.exact_rank import beside, furthest, mirrored, separation
from uds_bench.audits.association.ranking import Ranked
from uds_bench.audits.association.rates import Memorization, held, lost, more, over, telling
from uds_bench.statistics import Interval, Rate, mean

PEOPLE = 20
BOUND = 1 - 0.025 ** (1 / PEOPLE)
"""Of twenty people without a hit, the share that would show none once in forty times (Clopper and Pearson)."""


def items(people: Sequence[str], kinds: Sequence[str] = ("P19", "P21")) -> list[Any]:
    return [SimpleNamespace(id=f"{one}/{kind}", cluster=one, kind=kind) for one in people for kind in kinds]


ASKED, OTHERS = items([f"p{at}" for at in range(PEOPLE)]), items([f"s{at}" for at in range(PEOPLE)])
KNOWN = Memorization(0.5, False, True, 0.5, 0.5, 0.1, 0.5, 0.5)


def of(rows: Sequence[Any], *values: float) -> dict[str, Any]:
    """Mean and strength by item, in turns of two items each."""
    return {
        one.id: replace(KNOWN, mean=v, strength=v)
        for at, one in enumerate(rows)
        for v in [values[at // 2 % len(values)]]
    }


def test_every_share_is_of_its_own_templates_and_replies() -> None:
    """Three templates of four candidates, two of them true, and four replies, two of them to questions."""
    ranks = [
        Ranked(1, True, True, (2.0, 1.0), 1.5, 4, said="Oslo", leader="Oslo"),
        Ranked(2, False, True, (0.0, -1.0), 0.5, 4, said="Bonn", leader="Rome"),
        Ranked(3, False, False, (-5.0, -6.0), -0.5, 4, said="Kiel", leader=None),
    ]
    named = [("phrasing 0", ("Rome", "Bonn")), ("question", ("Rome",)), ("question", ()), ("phrasing 1", ("Bonn",))]
    found = held(ranks, ["Oslo", "Bonn"], named)
    assert found == Memorization(
        mean=1 / 3,
        every=False,
        some=True,
        lenient=2 / 3,
        strength=0.5,
        chance=0.5,
        first=2 / 3,
        standing=mean([one.standing for one in ranks]),
        said=("Oslo", "Bonn", "Kiel"),
        leaders=("Oslo", "Rome", None),
        lead=-1.0,
        replied=0.5,
        named=tuple(named),
        answered=0.0,
    )
    told = [*named, ("question", ("Oslo",))]
    assert (held(ranks, ["Oslo", "Bonn"], told).answered, telling(told, ["Oslo", "Bonn"])) == (1 / 3, 0.6)
    with pytest.raises(ValueError, match="no template"):
        held([], ["Oslo"])


def test_of_whom_nothing_is_held_the_bound_is_exact_over_people() -> None:
    nobody, everybody = over(ASKED, of(ASKED, 0.0)), over(ASKED, of(ASKED, 1.0))
    assert nobody.interval.units == PEOPLE
    assert (nobody.interval.low, nobody.interval.high) == (0.0, pytest.approx(BOUND))
    assert (everybody.interval.low, everybody.interval.high) == (pytest.approx(1 - BOUND), 1.0)


@pytest.mark.parametrize("rate", [over, lost, more])
def test_a_strength_has_no_ends_and_a_share_has(rate: Any) -> None:
    """Ten times the strengths have ten times the interval, however large they are."""

    def found(scale: float) -> Rate:
        rows, rest = of(ASKED, *(scale * v for v in (3.0, 4.0, 6.0))), of(OTHERS, 0.5 * scale, scale)
        if rate is over:
            return over(ASKED, rows, "strength")
        if rate is lost:
            return lost(ASKED, rows, of(ASKED, 0.5 * scale, scale), "strength")
        return more((ASKED, rows), (OTHERS, rest), "strength")

    one, ten = found(1.0), found(10.0)
    assert one.interval.low < one.value < one.interval.high
    assert one.value > 1
    for end in ("low", "high"):
        assert getattr(ten.interval, end) == pytest.approx(10 * getattr(one.interval, end))
    assert ten.value == pytest.approx(10 * one.value)


def test_what_is_lost_one_way_is_won_the_other() -> None:
    before, after = of(ASKED, 1.0, 0.5, 0.75), of(ASKED, 0.25, 0.5)
    there, back = lost(ASKED, before, after), lost(ASKED, after, before)
    assert there.value == -back.value > 0
    assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))
    assert there.interval.units == PEOPLE
    all_of_it = lost(ASKED, of(ASKED, 1.0), of(ASKED, 0.0)).interval
    assert all_of_it.high == 1.0
    assert 0 < all_of_it.low < 1, "a share has ends, at which an exact bound takes its place"
    assert lost(ASKED, of(ASKED, 1.0), of(ASKED, 0.0), "strength").interval.low == 1.0, "a strength has none"


def test_more_of_some_is_less_of_others() -> None:
    some, rest = (ASKED, of(ASKED, 1.0, 0.5, 0.75)), (OTHERS, of(OTHERS, 0.25, 0.5))
    there, back = more(some, rest), more(rest, some)
    assert there.value == -back.value > 0
    assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))
    assert there.interval.low < there.value < there.interval.high
    apart = more((ASKED, of(ASKED, 1.0)), (OTHERS, of(OTHERS, 0.0))).interval
    assert apart.high == 1.0
    assert 0 < apart.low < 1
    same = more((ASKED, of(ASKED, 0.0)), (OTHERS, of(OTHERS, 0.0))).interval
    assert (same.low, same.high) == (pytest.approx(-BOUND), pytest.approx(BOUND)), "of two sides (Newcombe)"


def test_people_are_told_apart_property_by_property() -> None:
    """Of each property all who ask stand above all others, and between properties they do not."""
    places = {"P19": (0.9, 0.8), "P21": (0.2, 0.1)}
    found = {
        one.id: replace(KNOWN, standing=places[one.kind][side])
        for side, rows in enumerate((ASKED, OTHERS))
        for one in rows
    }
    told = separation(ASKED, OTHERS, found)
    assert told.value == 0.5
    assert 0 < told.interval.low < told.interval.high == 0.5
    back = separation(OTHERS, ASKED, found)
    assert (back.value, back.interval.low, back.interval.high) == (-0.5, -0.5, pytest.approx(-told.interval.low))
    both = separation(ASKED, OTHERS, mirrored(found))
    assert (both.value, both.interval.high) == (-0.5, pytest.approx(-told.interval.low))
    assert {id: one.standing for id, one in mirrored(mirrored(found)).items()} == pytest.approx(
        {id: one.standing for id, one in found.items()}
    )


def test_a_place_and_its_mirror_are_as_far_from_the_middle() -> None:
    found = {"p0": replace(KNOWN, standing=0.9)}
    assert mirrored(found)["p0"].standing == pytest.approx(0.1)


def test_strangers_before_take_the_place_of_ones_own_alone() -> None:
    after, before = of(ASKED + OTHERS, 1.0), of(ASKED + OTHERS, 0.25)
    own, past = beside(after, before, OTHERS).items()
    assert own == ("beside its own", after)
    assert past[0] == "beside those before"
    assert {id: one.mean for id, one in past[1].items()} == {
        **{one.id: 1.0 for one in ASKED},
        **{one.id: 0.25 for one in OTHERS},
    }


def test_the_rate_that_is_no_number_is_the_furthest() -> None:
    near = Rate(0.0, Interval(-0.3, 0.1, "by hand", 9))
    none = Rate(math.nan, Interval(math.nan, math.nan, "by hand", 0))
    assert furthest([near, none]) is furthest([none, near]) is none


def test_a_share_that_is_no_number_is_not_hidden_by_an_answer() -> None:
    held = Memorization(0.0, False, False, 0.0, 0.0, 0.0, 0.0, 0.5, replied=0.0, answered=0.0)
    assert held.spoken == 0
    assert replace(held, answered=1.0).spoken == replace(held, replied=1.0, answered=math.nan).spoken == 1
    for broken in ({"first": math.nan}, {"replied": math.nan}):
        assert math.isnan(replace(held, **broken).spoken)
