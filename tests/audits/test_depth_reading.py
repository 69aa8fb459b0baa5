"""What depth reads out of scores, beside sums by hand: identities, orders, copies, the cut between pools."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uds_bench.audits.depth import reading
from uds_bench.audits.depth.claims import COPY_BELOW, LEAST_POOL
from uds_bench.errors import ConfigurationError
from uds_bench.metrics.erasure import NO_LAYER
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import FEWEST, Interval
from uds_bench.verdicts import Cause, Decision, Verdict

Values = dict[str, float | None]


def score(name: str, values: Values | list[float], digest: str | None = None, **detail: list[Any]) -> Score:
    """By fact a value and what else is kept of it; a person's facts begin with the same letter."""
    of = values if isinstance(values, dict) else {f"f{at}": value for at, value in enumerate(values)}
    facts = tuple(
        FactScore(id, id[0], value, detail={key: kept[at] for key, kept in detail.items() if kept[at] is not None})
        for at, (id, value) in enumerate(of.items())
    )
    told = [value for value in of.values() if value is not None]
    mean = sum(told) / len(told) if told else None
    return Score(name, "none", "uds", "block", mean, None, facts, {}, {"checkpoint": digest or name})


@pytest.mark.parametrize("odd", [None, math.nan, -math.inf])
def test_the_largest_of_what_was_kept_is_no_number_where_one_is_none(odd: float | None) -> None:
    drops = [[0.0, -3.0], [2.0, 1.0], [0.5, 0.25]]
    assert reading.largest_drop(score("a", [0.0] * 3, drops=drops)) == 3.0
    assert reading.largest_lens_gap(score("a", [0.0] * 3, last_gap=[0.5, 2.0, 1.0])) == 2.0
    for at in range(3):
        torn = [*drops[:at], None if odd is None else [*drops[at], odd], *drops[at + 1 :]]
        gaps = [odd if at == one else 0.5 for one in range(3)]
        found = (
            reading.largest_drop(score("a", [0.0] * 3, drops=torn)),
            reading.largest_lens_gap(score("a", [0.0] * 3, last_gap=gaps)),
        )
        assert all(map(math.isnan, found)) if odd is None or math.isnan(odd) else found[0] == math.inf
    assert math.isnan(reading.largest_drop(score("a", [])))
    assert math.isnan(reading.largest_lens_gap(score("a", [])))


def test_the_distance_is_of_all_scored_facts_and_only_of_whole_readings() -> None:
    values: Values = {"a": 1.0, "b": 0.75, "c": 1.5, "d": None}
    assert math.isnan(reading.largest_distance(score("x", values), 1.0)), "a fact could not be computed"
    whole = score("x", values)
    whole = replace(whole, per_fact=(*whole.per_fact[:3], replace(whole.per_fact[3], reason=NO_LAYER)))
    assert reading.largest_distance(whole, 1.0) == 0.5
    assert reading.largest_distance(whole, 1.25) == 0.5
    assert math.isnan(reading.largest_distance(replace(whole, per_fact=whole.per_fact[3:]), 1.0))


@pytest.mark.parametrize("wrong", ["uds", "unclipped", "none"])
@pytest.mark.parametrize("fact", [0, 1])
@pytest.mark.parametrize("candidate", ["a", "b"])
def test_any_recorded_score_that_strays_is_seen(wrong: str, fact: int, candidate: str) -> None:
    """Drops of the retain model 1, 3 and one below tau = 0.5: (min(2, 1) + 1.5) / 4, and unclipped (2 + 1.5) / 4."""

    def recorded() -> dict[str, Any]:
        return {"drops": [2.0, 1.5, 7.0], "uds": 0.625, "unclipped": 0.875}

    frozen: dict[str, Any] = {
        "tau": 0.5,
        "facts": [{"retain_drops": [1.0, 3.0, 0.25], "candidates": {"a": recorded(), "b": recorded()}} for _ in "12"],
    }
    assert reading.frozen_gap(frozen) == 0
    assert reading.frozen_gap(frozen, change=0.25) == pytest.approx(1.5 / 4), "of the first layer alone, and unclipped"
    if wrong != "none":
        frozen["facts"][fact]["candidates"][candidate][wrong] += 0.25
        assert reading.frozen_gap(frozen) == 0.25
    frozen["facts"][fact]["candidates"][candidate]["drops"][1] = math.nan
    assert math.isnan(reading.frozen_gap(frozen))
    assert math.isnan(reading.frozen_gap({"tau": 0.5, "facts": []}))


FACTS = st.sampled_from([f"{who}{at}" for who in "abcd" for at in range(2)])
VALUES = st.dictionaries(FACTS, st.floats(0, 1), min_size=4)


@given(VALUES, VALUES)
@settings(max_examples=20)
def test_a_step_is_the_mean_over_the_facts_of_both_neighbours(before: Values, after: Values) -> None:
    there = [score("x", before), score("y", after)]
    (step, again), (back, _) = reading.order_steps([*there, there[1]]), reading.order_steps([*there[::-1], there[0]])
    assert [(one.earlier, one.later) for one in (step, again, back)] == [("x", "y"), ("y", "y"), ("y", "x")]
    assert again.difference == 0
    both = [(after[id] or 0) - (before[id] or 0) for id in after if id in before]
    for one, facts, sign in ((step, after, 1), (back, before, -1)):
        if 2 * len(both) < len(facts):
            assert math.isnan(one.difference)
            assert one.interval.units == 0
        else:
            assert one.difference == pytest.approx(sign * sum(both) / len(both), abs=1e-12)
            assert one.interval.units == len({id[0] for id in after if id in before})
            assert one.interval.low <= one.difference + 1e-12
            assert one.interval.high >= one.difference - 1e-12


def test_half_of_the_facts_stand_for_all_and_fewer_for_none() -> None:
    later = score("later", dict.fromkeys("abcdef", 1.0))
    for shared, units in (("abc", 3), ("ab", 0)):
        (step,) = reading.order_steps([score("earlier", dict.fromkeys(shared, 0.5)), later])
        assert (step.interval.units, math.isnan(step.difference)) == (units, units == 0)
    (far,) = reading.order_steps([score("earlier", dict.fromkeys("abcdef", 0.0)), later])
    assert (far.difference, far.interval.high) == (1, 1), "no difference is more than 1"


def test_the_full_model_is_the_later_one() -> None:
    full = score("full", dict.fromkeys("abcdefgh", 1.0))
    for low, passes in ((0.0, True), (1.0, False)):
        verdict, step = reading.full_knows(full, score("retain", dict.fromkeys("abcdefgh", low)))
        assert (step.earlier, step.later, step.difference) == ("retain", "full", 1 - low)
        assert (verdict is Verdict.PASS) is passes


@pytest.mark.parametrize("own", [2.0, 1e-3, 0.0])
@pytest.mark.parametrize(("share", "copy"), [(0.0, True), (0.99, True), (1.01, False), (100.0, False)])
def test_a_copy_differs_by_less_than_a_hundredth_of_the_retain_model(own: float, share: float, copy: bool) -> None:
    """However much of itself that is: of a copy of the full model next to nothing drops."""
    retain, apart = [[-1.0, 0.0], [3.0, 4.0]], share * COPY_BELOW * 8 / 2
    told, more = [[own, 0.0], [0.0, own]], [[own + apart, 0.0], [0.0, own - apart]]
    one, two = (score(name, [0.0, 0.0], drops=drops, retain_drops=retain) for name, drops in (("1", told), ("2", more)))
    assert reading.act_alike(one, two) is copy
    assert reading.act_alike(two, one) is copy


def test_only_drops_of_the_same_facts_and_layers_are_held_against_each_other() -> None:
    own = [[1.0, 2.0], [3.0, 4.0]]
    one = score("one", [0.0, 0.0], drops=own, retain_drops=own)
    unlike = [score("bare", [0.0, 0.0], retain_drops=own), score("no yardstick", [0.0, 0.0], drops=own)]
    unlike.append(score("longer", [0.0, 0.0], drops=[[*row, 0.0] for row in own], retain_drops=own))
    unlike.append(score("others", {"g0": 0.0, "g1": 0.0}, drops=own, retain_drops=own))
    for drops, retain in ((math.nan, 1.0), (1.0, math.nan)):
        unlike.append(score("nan", [0.0] * 2, drops=[[drops, drops]] * 2, retain_drops=[[retain, retain]] * 2))
    assert not any(reading.act_alike(one, other) for other in unlike)
    for broken in ({"drops": [[1.0, math.nan], [3.0, 4.0]]}, {"retain_drops": [[1.0, math.nan], [3.0, 4.0]]}):
        part = score("part", [0.0, 0.0], **{"drops": own, "retain_drops": own, **broken})
        assert reading.act_alike(one, part), "by the layers that both have"
        far = score("far", [0.0, 0.0], **{"retain_drops": own, **broken, "drops": [[1.0, 9.0], [3.0, 5.0]]})
        assert not reading.act_alike(one, far)


def test_pool_models_are_of_their_own() -> None:
    """The same model under its own name is no other one."""
    pool, full = score("p", [0.5], "weights"), score("full", [0.5], "others")
    reading.require_independent([pool, pool], [full, full])
    reading.require_independent([pool], [pool])
    copy = score("q", [0.5], "weights")
    for pools, others, same in (([copy], [full, replace(pool, checkpoint="x")], "x"), ([pool, copy], [full], "p")):
        with pytest.raises(ConfigurationError, match=rf"\[pools\] q holds the same weights as {same}:"):
            reading.require_independent(pools, others)


@pytest.mark.parametrize("twins", [(0, 1), (0, 2), (1, 2)])
def test_any_two_of_a_pool_that_act_alike_are_told(twins: tuple[int, int]) -> None:
    drops = [[[1.0]], [[2.0]], [[3.0]]]
    drops[twins[1]] = drops[twins[0]]
    pool = [score(name, [0.5], drops=own, retain_drops=[[4.0]]) for name, own in zip("abc", drops, strict=True)]
    one, other = ("abc"[at] for at in twins)
    with pytest.raises(ConfigurationError, match=f"{other} acts as {one} does on every fact, to 1%"):
        reading.require_independent(pool, [])
    reading.require_independent([pool[twins[0]]] * 2, [pool[twins[0]]])


def test_a_pool_model_that_acts_as_a_reference_or_candidate_is_told() -> None:
    """The full model nudged: its own states change nothing, and a copy's next to nothing."""
    full, near, far = (
        score(name, [0.0], drops=[[at]], retain_drops=[[4.0]])
        for name, at in (("full", 0.0), ("near", 0.03), ("far", 0.08))
    )
    reading.require_independent([far], [full])
    for pools in ([near], [far, near]):
        with pytest.raises(ConfigurationError, match=r"\[pools\] near acts as full does on every fact, to 1%"):
            reading.require_independent(pools, [full])
    reading.require_independent([far], [near, full])


def test_a_candidate_may_be_both_references() -> None:
    candidate, full, retain = (score(name, [0.5], "one") for name in ("npo", "full", "retain"))
    assert reading.by_construction(candidate, [full, retain]) == "same weights as full and retain: true by construction"
    other = replace(retain, provenance={"checkpoint": "other"})
    assert reading.by_construction(candidate, [full, other]) == "same weights as full: true by construction"
    assert reading.by_construction(candidate, [other]) == ""


def test_pools_set_a_cut_where_both_are_large_enough_and_whole() -> None:
    knows, never = ([score(str(at), [first + at / 100]) for at in range(LEAST_POOL)] for first in (0.1, 0.5))
    assert reading.pool_cut(knows, never) == pytest.approx((0.1 + (LEAST_POOL - 1) / 100 + 0.5) / 2)
    assert reading.pool_cut(knows[1:], never) is reading.pool_cut(knows, never[1:]) is None
    assert reading.pool_cut([*knows, score("x", {"a": None})], never) is None
    assert reading.pool_cut(knows, [*never, score("x", {"a": None})]) is None


def around(value: float, reach: float, units: int = 2 * FEWEST) -> Interval:
    return Interval(value - reach, value + reach, "by hand", units)


def spoken(name: str, value: float, reach: float = 0.05, units: int = 2 * FEWEST) -> Score:
    return Score("npo", "none", name, "free", value, around(value, reach, units))


SAYS_NOTHING, SAYS_ALL, FULL = spoken("em", 0.1), spoken("es", 0.9), spoken("any", 0.8)


QUIET, LOUD = (
    f"{said}, full model 0.800)" for said in ("em[free] 0.100 (0.050..0.150", "es[free] 0.900 (0.850..0.950")
)


@pytest.mark.parametrize(
    ("depth", "words", "told"),
    [
        ("pass", [SAYS_NOTHING], f"generation says forgotten and depth agrees: {QUIET}"),
        ("pass", [SAYS_ALL, spoken("rouge", 0.8)], f"{LOUD}; rouge[free] 0.800"),
        ("pass", [spoken("em", 0.44)], "does not say forgotten: em[free] 0.440"),
        ("pass", [spoken("em", 0.5, 0.1)], "does not say forgotten: em[free] 0.500 (0.400"),
        ("fail", [SAYS_NOTHING, SAYS_ALL], f"HIDDEN: {QUIET} says forgotten"),
        ("fail", [SAYS_NOTHING, spoken("rouge", 0.2)], f"{QUIET}; rouge[free] 0.200"),
        ("fail", [SAYS_ALL, spoken("em", 0.8)], f"{LOUD}; em[free] 0.800"),
        ("undecided", [SAYS_NOTHING], f"{QUIET} says forgotten, but depth.score came out"),
        ("pass", [spoken("em", 0.1, units=FEWEST - 1)], f"{QUIET} decides nothing"),
        ("pass", [SAYS_NOTHING, replace(SAYS_ALL, value=None, interval=None)], "not measured: es[free]"),
        ("pass", [SAYS_NOTHING, replace(SAYS_ALL, interval=None)], "not measured: es[free]"),
    ],
)
def test_what_words_and_activations_say_is_told_with_its_numbers(depth: str, words: list[Score], told: str) -> None:
    own = Decision(Verdict(depth), 0.5, around(0.5, 0.1), "0.500", cause=Cause.CONTROL)
    found = reading.hidden(own, words, [FULL] * len(words), 0.5, 0.5)
    assert told in found.text
    assert (found.cause is Cause.CONTROL) is (depth == "undecided")
    assert found.interval == (words[0].interval if told.endswith("decides nothing") else None)


def test_each_of_its_words_stands_beside_the_full_models() -> None:
    with pytest.raises(ValueError, match="longer"):
        reading.hidden(Decision(Verdict.PASS, 0.8, around(0.8, 0.1), ""), [SAYS_NOTHING], [FULL, FULL], 0.5, 0.5)


@pytest.mark.parametrize("verdict", ["pass", "fail", "undecided"])
@pytest.mark.parametrize("interval", [None, around(0.5, 0.1, 2)])
def test_depth_without_an_interval_decides_by_definition_alone(verdict: str, interval: Interval | None) -> None:
    own = Decision(Verdict(verdict), 1.0, interval, "1.000")
    found = reading.hidden(own, [SAYS_NOTHING], [FULL], 0.5, 0.5)
    decided = interval is None and verdict != "undecided"
    assert found.verdict == (verdict if decided else "undecided")
    if not decided:
        assert (found.text, found.interval) == ("depth.score: 1.000", interval)


@pytest.mark.parametrize(
    ("share", "largest", "passes"), [(0.5, 0.5, True), (0.9, 0.5, True), (0.1, 0.5, False), (0.5, 0.1, False)]
)
def test_where_depth_passes_no_share_lets_more_be_said(share: float, largest: float, passes: bool) -> None:
    """The full model says 0.8, the candidate between 0.3 and 0.4: half of that at most."""
    said = Score("npo", "none", "em", "free", 0.35, Interval(0.3, 0.4, "by hand", 9))
    found = reading.hidden(Decision(Verdict.PASS, 0.8, around(0.8, 0.1), ""), [said], [FULL], share, largest)
    assert (found.verdict is Verdict.PASS) is passes
    failed = reading.hidden(Decision(Verdict.FAIL, 0.2, around(0.2, 0.1), ""), [said], [FULL], share, largest)
    assert (failed.verdict is Verdict.FAIL) is (share >= 0.5), "where it fails the manifest's own share decides"
