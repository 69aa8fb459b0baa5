"""Which of several deletions, or of several topologies, leaves less: steps of an order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.rates import difference
from uds_bench.statistics import difference_interval, mean
from uds_bench.verdicts import Step


def order_steps(judged: Sequence[JudgedPrompt], order: Sequence[str]) -> list[Step]:
    """The residual of each topology minus that of the one before it, facts drawn apart.

    Args:
        judged: The prompts of all topologies, [prompts].
        order: Topologies, from the one that should leave least.

    Returns:
        One step of -1 to 1 for each two neighbours, above 0 as it is to be.

    Source: LMLM audit, section 6.3.

    Example:
        >>> from types import SimpleNamespace
        >>> def prompt(topology, fact, exact):
        ...     marks = {"del_on": SimpleNamespace(exact=exact)}
        ...     return SimpleNamespace(topology=topology, unit=SimpleNamespace(cluster=fact), marks=marks)
        >>> rows = [prompt("base", "a", False), prompt("noise", "b", True), prompt("noise", "c", False)]
        >>> [(step.earlier, step.later, step.difference) for step in order_steps(rows, ["base", "noise"])]
        [('base', 'noise', 0.5)]
    """
    rows = {topology: [one for one in judged if one.topology == topology] for topology in order}
    steps = []
    for earlier, later in pairwise(order):
        low, high = (
            [(one.unit.cluster, float(one.marks["del_on"].exact)) for one in rows[name]] for name in (earlier, later)
        )
        rise = mean(value for _, value in high) - mean(value for _, value in low)
        steps.append(Step(earlier, later, rise, difference_interval(high, low, (0.0, 1.0))))
    return steps


def closer(left: Sequence[JudgedPrompt], right: Sequence[JudgedPrompt], lower: str, higher: str) -> Step:
    """How much more survives one deletion than another, prompt by prompt: `lower` as named is to leave less.

    Args:
        left: The prompts under the deletion that is to leave less, [prompts].
        right: The same prompts under the other, [prompts].
        lower: Name of the first.
        higher: Name of the second.

    Returns:
        A step of -1 to 1, above 0 as it is to be.
    """
    survives = {one.unit.id: float(one.marks["del_on"].exact) for one in left}
    drop = difference(right, lambda one: float(one.marks["del_on"].exact) - survives[one.unit.id])
    return Step(lower, higher, drop.value, drop.interval)
