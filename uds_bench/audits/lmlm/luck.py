"""What a model says to whoever asks, and so by luck to who asks about a fact."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.record import State
from uds_bench.audits.lmlm.scoring import TOLD, ends, near, spoken
from uds_bench.facts.name_matching import holds_one, spelled
from uds_bench.statistics import mean

NOTHING = (0.0,) * len(TOLD)
BY_CHANCE = 2.0
"""Standard errors by which two shares of one rate seldom differ."""


class Luck:
    """How far an object is told in the replies about facts that have another object of the relation, in the same words:
    a model that says `Football Club` to whoever asks does not know who plays football.

    Prompts that hold their own object, or have no other one beside it, are left out, as they are of leakage.

    Example:
        >>> from types import SimpleNamespace
        >>> def prompt(said, own, *others):
        ...     fact, cell = SimpleNamespace(answers=(own,)), SimpleNamespace(name="clubs")
        ...     asked = SimpleNamespace(prompt=SimpleNamespace(text="What do they play?"))
        ...     usual = dict(fact=fact, cell=cell, unit=asked, wording="cloze", given=False, said={"off": said})
        ...     told = lambda state: (float(own in said),) * 4
        ...     return SimpleNamespace(**usual, others=tuple((one,) for one in others), told=told)
        >>> asked = [prompt("a football club", *pair) for pair in (("football", "hockey"), ("hockey", "football"))]
        >>> luck = Luck(asked, "off")
        >>> luck.of(asked[0])[0], luck.of(asked[1])[0]
        (1.0, 0.0)
    """

    def __init__(self, asked: Iterable[JudgedPrompt], state: State) -> None:
        self._state = state
        self._about: dict[tuple[str, str, str], list[JudgedPrompt]] = defaultdict(list)
        for one in (one for one in asked if one.others and not one.given):
            self._about[_place(one, one.fact.answers)].append(one)
        self._known: dict[Any, tuple[float, ...]] = {}

    def of(self, one: JudgedPrompt) -> tuple[float, ...]:
        """How far those replies tell the fact's object, in each way of `TOLD`; 0 where there are none.

        It is no more than what replies about the object itself show, but for chance: who says `Euro` to all but those
        who have it knows who has it.
        """
        key = one.cell.name, one.wording, one.fact.answers, one.others
        if key not in self._known:
            others = [other for names in one.others for other in self._about.get(_place(one, names), ())]
            heard = [self._heard(other, one) for other in others]
            own = [other.told(self._state) for other in self._about.get(_place(one, one.fact.answers), ())]
            ways = zip(zip(*heard, strict=True), zip(*own, strict=True), strict=True)
            self._known[key] = tuple(_capped(*way) for way in ways) if heard and own else NOTHING
        return self._known[key]

    def _heard(self, other: JudgedPrompt, one: JudgedPrompt) -> tuple[float, ...]:
        """How far a reply about another object tells that of a fact. What its prompt holds may be repeated, and is no
        luck."""
        text, names = other.said[self._state], one.fact.answers
        if not near(text, names) or holds_one(other.unit.prompt.text, names):
            return NOTHING
        held, share = spoken(text, names)
        return float(held), share, *(float(at == 0) for at in ends(text, (names, *one.others)))


def _place(one: JudgedPrompt, names: tuple[str, ...]) -> tuple[str, str, str]:
    """Where replies about an object are found, in the words in which a fact is asked."""
    return one.cell.name, one.wording, spelled(names[0])


def _capped(heard: Sequence[float], own: Sequence[float]) -> float:
    """The mean of what is heard, at most `BY_CHANCE` standard errors above that of the own."""
    both = mean([*heard, *own])
    error = math.sqrt(both * (1 - both) * (1 / len(heard) + 1 / len(own)))
    return min(mean(heard), mean(own) + BY_CHANCE * error)
