"""A reader who learns from some facts how a reply names the object that is true, and reads it in the others."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from uds_bench.audits.lmlm.discrimination import Array, Pairs, over_facts
from uds_bench.audits.lmlm.luck import Beside
from uds_bench.statistics import Rate

ROUNDING = 1e-9
"""Sums of weights that are further apart differ."""
BOTH_WAYS = math.sqrt(1 + 2 / math.pi)
"""By how much an interval is wider since each half is read by what the other taught. Where nothing is told, the number
is of two halves' chances x and y, (x sign y + y sign x) / 2, and its variance so much more than that of their mean."""


@dataclass(frozen=True)
class Signs:
    """How a fact's replies name its object (`own`), and how those about other `facts` do, beside each of them."""

    facts: Sequence[str]
    own: Sequence[Hashable]
    heard: Sequence[Hashable]


def where(beside: Sequence[Beside]) -> list[Signs]:
    """At each prompt by itself: where it is named, and how often; see `told.How`."""
    return [Signs(one.facts, [one.own_how] * len(one.facts), one.heard_how) for one in beside]


def how_often(beside: Sequence[Beside]) -> list[Signs]:
    """At how many of the prompts that two facts share.

    Example:
        >>> two = [Beside((), ["b", "c"], [], None, [(0, 0, 1), None]), Beside((), ["b"], [], (0, 0, 1), [None])]
        >>> [signs] = how_often(two)
        >>> signs.own, signs.heard
        ([(2, 1), (1, 0)], [(2, 1), (1, 0)])
    """
    shared, own, heard = Counter[str](), Counter[str](), Counter[str]()
    for one in beside:
        for fact, how in zip(one.facts, one.heard_how, strict=True):
            shared[fact] += 1
            own[fact] += one.own_how is not None
            heard[fact] += how is not None
    both = ([(shared[fact], of[fact]) for fact in shared] for of in (own, heard))
    return [Signs(list(shared), *both)] if shared else []


def which(beside: Sequence[Sequence[Beside]]) -> list[Signs]:
    """At each prompt, in which of its several replies; `beside` of each prompt in each of them."""
    found = []
    for replies in beside:
        heard = [dict(zip(one.facts, one.heard_how, strict=True)) for one in replies]
        if facts := [fact for fact in heard[0] if all(fact in one for one in heard)]:
            own = tuple(one.own_how is not None for one in replies)
            names = [tuple(one[fact] is not None for one in heard) for fact in facts]
            found.append(Signs(facts, [own] * len(facts), names))
    return found


def reading(facts: Mapping[str, Sequence[Signs]]) -> Rate:
    """How much more often the reader takes the object that is true for true than another fact's reply lets it.

    Of each half of the facts the reader learns which signs are likelier where an object is true than in replies about
    other facts, and looks for those in the other half. So any code that is the same for all facts is read, and who
    guesses has 0 in expectation, as it is learned of other replies.

    Args:
        facts: By fact its signs, of one place or of several, which count alike.

    Returns:
        -1 to 1, higher is more knowledge; NaN without two facts in a half that are held beside each other.

    Source: ours; cross-fitting after Chernozhukov and others, 2018.

    Example:
        The own object is the one that is named second:

        >>> others = {fact: [one for one in "abcd" if one != fact] for fact in "abcd"}
        >>> reading({fact: [Signs(rest, [2] * 3, [1, 3, 1])] for fact, rest in others.items()}).value
        1.0
    """
    half = {fact: at % 2 for at, fact in enumerate(facts)}
    inside = {
        fact: [one for place in places if (one := _of_half(place, fact, half)).facts] for fact, places in facts.items()
    }
    inside = {fact: places for fact, places in inside.items() if places}
    likelier = [_likelier([places for fact, places in inside.items() if half[fact] == one]) for one in (0, 1)]
    pairs: dict[str, list[Pairs]] = {}
    for fact, places in inside.items():
        taken = likelier[1 - half[fact]]
        pairs[fact] = [Pairs(one.facts, _taken(one.own, taken), _taken(one.heard, taken)) for one in places]
    [found] = over_facts(pairs, 1, squared=False)
    low, high = (found.value + BOTH_WAYS * (end - found.value) for end in (found.interval.low, found.interval.high))
    return replace(found, interval=replace(found.interval, low=max(-1.0, low), high=min(1.0, high)))


def _of_half(signs: Signs, fact: str, half: Mapping[str, int]) -> Signs:
    """Beside the facts of the own half."""
    rows = zip(signs.facts, signs.own, signs.heard, strict=True)
    kept = [row for row in rows if half.get(row[0]) == half[fact]]
    return Signs([row[0] for row in kept], [row[1] for row in kept], [row[2] for row in kept])


def _likelier(facts: Sequence[Sequence[Signs]]) -> set[Hashable]:
    """The signs that are likelier of what is true; each fact counts alike."""
    more: dict[Hashable, float] = defaultdict(float)
    for places in facts:
        for one in places:
            weight = 1 / len(places) / len(one.facts)
            for own, heard in zip(one.own, one.heard, strict=True):
                more[own] += weight
                more[heard] -= weight
    return {sign for sign, apart in more.items() if apart > ROUNDING}


def _taken(signs: Sequence[Hashable], taken: set[Hashable]) -> Array:
    return np.array([[float(one in taken)] for one in signs])
