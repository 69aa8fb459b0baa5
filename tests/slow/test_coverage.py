"""How often each interval holds the truth, by simulation, at the sizes in use: nominal 95%."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from uds_bench.statistics import Interval, apart_bootstrap, auc_interval, cluster_bootstrap, paired_bootstrap

pytestmark = pytest.mark.slow
RUNS = 1000
FACTS = 8
"""Of a person, as of the embedded authors."""
Draw = np.random.Generator


def shares(rng: Draw, people: int, mean: float) -> tuple[np.ndarray, list[int]]:
    """Values of 0 to 1 of every person's facts, which are alike: a person's own mean is beta-distributed."""
    own = rng.beta(4 * mean, 4 * (1 - mean), people).repeat(FACTS)
    return rng.beta(8 * own + 1e-3, 8 * (1 - own) + 1e-3), np.arange(people).repeat(FACTS).tolist()


def of_a_mean(mean: float) -> Callable[[Draw, int], tuple[Interval, float]]:
    def drawn(rng: Draw, people: int) -> tuple[Interval, float]:
        values, clusters = shares(rng, people, mean)
        return cluster_bootstrap(values, clusters, limits=(0.0, 1.0)), expected(mean)

    return drawn


@cache
def expected(mean: float) -> float:
    """The mean of `shares`, but for what keeps its parameters above 0."""
    own = np.random.default_rng(9).beta(4 * mean, 4 * (1 - mean), 2_000_000)
    return float(((8 * own + 1e-3) / (8 + 2e-3)).mean())


def of_pairs(rng: Draw, people: int) -> tuple[Interval, float]:
    """Differences of two models on the same facts."""
    shift = rng.normal(0.1, 0.1, people).repeat(FACTS)
    values = np.clip(shift + rng.normal(0, 0.1, people * FACTS), -1, 1)
    return paired_bootstrap(values.tolist(), np.arange(people).repeat(FACTS).tolist()), 0.1


def of_two_sides(rng: Draw, people: int) -> tuple[Interval, float]:
    sides = [
        [(f"{side} {at}", value) for at in range(people) for value in rng.normal(rng.normal(mean, 0.1), 0.1, FACTS)]
        for side, mean in (("a", 0.4), ("b", 0.3))
    ]
    return apart_bootstrap(*sides), 0.1


def of_an_auc(apart: float) -> Callable[[Draw, int], tuple[Interval, float]]:
    def drawn(rng: Draw, people: int) -> tuple[Interval, float]:
        clusters, kinds = np.arange(people).repeat(3).tolist(), ["x", "y", "z"] * people
        sides = [
            rng.normal(mean, 0.5, people).repeat(3) + rng.normal(0, math.sqrt(0.75), 3 * people) for mean in (apart, 0)
        ]
        found = auc_interval(*sides, clusters, clusters, kinds=(kinds, kinds), resamples=1000)
        return found, 0.5 * (1 + math.erf(apart / 2))

    return drawn


@dataclass(frozen=True)
class Case:
    drawn: Callable[[Draw, int], tuple[Interval, float]]
    people: int


CASES = {
    "a mean of .7, 15 people": Case(of_a_mean(0.7), 15),
    "a mean of .95, 15 people": Case(of_a_mean(0.95), 15),
    "a mean of .7, 40 people": Case(of_a_mean(0.7), 40),
    "a mean of .05, 40 people": Case(of_a_mean(0.05), 40),
    "a mean of .05, 120 people": Case(of_a_mean(0.05), 120),
    "a paired difference, 15 people": Case(of_pairs, 15),
    "a paired difference, 60 people": Case(of_pairs, 60),
    "two sides, 20 people each": Case(of_two_sides, 20),
    "two sides, 80 people each": Case(of_two_sides, 80),
    "an AUC of .5, 20 people each": Case(of_an_auc(0.0), 20),
    "an AUC of .5, 80 people each": Case(of_an_auc(0.0), 80),
    "an AUC of .84, 20 people each": Case(of_an_auc(1.4), 20),
}


SHORT = {
    "a mean of .95, 15 people",
    "a mean of .05, 40 people",
    "a mean of .7, 15 people",
    "a paired difference, 15 people",
    "an AUC of .84, 20 people each",
}
"""Finding: here the percentile bootstrap holds the truth too rarely, .83 to .92. Near an end of the range it errs
towards that end. A studentized bootstrap holds it in .93 to .96 of such draws of means, and is wider."""
NOISE = 2 * math.sqrt(0.95 * 0.05 / RUNS)


@pytest.mark.parametrize("name", CASES)
def test_an_interval_holds_the_truth(name: str) -> None:
    rng, case = np.random.default_rng(0), CASES[name]
    found = [case.drawn(rng, case.people) for _ in range(RUNS)]
    above = np.mean([one.low > truth for one, truth in found])
    below = np.mean([one.high < truth for one, truth in found])
    holds = 1 - above - below
    print(f"{name}: holds {holds:.3f}; too high {above:.3f}, too low {below:.3f}")
    if name in SHORT:
        assert 0.8 < holds < 0.93, "no longer short: strike it from the list"
    else:
        assert 0.93 - NOISE <= holds <= 0.97 + NOISE
