"""What a model says to whoever asks, and so by luck to who asks about a fact."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from uds_bench.audits.lmlm.asking.record import State
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.told import NOTHING, UNNAMED, Signs
from uds_bench.facts.name_matching import spelled
from uds_bench.statistics import mean

BY_CHANCE = 2.0
"""Standard errors by which two shares of one rate seldom differ."""

MOST_HEARD = 200
"""Other facts beside which one is held in a place: more cost time and change little."""


class Place(NamedTuple):
    """A database, the wording in which it is asked, which of a fact's prompts there, and of DEL-ON whether a row was
    drawn: who repeats a row says less of other objects than who guesses. None: whether or not."""

    cell: str
    wording: str
    number: int
    drawn: bool | None


class Beside(NamedTuple):
    """A prompt beside those about other facts in its place: how far its own reply tells its object, and how far each of
    theirs does, in each way of `TOLD`; and how each names it. `relation`: which all of them are of, None where they are
    of any; `place`: in which they are asked."""

    own: tuple[float, ...]
    facts: Sequence[str]
    heard: Sequence[tuple[float, ...]]
    own_how: Signs = UNNAMED
    heard_how: Sequence[Signs] = ()
    relation: str | None = None
    place: Place = Place("", "", 0, None)


class Luck:
    """How far an object is told in the replies about facts that have another object of the relation, in the same words:
    a model that says `Football Club` to whoever asks does not know who plays football.

    Facts are held beside those that are asked in the same place. Replies that were shown the object are
    left out, and prompts that hold their own. Where nothing of the relation is left to be held beside, the facts of all
    relations are taken.

    Args:
        prompts: All of a model's, [prompts].
        state: What was answered there.

    Example:
        >>> from types import SimpleNamespace
        >>> def prompt(said, own, *others):
        ...     fact = SimpleNamespace(answers=(own,), triplet=("", "plays", own), aliases=((), (), ()))
        ...     unit, cell = SimpleNamespace(cluster=own), SimpleNamespace(name="clubs")
        ...     tells = lambda state, names, others: (float(names[0] in said),) * 4
        ...     asked = dict(reads=lambda state, names: False, counts=lambda state: True, how=lambda *of: UNNAMED)
        ...     asked |= dict(tells=tells, told={"unknown": tells("", (own,), ())}, wording="cloze")
        ...     return SimpleNamespace(unit=unit, cell=cell, fact=fact, others=tuple((one,) for one in others), **asked)
        >>> asked = [prompt("a football club", *pair) for pair in (("football", "hockey"), ("hockey", "football"))]
        >>> luck = Luck(asked, "unknown")
        >>> [luck.of(one)[0] for one in asked]
        [1.0, 0.0]
    """

    def __init__(self, prompts: Iterable[JudgedPrompt], state: State) -> None:
        self._state = state
        self._about: dict[tuple[Place, str | None, str], list[JudgedPrompt]] = defaultdict(list)
        self._place: dict[int, Place] = {}
        self._beside: dict[int, Beside | None] = {}
        seen: Counter[tuple[str, str, str]] = Counter()
        for one in prompts:
            key = one.cell.name, one.wording, one.unit.cluster
            drawn = one.replies[state].drawn if state == "del_on" else None
            self._place[id(one)] = place = Place(*key[:2], seen[key], drawn)
            seen[key] += 1
            for about in _kept(place, one) if one.counts(state) else ():
                self._about[*about, spelled(one.fact.answers[0])].append(one)

    def beside(self, one: JudgedPrompt) -> Beside | None:
        """A prompt beside those about other objects; None where there are none."""
        if id(one) not in self._beside:
            self._beside[id(one)] = self._held(one)
        return self._beside[id(one)]

    def of(self, one: JudgedPrompt) -> tuple[float, ...]:
        """How far the object is told in the replies about other ones, the mean, and no more than what those about the
        object itself show, but for chance: who says `Euro` to all but those who have it knows who has it. 0 where there
        are none."""
        if (beside := self.beside(one)) is None:
            return NOTHING
        alike = self._about[beside.place, beside.relation, spelled(one.fact.answers[0])]
        own = [each.told[self._state] for each in alike]
        return tuple(map(_at_most, zip(*beside.heard, strict=True), zip(*own, strict=True)))

    def _held(self, one: JudgedPrompt) -> Beside | None:
        state, own = self._state, (one.fact.answers, one.others)
        for place, relation in _kept(self._place[id(one)], one):
            heard = [(other, other.tells(state, *own)) for other in self._others(one, place, relation)]
            # With lookups off a prompt is shown little: what says nothing is not looked at once more.
            left = [
                (other, told)
                for other, told in heard
                if (told is NOTHING and state != "del_on") or not other.reads(state, one.fact.answers)
            ]
            if left:
                how = [UNNAMED if told is NOTHING else other.how(state, *own) for other, told in left]
                facts, told = [other.unit.cluster for other, _ in left], [each for _, each in left]
                return Beside(one.told[state], facts, told, one.how(state, *own), how, relation, place)
        return None

    def _others(self, one: JudgedPrompt, place: Place, relation: str | None) -> Iterator[JudgedPrompt]:
        """Each once a fact; of more than are heard those that follow it, object by object."""
        there = [self._about.get((place, relation, spelled(names[0])), []) for names in one.others]
        most = -(-MOST_HEARD // max(1, len(there))) if sum(map(len, there)) > MOST_HEARD else MOST_HEARD
        own = self._about[place, relation, spelled(one.fact.answers[0])]
        start, seen = next((at for at, other in enumerate(own) if other is one), 0), set[str]()
        for alike in there:
            for at in range(min(most, len(alike))):
                other = alike[(start + at) % len(alike)]
                if other.unit.cluster not in seen:
                    seen.add(other.unit.cluster)
                    yield other


def _kept(place: Place, one: JudgedPrompt) -> list[tuple[Place, str | None]]:
    """Among whom a prompt is held, the nearest first. Where nobody else drew a row, those that drew none are taken."""
    return list(product(dict.fromkeys((place, place._replace(drawn=None))), (_relation(one), None)))


def _relation(one: JudgedPrompt) -> str:
    """What a relation goes by, the same for all of its aliases."""
    return min(map(spelled, (one.fact.triplet[1], *one.fact.aliases[1])))


def _at_most(heard: Sequence[float], own: Sequence[float]) -> float:
    """The mean of what is heard, at most `BY_CHANCE` standard errors above that of the own."""
    both = mean([*heard, *own])
    error = math.sqrt(both * (1 - both) * (1 / len(heard) + 1 / len(own)))
    return min(mean(heard), mean(own) + BY_CHANCE * error)
