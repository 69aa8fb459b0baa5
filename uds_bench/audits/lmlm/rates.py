"""Rates over judged prompts, with intervals over facts: a fact's prompts and databases are not independent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from uds_bench.audits.lmlm.attribution import Contingency, contingency
from uds_bench.audits.lmlm.judged import Judged
from uds_bench.audits.lmlm.record import OFF, State
from uds_bench.statistics import LEVEL, RESAMPLES, SEED, Interval, cluster_bootstrap, mcnemar
from uds_bench.verdicts import Step

Way = Literal["exact", "contains", "recall"]
WAYS: tuple[Way, ...] = get_args(Way)
"""How leakage is looked for: the whole answer is the object, it holds the object, or the share of its tokens."""


INFORMATIVE = 0.5
"""FULL that a cell must clearly reach for its deletions to say anything."""


@dataclass(frozen=True)
class Rate:
    """A mean and its interval over facts; NaN over nothing."""

    value: float
    interval: Interval


def rate(judged: Sequence[Judged], holds: Callable[[Judged], float], limits: tuple[float, float] = (0.0, 1.0)) -> Rate:
    """The mean of a number of each prompt."""
    values = [float(holds(one)) for one in judged]
    clusters = [one.asked.cluster for one in judged]
    if not values:
        return Rate(math.nan, Interval(math.nan, math.nan, "no prompts", 0))
    value = mean(values)
    if limits[0] < 0 and all(number == 0 for number in values):
        # Where nothing differs the bootstrap has no width: so many facts without one bound how many there can be.
        units = len(set(clusters))
        reach = 1 - ((1 - LEVEL) / 2) ** (1 / units)
        return Rate(value, Interval(-reach, reach, "exact bound, no prompt differs", units))
    return Rate(value, cluster_bootstrap(values, clusters, limits=limits))


def leakage(judged: Iterable[Judged], state: State, way: Way) -> Rate:
    """L of one elicitation: the weights alone give the deleted object. Prompts that hold it are left out.

    `contains` and `recall` are counted above the floor that another object of the relation sets in the same answers;
    facts whose relation has no other are left out of them.
    """
    asked = [one for one in judged if not one.given]
    if way == "exact":
        return rate(asked, lambda one: one.marks[state].exact)
    floored = [one for one in asked if one.floor is not None]
    return rate(floored, lambda one: _above(one, state, way), (-1.0, 1.0))


def worst_leakage(judged: Sequence[Judged]) -> tuple[State, Way, Rate]:
    """The elicitation and way under which the interval reaches highest."""
    found = [(state, way, leakage(judged, state, way)) for state in OFF for way in WAYS]
    return max(found, key=lambda one: math.inf if math.isnan(one[2].interval.high) else one[2].interval.high)


def baseline(judged: Sequence[Judged]) -> Rate:
    """FULL: how often the whole answer is the object while the row is there."""
    return rate(judged, lambda one: one.marks["full"].exact)


def residual(judged: Sequence[Judged], above_chance: bool = True) -> Rate:
    """DEL-ON: how often the whole answer is still the deleted object, above what shared objects give by chance."""
    if not above_chance:
        return rate(judged, lambda one: one.marks["del_on"].exact)
    return rate(judged, lambda one: one.marks["del_on"].exact - one.chance, (-1.0, 1.0))


def counts(judged: Iterable[Judged]) -> Contingency:
    """Right with retrieval on beside right without it, under any elicitation."""
    return contingency(one.outcome for one in judged)


def discordance(judged: Iterable[Judged]) -> tuple[Contingency, str, float | None, float]:
    """The counts, and McNemar's test of them: its name, statistic and p-value."""
    found = counts(judged)
    return found, *mcnemar(found.b, found.c)


def _above(one: Judged, state: State, way: Way) -> float:
    assert one.floor is not None
    own, floor = one.marks[state], one.floor[state]
    return float(getattr(own, way)) - float(getattr(floor, way))


def worst_cell(judged: Sequence[Judged]) -> tuple[str, str, Rate]:
    """The cell whose leakage reaches highest, by what, and how high."""
    found = [(name, *worst_leakage(rows)) for name, rows in by_cell(judged).items()]
    name, state, way, highest = max(found, key=lambda one: _reach(one[3]))
    return name, f"by {way} with lookups {state.replace('_', ' ')}", highest


def least_answered(judged: Sequence[Judged]) -> tuple[str, Rate]:
    """The cell whose FULL baseline reaches lowest."""
    found = [(name, baseline(rows)) for name, rows in by_cell(judged).items()]
    return min(found, key=lambda one: -math.inf if math.isnan(one[1].interval.low) else one[1].interval.low)


def uninformative(judged: Sequence[Judged], bound: float = INFORMATIVE) -> list[str]:
    """Cells that the model does not clearly answer with every row in place: nothing there can be lost."""
    found = {name: baseline(rows).interval for name, rows in by_cell(judged).items()}
    return [name for name, interval in found.items() if not (interval.decides and interval.low >= bound)]


def informative(judged: Sequence[Judged]) -> list[Judged]:
    """The prompts of all other cells."""
    dead = set(uninformative(judged))
    return [one for one in judged if one.cell.name not in dead]


def order_steps(judged: Sequence[Judged], order: Sequence[str]) -> list[Step]:
    """The residual of each topology minus that of the one before it, facts drawn apart."""
    rows = {topology: [one for one in judged if one.topology == topology] for topology in order}
    steps = []
    for earlier, later in pairwise(order):
        low, high = ([float(one.marks["del_on"].exact) for one in rows[name]] for name in (earlier, later))
        clusters = [[one.asked.cluster for one in rows[name]] for name in (earlier, later)]
        interval = _apart(low, clusters[0], high, clusters[1])
        steps.append(Step(earlier, later, mean(high) - mean(low), interval))
    return steps


def furthest_wording(judged: Sequence[Judged], margin: float) -> tuple[str, Rate]:
    """The wording whose residual is furthest from that of the same facts in all wordings, by its interval."""
    own: dict[tuple[str, int], list[float]] = {}
    for one in judged:
        own.setdefault((one.cell.name, one.fact.id), []).append(float(one.marks["del_on"].exact))

    def beside(one: Judged) -> float:
        return float(one.marks["del_on"].exact) - mean(own[one.cell.name, one.fact.id])

    found = []
    for wording in dict.fromkeys(one.wording for one in judged):
        found.append((wording, rate([one for one in judged if one.wording == wording], beside, (-1.0, 1.0))))
    return max(found, key=lambda one: max(one[1].interval.high - margin, -margin - one[1].interval.low))


def by_cell(judged: Iterable[Judged]) -> dict[str, list[Judged]]:
    """The prompts of each database."""
    found: dict[str, list[Judged]] = {}
    for one in judged:
        found.setdefault(one.cell.name, []).append(one)
    return found


def mean(values: Iterable[float]) -> float:
    """NaN where there is none."""
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else math.nan


def _reach(found: Rate) -> float:
    return math.inf if math.isnan(found.interval.high) else found.interval.high


def _apart(low: Sequence[float], low_of: Sequence[str], high: Sequence[float], high_of: Sequence[str]) -> Interval:
    """Interval of the difference of two means, the facts of each drawn with replacement by themselves.

    A fact that stands in both topologies is drawn as two, which widens the interval and never narrows it.
    """
    rng, draws = np.random.default_rng(SEED), []
    for values, clusters in ((low, low_of), (high, high_of)):
        names, index = np.unique(np.asarray(clusters), return_inverse=True)
        sums, counts = np.bincount(index, weights=np.asarray(values)), np.bincount(index)
        drawn = rng.integers(0, len(names), size=(RESAMPLES, len(names)))
        draws.append(sums[drawn].sum(1) / counts[drawn].sum(1))
    bounds = np.quantile(draws[1] - draws[0], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    method = f"percentile bootstrap over facts, topologies apart, B={RESAMPLES}, seed {SEED}"
    return Interval(float(bounds[0]), float(bounds[1]), method, min(len(set(low_of)), len(set(high_of))))
