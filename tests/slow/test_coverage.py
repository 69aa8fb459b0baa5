"""How often each interval holds the truth, by simulation, at the sizes in use: nominal 95%."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from uds_bench.statistics import (
    Interval,
    auc_interval,
    between_percentiles,
    cluster_interval,
    difference_interval,
    paired_interval,
)

pytestmark = pytest.mark.slow
RUNS = 1000
FACTS = 8
"""Of a person, as of the embedded authors."""
Draw = np.random.Generator


Values = Callable[[Draw, int, float], np.ndarray]


def shares(rng: Draw, people: int, mean: float) -> np.ndarray:
    """A share of each fact, [people, facts]; a person's are alike, and its own mean is beta-distributed."""
    own = rng.beta(4 * mean, 4 * (1 - mean), people).repeat(FACTS)
    return rng.beta(8 * own + 1e-3, 8 * (1 - own) + 1e-3).reshape(people, FACTS)


def told(rng: Draw, people: int, mean: float) -> np.ndarray:
    """Each fact told or not, more of them of some people than of others."""
    own = rng.beta(2 * mean, 2 * (1 - mean), people)
    return (rng.random((people, FACTS)) < own[:, None]).astype(float)


def everything(rng: Draw, people: int, mean: float) -> np.ndarray:
    """All of a person's facts are told, or none."""
    return (rng.random((people, 1)) < mean).astype(float).repeat(FACTS, 1)


def of_a_mean(values: Values, mean: float) -> Callable[[Draw, int], tuple[Interval, float]]:
    def drawn(rng: Draw, people: int) -> tuple[Interval, float]:
        found = values(rng, people, mean).ravel()
        return cluster_interval(found, np.arange(people).repeat(FACTS).tolist(), limits=(0.0, 1.0)), truth(values, mean)

    return drawn


@cache
def truth(values: Values, mean: float) -> float:
    """The mean of what is drawn: rounding of its parameters moves it a little."""
    return float(values(np.random.default_rng(9), 400_000, mean).mean())


def of_pairs(rng: Draw, people: int) -> tuple[Interval, float]:
    """Differences of two models on the same facts."""
    shift = rng.normal(0.1, 0.1, people).repeat(FACTS)
    values = np.clip(shift + rng.normal(0, 0.1, people * FACTS), -1, 1)
    return paired_interval(values.tolist(), np.arange(people).repeat(FACTS).tolist()), 0.1


def of_few_that_differ(rng: Draw, people: int) -> tuple[Interval, float]:
    """Most facts are answered alike by two models, one person in thirty by the second alone."""
    values = (rng.random(people) < 1 / 30).astype(float) * rng.random(people)
    return paired_interval(values.tolist(), range(people)), 1 / 60


def of_changes(either: float, other: float) -> Callable[[Draw, int], tuple[Interval, float]]:
    """People of whom one model alone tells, or the other alone, by their shares; of most, both or neither."""

    def drawn(rng: Draw, people: int) -> tuple[Interval, float]:
        at = rng.random(people)
        values = (at < either).astype(float) - (at > 1 - other)
        return paired_interval(values.tolist(), range(people)), either - other

    return drawn


def of_two_rates(rng: Draw, people: int) -> tuple[Interval, float]:
    """Seldom told on either side, asked as the audits ask: rates have ends."""
    sides = [[(f"{side} {at}", float(rng.random() < 0.05)) for at in range(people)] for side in "ab"]
    return difference_interval(*sides, (0.0, 1.0)), 0.0


def of_two_sides(rng: Draw, people: int) -> tuple[Interval, float]:
    sides = [
        [(f"{side} {at}", value) for at in range(people) for value in rng.normal(rng.normal(mean, 0.1), 0.1, FACTS)]
        for side, mean in (("a", 0.4), ("b", 0.3))
    ]
    return difference_interval(*sides), 0.1


def of_an_auc(apart: float) -> Callable[[Draw, int], tuple[Interval, float]]:
    def drawn(rng: Draw, people: int) -> tuple[Interval, float]:
        clusters, kinds = np.arange(people).repeat(3).tolist(), ["x", "y", "z"] * people
        sides = [
            rng.normal(mean, 0.5, people).repeat(3) + rng.normal(0, math.sqrt(0.75), 3 * people) for mean in (apart, 0)
        ]
        found = auc_interval(*sides, clusters, clusters, kinds=(kinds, kinds))
        return found, 0.5 * (1 + math.erf(apart / 2))

    return drawn


def by_percentiles(rng: Draw, people: int) -> tuple[Interval, float]:
    """A share of .95 by the percentile bootstrap: the baseline."""
    means = shares(rng, people, 0.95).mean(1)
    drawn = means[rng.integers(0, people, (2000, people))].mean(1)
    return between_percentiles(drawn, "percentile bootstrap", people), truth(shares, 0.95)


@dataclass(frozen=True)
class Case:
    drawn: Callable[[Draw, int], tuple[Interval, float]]
    people: int


CASES = {
    f"{name} of {mean:g}, {people} people": Case(of_a_mean(values, mean), people)
    for name, values in (("a share", shares), ("facts told", told), ("all or nothing", everything))
    for mean, people in ((0.7, 15), (0.95, 15), (0.7, 40), (0.05, 40), (0.05, 120), (0.3, 400))
} | {
    "a paired difference, 15 people": Case(of_pairs, 15),
    "a paired difference, 60 people": Case(of_pairs, 60),
    "few that differ, 100 people": Case(of_few_that_differ, 100),
    "few that differ, 600 people": Case(of_few_that_differ, 600),
    "as many one way as the other, .05, 40 people": Case(of_changes(0.05, 0.05), 40),
    "as many one way as the other, .02, 100 people": Case(of_changes(0.02, 0.02), 100),
    "more one way, .1 and .02, 40 people": Case(of_changes(0.1, 0.02), 40),
    "more one way, .3 and .05, 15 people": Case(of_changes(0.3, 0.05), 15),
    "seldom told on either side, 40 people": Case(of_two_rates, 40),
    "seldom told on either side, 120 people": Case(of_two_rates, 120),
    "two sides, 20 people each": Case(of_two_sides, 20),
    "two sides, 80 people each": Case(of_two_sides, 80),
    "an AUC of .5, 20 people each": Case(of_an_auc(0.0), 20),
    "an AUC of .5, 80 people each": Case(of_an_auc(0.0), 80),
    "an AUC of .84, 20 people each": Case(of_an_auc(1.4), 20),
    "an AUC of .98, 20 people each": Case(of_an_auc(3.0), 20),
    "an AUC of .98, 60 people each": Case(of_an_auc(3.0), 60),
}


WIDE = {"facts told of 0.95, 15 people", "seldom told on either side, 40 people"}
"""Finding: of few people of whom nearly all, or next to nothing, is told the interval is too wide: it holds the truth
in .997 and .989 of draws."""
NOISE = 2 * math.sqrt(0.95 * 0.05 / RUNS)


@pytest.mark.parametrize("name", CASES)
def test_an_interval_holds_the_truth(name: str) -> None:
    rng, case = np.random.default_rng(0), CASES[name]
    found = [case.drawn(rng, case.people) for _ in range(RUNS)]
    above = np.mean([one.low > truth for one, truth in found])
    below = np.mean([one.high < truth for one, truth in found])
    exact = np.mean([one.method.startswith("exact") for one, _ in found])
    holds = 1 - above - below
    print(f"{name}: holds {holds:.3f}; too high {above:.3f}, too low {below:.3f}; {exact:.2f} of them exact")
    assert holds >= 0.93 - NOISE
    if name in WIDE:
        assert holds > 0.97 + NOISE, "no longer wide: strike it from the list"
    elif exact < 0.1:  # an exact one holds at least as often as is said, and of few people more often
        assert holds <= 0.97 + NOISE


def test_the_percentile_bootstrap_holds_it_too_seldom() -> None:
    """The baseline, which these intervals took the place of."""
    rng = np.random.default_rng(0)
    found = [by_percentiles(rng, 15) for _ in range(RUNS)]
    holds = np.mean([one.low <= value <= one.high for one, value in found])
    print(f"a share of 0.95, 15 people, by percentiles: holds {holds:.3f}")
    assert holds < 0.93 - NOISE
