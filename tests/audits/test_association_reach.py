"""How far a person reaches above strangers: places counted in a loop, luck by all outcomes."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from itertools import product

import numpy as np
import pytest

from uds_bench.audits.association.reach import SAID, Shown, by_luck, rank_test

NAMES, FACTS = 5, 2


def shown(seed: int, coarse: bool = False) -> Shown:
    """Standings of few places, so that ties come up; leads of few nats."""
    rng = np.random.default_rng(seed)
    standing = rng.integers(1, 4, (NAMES, FACTS)) / 4
    first = rng.integers(0, 3, (NAMES, FACTS)) / 2
    lead = rng.integers(-1, 2, (NAMES, FACTS)).astype(float)
    return Shown(standing, lead, first * 0, first * (0 if coarse else 1), np.array([0.1, 0.3]))


def slowly(of: Shown, above: bool) -> list[float]:
    """Minus the sum of log shares of each name, one fact at a time."""
    reach = []
    for name in range(NAMES):
        total = 0.0
        for fact in range(FACTS):
            said = [of.first[other, fact] >= SAID for other in range(NAMES)]
            luck = max(of.chance[fact], sum(said) / NAMES)
            share = of.standing[name, fact]
            if above:
                share = min(1 - share, luck / 2 if said[name] else 1.0)
            total -= math.log(share)
        reach.append(round(total, 9))
    return reach


@pytest.mark.parametrize("seed", range(12))
def test_a_place_is_counted_on_either_side_and_leads_part_ties(seed: int) -> None:
    own, other = shown(seed), shown(seed + 100, coarse=True)
    for beside in (own, other):
        places = []
        for above in (True, False):
            mine, theirs = slowly(own, above)[0], slowly(beside, above)[1:]
            way = 1 if above else -1
            lead, leads = way * sum(own.lead[0]), [way * sum(beside.lead[at]) for at in range(1, NAMES)]
            places.append(sum((r, at) >= (mine, lead) for r, at in zip(theirs, leads, strict=True)))
        p, side, rank = rank_test(own, None if beside is own else beside)
        assert p == pytest.approx(min(1, 2 * (1 + min(places)) / NAMES))
        assert rank == 1 + places[0]
        assert side == ("" if p == 1 else "above" if places[0] < places[1] else "below")


@pytest.mark.parametrize(("own", "side"), [(-5.0, "below"), (5.0, "above")])
def test_of_those_who_stand_as_high_the_lead_decides(own: float, side: str) -> None:
    lead = np.array([[own, 0.0], [-1.0, 0.0], [0.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    of = Shown(np.full((5, 2), 0.25), lead, np.zeros((5, 2)), np.zeros((5, 2)), np.array([0.1, 0.1]))
    assert rank_test(of) == (0.4, side, 5 if side == "below" else 1)


def test_the_luck_of_a_fact_is_the_oftener_of_its_values_and_its_names() -> None:
    of = Shown(
        *[np.full((4, 2), 0.5)] * 3, np.array([[SAID, 0.0], [1.0, 0.4], [0.0, 0.0], [0.0, 0.0]]), np.array([0.1, 0.1])
    )
    assert of.luck.tolist() == [0.5, 0.1]
    with np.errstate(all="raise"):
        assert replace(of, standing=np.zeros((4, 2))).below.tolist() == [math.inf] * 4


@pytest.mark.parametrize("field", [field.name for field in fields(Shown)])
@pytest.mark.parametrize("odd", [math.nan, math.inf])
def test_a_number_that_is_none_decides_nothing(field: str, odd: float) -> None:
    whole = shown(0)
    table = np.array(getattr(whole, field))
    table[-1] = odd
    broken = replace(whole, **{field: table})
    assert whole.is_known
    assert not broken.is_known
    for pair in ((broken, None), (broken, whole), (whole, broken)):
        p, side, rank = rank_test(*pair)
        assert (math.isnan(p), side, rank) == (True, "", 0)


def test_of_no_strangers_nothing_is_unlikely() -> None:
    alone = Shown(*[np.full((1, 2), 0.9)] * 4, np.array([0.1, 0.1]))
    assert rank_test(alone) == (1.0, "", 1)


def test_luck_says_so_many_facts_as_often_as_all_outcomes_tell() -> None:
    shares = [0.1, 0.5, 0.9, 0.3]
    for said in range(5):
        expected = sum(
            math.prod(p if hit else 1 - p for p, hit in zip(shares, hits, strict=True))
            for hits in product([0, 1], repeat=4)
            if sum(hits) >= said
        )
        assert by_luck(shares, said) == pytest.approx(expected)
    assert by_luck([0.1] * 40, 0) <= 1
    assert math.isnan(by_luck([0.5, math.nan], 1))
