"""How much more the replies about a fact tell its object than those about others do, and with what interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.lmlm.luck import Beside
from uds_bench.statistics import Interval, Rate, cluster_interval

Array = NDArray[np.float64]
LACK = "or its lack"


@dataclass(frozen=True)
class Pairs:
    """A fact beside other `facts`: how far its object is `told` in its own replies, and `heard` in theirs, each
    [facts, ways], 0 to 1."""

    facts: Sequence[str]
    told: Array
    heard: Array


def each(beside: Sequence[Beside]) -> list[Pairs]:
    """The pairs of each prompt of a fact, one by one."""
    return [Pairs(one.facts, np.tile(one.own, (len(one.facts), 1)), np.array(one.heard)) for one in beside]


def most(beside: Sequence[Beside]) -> list[Pairs]:
    """Of a fact and of each other fact, the reply that tells most in the places where both are asked.

    Example:
        >>> said = [Beside((told,), ["b"], [(heard,)]) for told, heard in ((1.0, 0.0), (0.0, 0.5))]
        >>> [pairs] = most(said)
        >>> pairs.told[0, 0].item(), pairs.heard[0, 0].item()
        (1.0, 0.5)
    """
    told: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    heard: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for one in beside:
        for fact, answered in zip(one.facts, one.heard, strict=True):
            told[fact].append(one.own)
            heard[fact].append(answered)
    if not told:
        return []
    return [Pairs(list(told), *(np.array([np.max(all_, axis=0) for all_ in of.values()]) for of in (told, heard)))]


def discrimination(facts: Mapping[str, Sequence[Pairs]], ways: Sequence[str]) -> dict[str, Rate]:
    """How much more than luck facts are told, and how much more they are told or lacking.

    A name that is said to all except those of whom it is true tells as well. So the second number is the square of what
    is told less luck, minus the square that luck has by itself. Luck is counted over other facts, as it is not known.
    Multiplied numbers come from two different facts, so that a model that guesses has 0 in expectation, however few
    facts there are.

    A reply tells or lacks the objects of many facts. So the units of the interval are replies: how far each moves the
    mean.

    Args:
        facts: By fact its pairs, of one place or of several, which count alike.
        ways: What the numbers of each pair are of, as many of them as are wanted.

    Returns:
        By way, and with `or its lack` behind it, the mean over facts, -1 to 1; higher is more knowledge. NaN without a
        fact. Beside a single other fact the second is the first.

    Source: U-statistics, Hoeffding 1948; their intervals by first-order projection.

    Example:
        All objects are named but the own:

        >>> others = {fact: [one for one in "abc" if one != fact] for fact in "abc"}
        >>> facts = {fact: [Pairs(two, np.zeros((2, 1)), np.ones((2, 1)))] for fact, two in others.items()}
        >>> found = discrimination(facts, ["contains"])
        >>> found["contains"].value, found["contains or its lack"].value
        (-1.0, 1.0)
    """
    more, either = (over_facts(facts, len(ways), squared) for squared in (False, True))
    return {
        name: rate
        for way, *both in zip(ways, more, either, strict=True)
        for name, rate in zip((way, f"{way} {LACK}"), both, strict=True)
    }


def over_facts(facts: Mapping[str, Sequence[Pairs]], ways: int, squared: bool) -> list[Rate]:
    """One of the two numbers of `discrimination`, in each way.

    Args:
        facts: By fact its pairs, each [facts, ways or more].
        ways: How many of the numbers of each pair are wanted, from the first.
        squared: Whether what lacks counts as well.

    Returns:
        By way the mean over facts, -1 to 1, with its interval over replies; higher is more knowledge.

    Example:
        >>> pairs = {"a": [Pairs(["b"], np.ones((1, 1)), np.zeros((1, 1)))]}
        >>> [over_facts(pairs, 1, squared)[0].value for squared in (False, True)]
        [1.0, 1.0]
    """
    number = {fact: at for at, fact in enumerate(fact for fact, places in facts.items() if places)}
    if not number:
        return [Rate(np.nan, cluster_interval([], []))] * ways
    # The last row is of replies about facts that are held beside none.
    found, moved = np.zeros((len(number), ways)), np.zeros((len(number) + 1, ways))
    for fact, at in number.items():
        for one in facts[fact]:
            told, heard = one.told[:, :ways], one.heard[:, :ways]
            if told.any() or heard.any():
                value, slope = (_beyond_luck if squared and len(heard) > 1 else _above_luck)(told, heard)
                found[at] += value / len(facts[fact])
                others = [number.get(other, -1) for other in one.facts]
                np.add.at(moved, others, slope * (heard - heard.mean(0)) / len(heard) / len(facts[fact]))
    replies = found + moved[:-1]
    replies += found.mean(0) - replies.mean(0)
    return [Rate(float(value.mean()), _interval(by, number)) for value, by in zip(found.T, replies.T, strict=True)]


def _interval(replies: Array, facts: Iterable[str]) -> Interval:
    """The interval over replies, cut to -1 to 1. A reply that tells many objects may move the mean further than one
    fact can."""
    furthest = max(1.0, float(np.abs(replies).max()))
    found = cluster_interval(replies, list(facts), limits=(-furthest, furthest))
    return replace(found, low=max(-1.0, float(found.low)), high=min(1.0, float(found.high)))


def _above_luck(told: Array, heard: Array) -> tuple[Array, Array]:
    """What is told above luck, and how it moves with luck."""
    return told.mean(0) - heard.mean(0), -np.ones(told.shape[1])


def _beyond_luck(told: Array, heard: Array) -> tuple[Array, Array]:
    """(told - luck)^2 - luck (1 - luck), where what is told is 0 or 1; in expectation 0 whatever is told by luck."""
    count, sums = len(told), heard.sum(0)
    of_two = count * (count - 1)
    luck, crossed = heard.mean(0), (told.sum(0) * sums - (told * heard).sum(0)) / of_two
    value = told.mean(0) - luck - 2 * (crossed - (sums**2 - (heard**2).sum(0)) / of_two)
    return value, 4 * luck - 2 * told.mean(0) - 1
