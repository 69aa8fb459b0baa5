"""What a model says to whoever asks, and so by luck to who asks about a fact."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.record import State
from uds_bench.audits.lmlm.scoring import TOLD, ends, near
from uds_bench.facts.name_matching import holds_one, spelled
from uds_bench.statistics import mean

NOTHING = (0.0,) * len(TOLD)
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

    Where a relation has one object alone, the facts of other relations are taken.

    Example:
        >>> from types import SimpleNamespace
        >>> def prompt(said, own, *others):
        ...     fact = SimpleNamespace(answers=(own,), triplet=("", "plays", own), aliases=((), (), ()))
        ...     usual = dict(cell=SimpleNamespace(name="clubs"), wording="cloze", given=False, said={"off": said})
        ...     spoken = lambda state, names=(own,): (names[0] in said, float(names[0] in said))
        ...     told = lambda state: (*map(float, spoken(state)), 0.0, 0.0)
        ...     read = dict(spoken=spoken, told=told, shown=lambda state: "What do they play?")
        ...     return [SimpleNamespace(**usual, **read, fact=fact, others=tuple((one,) for one in others))]
        >>> asked = [prompt("a football club", *pair) for pair in (("football", "hockey"), ("hockey", "football"))]
        >>> luck = Luck(asked, "off")
        >>> luck.of(asked[0])[0], luck.of(asked[1])[0]
        (1.0, 0.0)
    """

    def __init__(self, groups: Iterable[Together], state: State) -> None:
        self._state = state
        self._about: dict[tuple[Place, str | None, str], list[Asked]] = defaultdict(list)
        for group in groups:
            asked = _by_place(group)
            for place in asked:
                for relation in (_relation(group), None):
                    self._about[place, relation, spelled(group[0].fact.answers[0])].append(asked)

    def of(self, group: Together) -> tuple[float, ...]:
        """How far those replies tell the fact's object, in each way of `TOLD`; 0 where there are none.

        They are of facts that are asked wherever this one is, and of those places alone.
        """
        heard, _ = self._beside(group)
        return tuple(map(mean, zip(*heard, strict=True))) or NOTHING

    def capped(self, group: Together) -> tuple[float, ...]:
        """The same, and no more than what replies about the object itself show, but for chance: who says `Euro` to all
        but those who have it knows who has it."""
        heard, own = self._beside(group)
        if not (heard and own):
            return NOTHING
        return tuple(_capped(*way) for way in zip(zip(*heard, strict=True), zip(*own, strict=True), strict=True))

    def _beside(self, group: Together) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
        """How far the object is told in replies about each fact with another one, and about each that has it."""
        asked = _by_place(group)
        names = dict.fromkeys(spelled(other[0]) for one in group for other in one.others)
        for relation in (_relation(group), None):
            others = [other for name in names for other in self._facts(relation, name, asked)]
            if others:
                alike = self._facts(relation, spelled(group[0].fact.answers[0]), asked)
                heard = [self._heard(other, asked) for other in others]
                return heard, [self._told(other, asked) for other in alike]
        return [], []

    def _facts(self, relation: str | None, name: str, asked: Asked) -> list[Asked]:
        """Facts about an object that are asked wherever another is."""
        there = self._about.get((next(iter(asked)), relation, name), ())
        return [other for other in there if asked.keys() <= other.keys()]

    def _told(self, other: Asked, asked: Asked) -> tuple[float, ...]:
        return most([one.told(self._state) for place in asked for one in other[place] if not one.given])

    def _heard(self, other: Asked, asked: Asked) -> tuple[float, ...]:
        """How far replies about another object tell that of a fact."""
        return most(
            [
                self._repeated(there, one)
                for place in asked
                for there, one in zip(other[place], asked[place], strict=False)
            ]
        )

    def _repeated(self, other: JudgedPrompt, one: JudgedPrompt) -> tuple[float, ...]:
        """What it was shown may be repeated, and is no luck."""
        text, names = other.said[self._state], one.fact.answers
        if not near(text, names) or holds_one(other.shown(self._state), names):
            return NOTHING
        held, share = other.spoken(self._state, names)
        return float(held), share, *(float(at == 0) for at in ends(text, (names, *one.others)))


def _relation(group: Together) -> str:
    """What a relation goes by, the same for all of its aliases."""
    fact = group[0].fact
    return min(map(spelled, (fact.triplet[1], *fact.aliases[1])))


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
        found[one.cell.name, one.wording].append(one)
    return found


def _capped(heard: Sequence[float], own: Sequence[float]) -> float:
    """The mean of what is heard, at most `BY_CHANCE` standard errors above that of the own."""
    both = mean([*heard, *own])
    error = math.sqrt(both * (1 - both) * (1 / len(heard) + 1 / len(own)))
    return min(mean(heard), mean(own) + BY_CHANCE * error)
