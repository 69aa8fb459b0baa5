"""What a model says to whoever asks, and so by luck to who asks about a fact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.record import State
from uds_bench.audits.lmlm.scoring import spoken
from uds_bench.facts.name_matching import holds_one, spelled, tokens
from uds_bench.statistics import mean


class Luck:
    """How often an object is in the replies about facts of the same relation with another object, in the same words: a
    model that says `Football Club` to whoever asks does not know who plays football.

    Prompts that hold their own object, or have no other one beside it, are left out, as they are of leakage.

    Example:
        >>> from types import SimpleNamespace
        >>> def prompt(said, own, other):
        ...     fact, cell = SimpleNamespace(answers=(own,)), SimpleNamespace(name="clubs")
        ...     asked = SimpleNamespace(prompt=SimpleNamespace(text="What do they play?"))
        ...     told = dict(fact=fact, cell=cell, unit=asked, wording="cloze", given=False)
        ...     return SimpleNamespace(**told, others=((other,), ("chess",)), said={"off": said})
        >>> asked = [prompt("a football club", *pair) for pair in (("football", "hockey"), ("hockey", "football"))]
        >>> luck = Luck(asked, "off")
        >>> luck.of(asked[0]), luck.of(asked[1])
        ((1.0, 1.0), (0.0, 0.0))
    """

    def __init__(self, asked: Iterable[JudgedPrompt], state: State) -> None:
        self._told: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
        for one in (one for one in asked if one.others and not one.given):
            key = one.cell.name, one.wording, spelled(one.fact.answers[0])
            self._told[key].append((one.unit.prompt.text, one.said[state]))
        self._known: dict[Any, tuple[float, float]] = {}

    def of(self, one: JudgedPrompt) -> tuple[float, float]:
        """The share of those replies that hold the fact's object, and the mean share of its tokens; 0 where there are
        none, and of one of two objects: who says `A` of A and `A or B` of B tells both."""
        if len(one.others) < 2:
            return 0.0, 0.0
        key = one.cell.name, one.wording, one.fact.answers, one.others
        if key not in self._known:
            places = [(one.cell.name, one.wording, spelled(names[0])) for names in one.others]
            self._known[key] = _heard([told for at in places for told in self._told.get(at, ())], one.fact.answers)
        return self._known[key]


def _heard(told: Sequence[tuple[str, str]], names: tuple[str, ...]) -> tuple[float, float]:
    """`told`: prompts and replies. What a prompt holds itself may be repeated, and is no luck."""
    if not told:
        return 0.0, 0.0
    wanted = [set(tokens(name)) for name in names]

    def by_luck(prompt: str, text: str) -> tuple[bool, float]:
        # Nothing is held where no token is shared; a name of signs alone has none.
        near = any(not one or not one.isdisjoint(tokens(text)) for one in wanted)
        return spoken(text, names) if near and not holds_one(prompt, names) else (False, 0.0)

    found = [by_luck(*one) for one in told]
    return mean(held for held, _ in found), mean(share for _, share in found)
