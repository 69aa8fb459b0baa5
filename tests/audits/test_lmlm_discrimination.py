"""How much more a fact's own replies tell it than those of others: beside loops over pairs, and over draws."""

from __future__ import annotations

import math
from itertools import permutations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from uds_bench.audits.lmlm import discrimination as discrimination_module
from uds_bench.audits.lmlm.discrimination import LACK, Pairs, discrimination, each, most, over_facts
from uds_bench.audits.lmlm.luck import Beside
from uds_bench.statistics import Rate, cluster_interval

SHARES = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def told(facts: dict[str, list[Pairs]]) -> tuple[Rate, Rate]:
    """More than by luck; told or lacking."""
    found = discrimination(facts, ["told"])
    return found["told"], found[f"told {LACK}"]


def column(values: np.ndarray) -> np.ndarray:
    return values[:, None] * 1.0


def of_replies(tells: np.ndarray) -> dict[str, list[Pairs]]:
    """Facts that all have other objects: `tells`, [replies, objects], how far the reply about one tells another's."""
    count, found = len(tells), {}
    for fact in range(count):
        rest = [other for other in range(count) if other != fact]
        own, heard = np.full(count - 1, tells[fact, fact]), tells[rest, fact]
        found[str(fact)] = [Pairs([str(other) for other in rest], column(own), column(heard))]
    return found


@given(st.integers(2, 6).flatmap(lambda n: st.lists(st.lists(SHARES, min_size=n, max_size=n), min_size=n, max_size=n)))
def test_both_numbers_are_those_of_loops_over_pairs_and_triples_of_facts(tells: list[list[float]]) -> None:
    facts, (more, either) = range(len(tells)), told(of_replies(np.array(tells)))
    expected = fmean(fmean(tells[one][one] - tells[j][one] for j in facts if j != one) for one in facts)
    assert more.value == pytest.approx(expected)
    if len(facts) < 3:
        assert either == more, "of one other fact luck has no square"
        return
    squares = []
    for one in facts:
        own = tells[one][one]
        pairs = permutations([other for other in facts if other != one], 2)
        squares.append(fmean(own - tells[j][one] - 2 * tells[k][one] * (own - tells[j][one]) for j, k in pairs))
    assert either.value == pytest.approx(fmean(squares))


@pytest.mark.parametrize("objects", [4, 6])
@pytest.mark.parametrize("named", [0.3, 0.5, 0.9])
def test_who_guesses_has_nothing_in_expectation_however_few_facts_there_are(objects: int, named: float) -> None:
    """Luck squared, of luck that is counted, would be .100 too high of six objects that half are named of."""
    draw = np.random.default_rng(0)
    tries = [told(of_replies(draw.random((objects, objects)) < named)) for _ in range(600)]
    for values in zip(*([one.value for one in both] for both in tries), strict=True):
        assert abs(fmean(values)) < 4 * np.std(values) / math.sqrt(len(values))


def two_sides(draw: np.random.Generator, facts: int) -> dict[str, list[Pairs]]:
    """Facts of one of two objects, and of each a coin says one of both."""
    side, said, found = np.arange(facts) % 2, draw.integers(0, 2, facts), {}
    for fact in range(facts):
        rest = np.flatnonzero(side != side[fact])
        own, heard = np.full(len(rest), said[fact] == side[fact]), said[rest] == side[fact]
        found[str(fact)] = [Pairs([str(other) for other in rest], column(own), column(heard))]
    return found


def test_an_interval_is_over_replies_as_one_reply_tells_and_lacks_many_objects() -> None:
    """Of two objects, told by a coin: counted over facts as if they were independent, 2 in 10 intervals miss."""
    draw, tries, kept, by_facts = np.random.default_rng(1), 200, 0, 0
    for _ in range(tries):
        facts = two_sides(draw, 60)
        interval = told(facts)[0].interval
        kept += interval.low <= 0 <= interval.high
        values = [float((pairs[0].told - pairs[0].heard).mean()) for pairs in facts.values()]
        naive = cluster_interval(values, list(facts), limits=(-1.0, 1.0))
        by_facts += naive.low <= 0 <= naive.high
    print(f"{kept / tries:.3f} of intervals hold 0 over replies, {by_facts / tries:.3f} over facts")
    assert binomtest(kept, tries, 0.95).pvalue > 0.001
    assert binomtest(by_facts, tries, 0.95).pvalue < 0.001


@pytest.mark.parametrize("named", [0.4, 0.8])
def test_the_mean_is_moved_by_each_reply_as_far_as_it_is_told(named: float) -> None:
    """Leaving a reply out in turn (the jackknife) gives the same width, of many facts."""
    draw = np.random.default_rng(2)
    tells = (draw.random((60, 60)) < named) * 1.0
    whole, left = told(of_replies(tells)), []
    for out in range(60):
        rest = [other for other in range(60) if other != out]
        left.append([one.value for one in told(of_replies(tells[np.ix_(rest, rest)]))])
    for rate, values in zip(whole, zip(*left, strict=True), strict=True):
        own = [60 * rate.value - 59 * value for value in values]  # pseudo-values, of which the rate is the mean
        assert fmean(own) == pytest.approx(rate.value)
        expected, width = cluster_interval(own, range(60)), rate.interval.high - rate.interval.low
        # The projection leaves out what is of second order: a share of 1 / 60.
        assert width == pytest.approx(expected.high - expected.low, rel=3 / 60)


def test_each_way_and_each_place_counts_by_itself() -> None:
    """Two ways at three places, of facts that are beside others here and there; some of these are beside none."""
    draw, facts = np.random.default_rng(6), {}
    for at in range(12):
        beside = [[str(other) for other in range(14) if other != at and draw.random() < 0.6] for _ in range(at % 3 + 1)]
        facts[str(at)] = [
            Pairs(rest, np.tile(draw.random(2), (len(rest), 1)), draw.random((len(rest), 2))) for rest in beside
        ]
    found = discrimination(facts, ["one", "other"])
    for way, name in enumerate(("one", "other")):
        more, either = [], []
        for places in facts.values():
            of = [([float(one) for one in p.told[:, way]], [float(one) for one in p.heard[:, way]]) for p in places]
            more.append(fmean(fmean(own) - fmean(heard) for own, heard in of))
            either.append(
                fmean(
                    fmean(
                        own[j] - heard[j] - 2 * heard[k] * (own[j] - heard[j])
                        for j, k in permutations(range(len(own)), 2)
                    )
                    for own, heard in of
                )
            )
        for rate, expected in ((found[name], more), (found[f"{name} {LACK}"], either)):
            assert rate.value == pytest.approx(fmean(expected))
            assert rate.interval.low < rate.value < rate.interval.high
            assert rate.interval.units == len(facts)


@pytest.mark.parametrize("squared", [False, True])
def test_an_interval_is_over_how_far_each_reply_moves_its_way(squared: bool) -> None:
    """By loops, of two ways at one place or two; replies about facts that are held beside none move others alone."""
    draw, facts = np.random.default_rng(8), {}
    for at in range(15):
        rest = [str(other) for other in range(18) if other != at]
        told = np.tile(draw.random(2), (len(rest), 1))
        facts[str(at)] = [Pairs(rest, told, draw.random((len(rest), 2))) for _ in range(at % 2 + 1)]
    for way, rate in enumerate(over_facts(facts, 2, squared)):
        replies = dict.fromkeys(facts, 0.0)
        for fact, places in facts.items():
            for one in places:
                own, heard = float(one.told[0, way]), [float(each) for each in one.heard[:, way]]
                luck, count = fmean(heard), len(heard)
                crossed = fmean(heard[j] * heard[k] for j, k in permutations(range(count), 2))
                value = own - luck - 2 * (own * luck - crossed) if squared else own - luck
                slope = 4 * luck - 2 * own - 1 if squared else -1
                replies[fact] += value / len(places)
                for other, each_heard in zip(one.facts, heard, strict=True):
                    if other in replies:
                        replies[other] += slope * (each_heard - luck) / count / len(places)
        moved = [one + rate.value - fmean(replies.values()) for one in replies.values()]
        furthest = max(1.0, max(map(abs, moved)))
        expected = cluster_interval(moved, list(replies), limits=(-furthest, furthest))
        assert (rate.interval.low, rate.interval.high) == pytest.approx((expected.low, expected.high))


def test_an_interval_stays_in_the_range_of_what_is_told() -> None:
    """Replies that tell many objects move the mean further than 1."""
    few = np.zeros((6, 6))
    few[0] = 1
    for rate in told(of_replies(few)) + told(of_replies(1 - few)):
        assert -1 <= rate.interval.low <= rate.value <= rate.interval.high <= 1
    replies = np.array([2.0, 1.5, 0.0, 2.5, 0.5, 1.0])
    above, below = (
        discrimination_module._interval(replies, "abcdef"),
        discrimination_module._interval(-replies, "abcdef"),
    )
    assert (above.high, below.low) == (1, -1)


def test_places_of_a_fact_count_alike_and_one_reply_tells_most() -> None:
    asked = [Beside((1.0,), ["b", "c"], [(0.0,), (0.0,)]), Beside((0.0,), ["b"], [(1.0,)])]
    assert told({"a": each(asked)})[0].value == (1 - 1) / 2
    [pairs] = most(asked)
    assert dict(zip(pairs.facts, zip(pairs.told[:, 0], pairs.heard[:, 0], strict=True), strict=True)) == {
        "b": (1, 1),
        "c": (1, 0),
    }
    assert most([]) == []
    assert all(math.isnan(one.value) for one in told({}))


def test_an_interval_ends_where_the_number_does() -> None:
    found, _ = told(of_replies(np.eye(30)))
    assert (found.value, found.interval.high) == (1, 1)
    assert found.interval.low < 1
