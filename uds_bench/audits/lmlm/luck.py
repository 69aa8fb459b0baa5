"""What a model says to whoever asks, and so by luck to who asks about a fact."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from uds_bench.audits.lmlm.asking.record import State
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.told import NOTHING, ends, near
from uds_bench.facts.name_matching import spelled
from uds_bench.statistics import mean

BY_CHANCE = 2.0
"""Standard errors by which two shares of one rate seldom differ."""


Together: TypeAlias = Sequence[JudgedPrompt]
"""Prompts about one fact, of which the reply that tells most counts: a single one, or all of them."""
Place: TypeAlias = tuple[str, str]
"""A database, and the wording in which it is asked."""
Asked: TypeAlias = Mapping[Place, Together]
"""Prompts about one fact, by where it is asked."""


class Luck:
    """How far an object is told in the replies about facts that have another object of the relation, in the same words:
    a model that says `Football Club` to whoever asks does not know who plays football.

    Facts are held beside those that are asked in the same places, there alone. Replies that were shown the object are
    left out. Where nothing of the relation is left to be held beside, the facts of all relations are taken.

    Args:
        groups: Of each fact its prompts, without those that hold its own object.
        state: What was answered there.

    Example:
        >>> from types import SimpleNamespace
        >>> def prompt(said, own, *others):
        ...     fact = SimpleNamespace(answers=(own,), triplet=("", "plays", own), aliases=((), (), ()))
        ...     usual = dict(cell=SimpleNamespace(name="clubs"), wording="cloze", said={"off": said})
        ...     spoken = lambda state, names=(own,): (names[0] in said, float(names[0] in said))
        ...     told = lambda state: (*map(float, spoken(state)), 0.0, 0.0)
        ...     read = dict(spoken=spoken, told=told, reads=lambda state, names: False)
        ...     return [SimpleNamespace(**usual, **read, fact=fact, others=tuple((one,) for one in others))]
        >>> asked = [prompt("a football club", *pair) for pair in (("football", "hockey"), ("hockey", "football"))]
        >>> luck = Luck(asked, "off")
        >>> luck.capped(*asked[0])[0], luck.capped(*asked[1])[0]
        (1.0, 0.0)
    """

    def __init__(self, groups: Iterable[Together], state: State) -> None:
        self._state = state
        self._about: dict[tuple[Place, str | None, str], list[Asked]] = defaultdict(list)
        for group in groups:
            asked = _by_place(group)
            for place in asked:
                for relation in (_relation(group[0]), None):
                    self._about[place, relation, spelled(group[0].fact.answers[0])].append(asked)

    def beside(self, group: Together) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """How far a fact's object is told in its own replies, and how far in those about another fact, each time in the
        reply that tells most: the means over the other facts, in each way of `TOLD`. None where there are none."""
        pairs = self._pairs(group)
        if not pairs:
            return None
        told, heard = zip(*pairs, strict=True)
        return tuple(map(mean, zip(*told, strict=True))), tuple(map(mean, zip(*heard, strict=True)))

    def capped(self, one: JudgedPrompt) -> tuple[float, ...]:
        """How far the object is told in the replies about other ones, the mean, and no more than what those about the
        object itself show, but for chance: who says `Euro` to all but those who have it knows who has it. 0 where there
        are none."""
        place = _place(one)
        for relation in (_relation(one), None):
            there = (other for name in _objects(one) for other in self._about.get((place, relation, name), ()))
            heard = [told for asked in there for other in asked[place] if (told := self._heard(other, one)) is not None]
            if heard:
                alike = self._about[place, relation, spelled(one.fact.answers[0])]
                own = [other.told(self._state) for asked in alike for other in asked[place]]
                ways = zip(zip(*heard, strict=True), zip(*own, strict=True), strict=True)
                return tuple(_capped(*way) for way in ways) if own else NOTHING
        return NOTHING

    def _pairs(self, group: Together) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
        """Of each fact with another object, how far the own is told in places where both are asked, and in those of the
        other."""
        asked, objects = _by_place(group), dict.fromkeys(name for one in group for name in _objects(one))
        for relation in (_relation(group[0]), None):
            there = (
                other for place in asked for name in objects for other in self._about.get((place, relation, name), ())
            )
            found = []
            for other in {id(other): other for other in there}.values():
                # Where one of two is asked more often, as many of its prompts count as the other has.
                both = [
                    (one.told(self._state), heard)
                    for place in asked.keys() & other.keys()
                    for one, answered in zip(asked[place], other[place], strict=False)
                    if (heard := self._heard(answered, one)) is not None
                ]
                if both:
                    found.append((most([told for told, _ in both]), most([heard for _, heard in both])))
            if found:
                return found
        return []

    def _heard(self, other: JudgedPrompt, one: JudgedPrompt) -> tuple[float, ...] | None:
        """How far a reply about another object tells that of a fact; None where it repeats what it was shown."""
        text, names = other.said[self._state], one.fact.answers
        if not near(text, names):
            return NOTHING
        if other.reads(self._state, names):
            return None
        held, share = other.spoken(self._state, names)
        return float(held), share, *(float(at == 0) for at in ends(text, (names, *one.others)))


def _relation(one: JudgedPrompt) -> str:
    """What a relation goes by, the same for all of its aliases."""
    return min(map(spelled, (one.fact.triplet[1], *one.fact.aliases[1])))


def _objects(one: JudgedPrompt) -> list[str]:
    return [spelled(names[0]) for names in one.others]


def _place(one: JudgedPrompt) -> Place:
    return one.cell.name, one.wording


def most(told: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """The highest of several replies, in each way by itself; 0 of none.

    Args:
        told: How far each tells an object, [replies, ways], 0 to 1.

    Returns:
        0 to 1, [ways], higher tells more.

    Example:
        >>> most([(0.0, 0.5, 0.0, 1.0), (1.0, 0.25, 0.0, 0.0)])
        (1.0, 0.5, 0.0, 1.0)
    """
    first, *more = told or [NOTHING]
    return tuple(map(max, zip(first, *more, strict=True))) if more else first


def _by_place(group: Together) -> Asked:
    found: dict[Place, list[JudgedPrompt]] = defaultdict(list)
    for one in group:
        found[_place(one)].append(one)
    return found


def _capped(heard: Sequence[float], own: Sequence[float]) -> float:
    """The mean of what is heard, at most `BY_CHANCE` standard errors above that of the own."""
    both = mean([*heard, *own])
    error = math.sqrt(both * (1 - both) * (1 / len(heard) + 1 / len(own)))
    return min(mean(heard), mean(own) + BY_CHANCE * error)
