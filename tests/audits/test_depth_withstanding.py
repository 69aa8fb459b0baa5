"""What is told again after an attack: against a loop over facts, and what is no number decides nothing."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from uds_bench.audits.depth.withstanding import as_share, lost, says_more, unanswered, unsaid
from uds_bench.scores import LEAST_SCORED
from uds_bench.statistics import Interval, Rate


def score(values: dict[str, float | None]) -> Any:
    """A score of facts of which two are of one person."""
    facts = [SimpleNamespace(id=id, value=value, cluster=f"p{int(id) // 2}") for id, value in values.items()]
    return SimpleNamespace(scored=[fact for fact in facts if fact.value is not None])


def drawn(seed: int) -> list[dict[str, float | None]]:
    draw = np.random.default_rng(seed)
    return [{str(at): float(draw.integers(2)) for at in range(12)} for _ in range(4)]


@pytest.mark.parametrize("seed", range(5))
def test_a_fact_is_told_where_one_form_tells_it_and_only_judged_ones_count(seed: int) -> None:
    mine, mine_too, other, other_too = drawn(seed)
    judged = {str(at) for at in range(0, 12, 3)}
    slow = [max(mine[id], mine_too[id]) - max(other[id], other_too[id]) for id in judged]
    found = says_more([score(mine), score(mine_too)], [score(other), score(other_too)], judged)
    assert found.value == pytest.approx(sum(slow) / len(slow))
    assert found.interval.units == len({int(id) // 2 for id in judged})


@pytest.mark.parametrize("place", [0, 1])
def test_a_value_that_is_no_number_is_never_the_smaller_one(place: int) -> None:
    forms: list[dict[str, float | None]] = [{"0": 0.0, "1": 0.0}, {"0": 0.0, "1": 0.0}]
    forms[place]["0"] = math.nan
    assert math.isnan(says_more([*map(score, forms)], [score({"0": 0.0, "1": 0.0})] * 2, {"0", "1"}).value)


def test_too_few_scored_facts_decide_nothing() -> None:
    judged = {str(at) for at in range(10)}
    enough = math.ceil(LEAST_SCORED * len(judged))
    for count, decided in ((enough, True), (enough - 1, False), (0, False)):
        some = score({str(at): 1.0 for at in range(count)})
        assert math.isfinite(says_more([some], [some], judged).value) == decided
    assert math.isnan(says_more([score({})], [score({})], set()).value)


@pytest.mark.parametrize("low", [0.0, -0.1, math.nan])
def test_where_there_was_nothing_to_forget_there_is_no_share(low: float) -> None:
    found = as_share(Rate(0.0, Interval(0.0, 0.1, "by hand", 9)), Rate(0.5, Interval(low, 0.9, "by hand", 9)))
    assert math.isnan(found.value)
    assert math.isnan(found.interval.high)


@pytest.mark.parametrize("whole", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_a_share_of_what_was_known_is_that_share_ends_and_all(whole: float, share: float) -> None:
    known = Rate(whole, Interval(0.9 * whole, 1.2 * whole, "by hand", 9))
    ends = Interval(share * known.interval.low, share * known.interval.high, "by hand", 9)
    found = as_share(Rate(share * whole, ends), known)
    assert found.value == pytest.approx(share)
    assert (found.interval.low, found.interval.high) == (pytest.approx(0.9 * share), pytest.approx(1.2 * share))


def test_a_fact_that_one_side_lacks_counts_on_neither() -> None:
    many: dict[str, float | None] = {str(at): 1.0 for at in range(20)}
    fewer = {id: 0.0 if at else None for at, id in enumerate(many)}
    for knows, never, told in ((many, fewer, 1.0), (fewer, many, -1.0)):
        assert says_more([score(knows)], [score(never)], set(many)).value == told


@pytest.mark.parametrize("seed", range(5))
def test_what_luck_tells_is_left_out(seed: int) -> None:
    one, other, *_ = drawn(seed)
    judged = {str(at) for at in range(0, 12, 2)}
    slow = {id for id in judged if one[id] == 0 and other[id] == 0}
    assert unsaid([score(one), score(other)], judged) == slow
    assert unsaid([score({})], judged) == judged, "what is not scored decides in says_more"


def kept(*values: float | None) -> Any:
    found = score({str(at): value for at, value in enumerate(values)})
    found.per_fact = [SimpleNamespace(id=str(at)) for at in range(len(values))]
    return found


def test_what_an_attack_took_is_a_share_of_what_was_answered() -> None:
    before = kept(*[0.8, 0.4] * 5)
    assert lost(before, kept(*[0.4, 0.2] * 5)).value == pytest.approx(0.5)
    assert lost(before, before).value == 0
    assert lost(before, kept(*[0.0] * 10)).value == pytest.approx(1)
    nothing = lost(kept(*[0.0] * 10), kept(*[0.0] * 10))
    assert math.isnan(nothing.value)
    assert not nothing.interval.decides
    assert not lost(before, kept(*[math.nan] * 10)).interval.decides
    assert not lost(kept(*[None] * 10), before).interval.decides
    assert not lost(kept(*[None] * 6, *[0.5] * 4), before).interval.decides, "too few to stand for the rest"


def test_what_an_attack_leaves_unscored_is_lost() -> None:
    before = kept(*[0.5] * 10)
    assert lost(before, kept(*[None] * 10)).value == pytest.approx(1)
    assert lost(before, kept(*[None, 0.5, 0.5, 0.5] * 2, None, 0.5)).value == pytest.approx(0.3)


def test_who_answers_nothing_that_is_asked_so_has_withstood_nothing() -> None:
    def asked(*values: float) -> Any:
        return SimpleNamespace(notes={"kept": [[str(at), f"p{at // 2}", value] for at, value in enumerate(values)]})

    full = asked(*[1.0] * 20)
    assert unanswered(full, full).value == 0
    assert unanswered(full, asked(*[0.0] * 20)).value == 1
    assert unanswered(full, asked(*[1.0, 0.0] * 10)).value == 0.5
    for silent in (SimpleNamespace(notes={}), asked(1.0)):
        assert unanswered(full, silent).value >= 0.95, "what is not asked any more is lost"
        assert not unanswered(silent, full).interval.decides
    assert not unanswered(asked(*[0.0] * 20), full).interval.decides, "nor does the full model"
