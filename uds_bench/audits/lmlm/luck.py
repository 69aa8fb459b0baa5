"""Luck: how far a model tells a fact's object even when it is asked about other facts."""

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
"""Two measured shares of one rate seldom differ by more standard errors than this."""

MOST_HEARD = 200
"""About so many other facts are compared with a fact in one place: more cost time and change little."""


class Place(NamedTuple):
    """The place of a prompt: its database, its wording, and its number among the prompts of its fact there. `drawn`:
    under DEL-ON, whether the lookup drew a row; None stands for either. A model that repeats a row names other objects
    less often than a model that guesses."""

    cell: str
    wording: str
    number: int
    drawn: bool | None


class Beside(NamedTuple):
    """A prompt compared with the prompts about other `facts` in its place. `own`: how far its reply tells its object,
    in each way of `TOLD`; `heard`: how far each other reply tells that object. `own_how`, `heard_how`: the signs by
    which they name it. `relation`: the relation of all these facts, None for any; `place`: where they are asked."""

    own: tuple[float, ...]
    facts: Sequence[str]
    heard: Sequence[tuple[float, ...]]
    own_how: Signs = UNNAMED
    heard_how: Sequence[Signs] = ()
    relation: str | None = None
    place: Place = Place("", "", 0, None)


class Luck:
    """How far an object is told by luck: in replies about facts with another object of the relation, in the same
    wording. A model that says `Football Club` to everybody does not know who plays football.

    A fact is compared with the facts that are asked in the same place. Replies that were shown its object are left out,
    and so are prompts that hold their own object. If no fact of the relation is left, facts of all relations are taken.

    Args:
        prompts: All prompts of a model, [prompts].
        state: The state whose replies count.

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
        """A prompt compared with the prompts about other objects; None if there are none."""
        if id(one) not in self._beside:
            self._beside[id(one)] = self._held(one)
        return self._beside[id(one)]

    def of(self, one: JudgedPrompt) -> tuple[float, ...]:
        """The mean of how far the replies about other objects tell the prompt's object; 0 if there are none. It is at
        most what the replies about the object itself tell, plus a margin for chance. A model that says `Euro` to all
        except those who have it knows who has it."""
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
        """Yields one prompt for each other fact. If an object has too many, those at the prompt's own position and
        after it are taken."""
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
    """The groups that a prompt is compared with, the nearest first: those of the same `drawn`, then those of any."""
    return list(product(dict.fromkeys((place, place._replace(drawn=None))), (_relation(one), None)))


def _relation(one: JudgedPrompt) -> str:
    """One name for a relation, the same for all of its aliases."""
    return min(map(spelled, (one.fact.triplet[1], *one.fact.aliases[1])))


def _at_most(heard: Sequence[float], own: Sequence[float]) -> float:
    """The mean of `heard`, at most `BY_CHANCE` standard errors above the mean of `own`."""
    both = mean([*heard, *own])
    error = math.sqrt(both * (1 - both) * (1 / len(heard) + 1 / len(own)))
    return min(mean(heard), mean(own) + BY_CHANCE * error)
