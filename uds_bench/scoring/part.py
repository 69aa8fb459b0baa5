"""A part of what is asked, on which the cost of all of it is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from uds_bench.facts import FactSet
from uds_bench.facts.fact import EVERY_SPLIT
from uds_bench.grouping import grouped

FEW = 2
"""Units in the first of two parts or more: a large model takes long for any."""
T = TypeVar("T")


def some(items: Sequence[T], share: float) -> list[T]:
    """A share of what is asked, spread evenly over it.

    Args:
        items: All of it, in order.
        share: Above 0 to 1.

    Returns:
        The share, rounded up, and `FEW` at the least where there are as many; in order.

    Example:
        >>> some(range(10), 0.3), some("ab", 0.01), some("", 0.5)
        ([0, 3, 6], ['a', 'b'], [])
    """
    count = min(len(items), max(FEW, math.ceil(share * len(items))))
    return [items[at * len(items) // count] for at in range(count)]


def least(facts: FactSet) -> float:
    """The smallest part of the facts that is worth measuring on.

    Args:
        facts: With some to be forgotten.

    Returns:
        The share that holds `FEW` of those to be forgotten, above 0 to 1.

    Example:
        >>> from uds_bench.facts.authors import embedded
        >>> least(embedded(forget=16, retain=8, holdout=0))
        0.015625
    """
    return min(1.0, FEW / len(facts.split("forget")))


def part(facts: FactSet, share: float) -> FactSet:
    """A share of each split's facts: at least two facts and two clusters, from as few clusters as that takes."""
    kept: set[str] = set()
    for split in EVERY_SPLIT:
        own, wanted = facts.split(split), max(2, math.ceil(share * len(facts.split(split))))
        each, groups = len(own) if share >= 1 else math.ceil(wanted / 2), grouped(own, lambda fact: fact.cluster)
        kept |= {*[fact.id for group in groups.values() for fact in group[:each]][:wanted]}
    return facts.where(lambda fact: fact.id in kept)
