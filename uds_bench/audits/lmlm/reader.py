"""A reader who learns from half of the facts how a reply names the true object, and tests that on the other half."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from uds_bench.audits.lmlm.discrimination import Array, Pairs, over_facts
from uds_bench.audits.lmlm.luck import Beside, Place
from uds_bench.audits.lmlm.told import UNNAMED, Signs
from uds_bench.facts.letters import REMEMBERED
from uds_bench.statistics import Rate

DIGITS = 9
"""Sums of shares that agree to so many digits count as equal."""
BOTH_WAYS = math.sqrt(1 + 2 / math.pi)
"""Factor by which the interval is widened, since each half is read by the sign that the other half taught. If nothing
is told, the number is (x sign y + y sign x) / 2, where x and y are chance values of the halves. Its variance is the
square of this factor times the variance of the mean of x and y."""
Sign = tuple[Hashable, ...]
Asked = tuple[Place, Signs]
"""The place of a reply, and the signs that it shows."""


class Shown(NamedTuple):
    """The signs of a fact's object in replies about the fact (`own`) and about another fact (`heard`), over the places
    that both share. A sign has the share of places that show it, 0 to 1, or 1 if any place does."""

    own: Mapping[Sign, float]
    heard: Mapping[Sign, float]


def together(replies: Sequence[Beside]) -> Beside:
    """One place that stands for several replies to a prompt. Its signs are which replies name the object, and which
    name it at the same place.

    Example:
        >>> said = frozenset({("at", 0)})
        >>> two = [Beside((), ["b", "c"], [], said, [said, UNNAMED]), Beside((), ["b"], [], UNNAMED, [said])]
        >>> both = together(two)
        >>> both.facts, sorted(both.own_how), ("alike", 0, 1) in both.heard_how[0]
        (['b'], [('by', True, False), ('by so many', 1)], True)
    """
    heard = [dict(zip(one.facts, one.heard_how, strict=True)) for one in replies]
    facts = [fact for fact in heard[0] if all(fact in one for one in heard)]
    own, others = _joint([one.own_how for one in replies]), [_joint([one[fact] for one in heard]) for fact in facts]
    return Beside((), facts, (), own, others, place=replies[0].place)


def _joint(replies: Sequence[Signs]) -> Signs:
    named = [bool(one) for one in replies]
    if not any(named):
        return UNNAMED
    places = [next((sign for sign in one if sign[0] == "at"), None) for one in replies]
    alike = (
        ("alike", i, j)
        for (i, one), (j, other) in combinations(enumerate(places), 2)
        if one is not None and one == other
    )
    return frozenset([("by", *named), ("by so many", sum(named)), *alike])


def reading(facts: Mapping[str, Sequence[Beside]], salt: str = "") -> Rate:
    """How much more often the reader finds the sign of a fact's object in replies about that fact than in others.

    From one half of the facts the reader learns which single sign, shown or lacking, best tells own replies from
    replies about other facts. It looks for that sign in the other half. So it finds signs of `told.signs` that are the
    same for all facts, in each place or in any. A model that guesses has 0 in expectation, because the sign is learned
    from other replies.

    Args:
        facts: The places of each fact, compared with other facts.
        salt: The key by which halves are drawn: someone who foresees them could teach a code for each.

    Returns:
        -1 to 1, higher is more knowledge; NaN without two facts in a half that are held beside each other.

    Source: ours; cross-fitting after Chernozhukov and others, 2018.

    Example:
        The own object is the one that is named second:

        >>> second, first = frozenset({("at", 1)}), frozenset({("at", 0)})
        >>> others = {fact: [one for one in "abcdef" if one != fact] for fact in "abcdef"}
        >>> reading({fact: [Beside((), rest, (), second, [first] * 5)] for fact, rest in others.items()}).value
        1.0
    """
    half = {fact: hashlib.sha256(f"{salt} {fact}".encode()).digest()[0] % 2 for fact in facts}
    shown = {fact: found for fact, places in facts.items() if (found := _shown(places, fact, half))}
    best = [_best([found for fact, found in shown.items() if half[fact] == one]) for one in (0, 1)]
    pairs: dict[str, list[Pairs]] = {}
    for fact, found in shown.items():
        own, heard = (_taken(of, best[1 - half[fact]]) for of in zip(*found.values(), strict=True))
        pairs[fact] = [Pairs(list(found), own, heard)]
    [read] = over_facts(pairs, 1, squared=False)
    if math.isnan(read.value):
        return read
    low, high = (read.value + BOTH_WAYS * (end - read.value) for end in (read.interval.low, read.interval.high))
    return replace(read, interval=replace(read.interval, low=max(-1.0, low), high=min(1.0, high)))


def _shown(places: Sequence[Beside], fact: str, half: Mapping[str, int]) -> dict[str, Shown]:
    """What is shown beside each other fact of the same half."""
    own, heard = defaultdict[str, list[Asked]](list), defaultdict[str, list[Asked]](list)
    for one in places:
        for other, signs in zip(one.facts, one.heard_how, strict=True):
            if half.get(other) == half[fact]:
                own[other].append((one.place, one.own_how))
                heard[other].append((one.place, signs))
    return {other: Shown(_shares(tuple(own[other])), _shares(tuple(heard[other]))) for other in own}


@lru_cache(REMEMBERED)
def _shares(places: tuple[Asked, ...]) -> dict[Sign, float]:
    """By sign, the share of places that show it: of all places, of each wording, and of each database. Further signs
    tell whether any place shows it, at how many places the object is named, and whether just one of two wordings names
    it."""
    named = sum(bool(signs) for _, signs in places)
    if not named:
        return {}
    count = Counter(sign for _, signs in places for sign in signs)
    found: dict[Sign, float] = {sign: number / len(places) for sign, number in count.items()}
    found |= {("ever", *sign): 1.0 for sign in count}
    found |= {
        ("named",): named / len(places),
        ("ever",): 1.0,
        ("named at", named): 1.0,
        ("not at", len(places) - named): 1.0,
    }
    there: dict[str, bool] = {}
    for place, signs in places:
        there[place.wording] = there.get(place.wording, False) or bool(signs)
    for kind in (attrgetter("wording"), attrgetter("cell")):
        size = Counter(kind(place) for place, _ in places)
        if len(size) > 1:
            of = Counter((kind(place), *sign) for place, signs in places for sign in signs)
            found |= {sign: number / size[sign[0]] for sign, number in of.items()}
    return found | {
        ("of two", one, other): 1.0 for one, other in combinations(sorted(there), 2) if there[one] != there[other]
    }


def _best(facts: Sequence[Mapping[str, Shown]]) -> tuple[Sign, bool]:
    """The sign that tells most, and whether it is shown or lacking where an object is true; each fact counts alike."""
    more: dict[Sign, float] = defaultdict(float)
    for found in facts:
        for one in found.values():
            for of, weight in ((one.own, 1 / len(found)), (one.heard, -1 / len(found))):
                for sign, share in of.items():
                    more[sign] += weight * share
    # The order of what is in a set is another one in each process.
    best = max(more, key=lambda sign: (round(abs(more[sign]), DIGITS), repr(sign)), default=())
    return best, more.get(best, 0.0) > 0


def _taken(shown: Sequence[Mapping[Sign, float]], best: tuple[Sign, bool]) -> Array:
    sign, is_shown = best
    return np.array([[one.get(sign, 0.0) if is_shown else 1 - one.get(sign, 0.0)] for one in shown])
