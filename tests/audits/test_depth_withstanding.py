"""What is told again after an attack: against a loop over facts, and what is no number decides nothing."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from uds_bench.audits.depth.withstanding import as_share, told_more
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
    slow = [max(mine[id], mine_too[id]) - max(other[id], other_too[id]) for id in judged]  # type: ignore[type-var,operator]
    found = told_more([score(mine), score(mine_too)], [score(other), score(other_too)], judged)
    assert found.value == pytest.approx(sum(slow) / len(slow))
    assert found.interval.units == len({int(id) // 2 for id in judged})


@pytest.mark.parametrize("place", [0, 1])
def test_a_value_that_is_no_number_is_never_the_smaller_one(place: int) -> None:
    forms: list[dict[str, float | None]] = [{"0": 0.0, "1": 0.0}, {"0": 0.0, "1": 0.0}]
    forms[place]["0"] = math.nan
    assert math.isnan(told_more([*map(score, forms)], [score({"0": 0.0, "1": 0.0})] * 2, {"0", "1"}).value)


def test_too_few_scored_facts_decide_nothing() -> None:
    judged = {str(at) for at in range(10)}
    enough = math.ceil(LEAST_SCORED * len(judged))
    for count, decided in ((enough, True), (enough - 1, False), (0, False)):
        some = score({str(at): 1.0 for at in range(count)})
        assert math.isfinite(told_more([some], [some], judged).value) == decided
    assert math.isnan(told_more([score({})], [score({})], set()).value)


@pytest.mark.parametrize("low", [0.0, -0.1, math.nan])
def test_where_there_was_nothing_to_forget_there_is_no_share(low: float) -> None:
    found = as_share(Rate(0.0, Interval(0.0, 0.1, "by hand", 9)), Rate(0.5, Interval(low, 0.9, "by hand", 9)))
    assert math.isnan(found.value)
    assert math.isnan(found.interval.high)
