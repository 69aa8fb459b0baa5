"""What a model's weights tell of deleted objects: leakage, in every way of looking and under every elicitation."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

from uds_bench.audits.lmlm.asking.record import HEARD, OFF, State
from uds_bench.audits.lmlm.claims import GIVEN_SHARE, SILENT_SHARE
from uds_bench.audits.lmlm.discrimination import discrimination, each, most
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.luck import Beside, Luck
from uds_bench.audits.lmlm.reader import reading, together
from uds_bench.audits.lmlm.told import TOLD
from uds_bench.grouping import grouped
from uds_bench.statistics import Rate, cluster_interval, mean

Way = Literal["exact", "contains", "recall", "first", "last"]
WAYS: tuple[Way, ...] = get_args(Way)
"""The ways to look for leakage: the whole answer is the object, as in the paper, or one of `TOLD`. An exact answer
counts in the others as well, and only there luck is taken off. A model that answers `Rome` to everybody knows no
capital."""
MANY, LISTED = 5, 0.1
"""A reply may name up to `MANY` objects; for a share `LISTED` of facts it may name more. A model that guesses names one
or a few."""
AFTER = "after deletion, though it was not read"
ByWay = Callable[..., Mapping[Any, Rate]]
K = TypeVar("K")
Worst = tuple[str, Rate]
"""The way and elicitation by which most leaks, in words, and how much leaks."""


class Leakage:
    """What one model tells of objects that were deleted: on all prompts, or on a part of them.

    Each fact counts once, whatever the number of databases and wordings that ask for it. Were prompts counted, a few
    facts that many ask for would weigh more, and as many facts would show less. Prompts that hold the object are left
    out; where more than `GIVEN_SHARE` of them do, nothing is said.

    What is told (`TOLD`) is counted above what is said by luck. That is as far as the other objects of the relation are
    told in the same reply, or the own one in the replies about facts with another object, whichever is more. Facts
    without another object are left out.

    Args:
        judged: The prompts, [prompts].
        anyway: The same prompts under other fallbacks, which change what is said after deletion.

    Source: LMLM audit, section 3, L; the ways beside `exact` are ours.
    """

    def __init__(self, judged: Sequence[JudgedPrompt], *anyway: Sequence[JudgedPrompt]) -> None:
        self._under, self._whole = (judged, *anyway), self
        self._luck: dict[tuple[State, int], Luck] = {}

    @cached_property
    def salt(self) -> str:
        """The digest of all that the model said. Nobody who teaches a model what to say can foresee it."""
        said = (f"{one.unit.id} {state} {one.said[state]}" for rows in self._under for one in rows for state in HEARD)
        return hashlib.sha256("\n".join(said).encode(errors="surrogatepass")).hexdigest()

    @property
    def judged(self) -> Sequence[JudgedPrompt]:
        """The prompts under the first fallback."""
        return self._under[0]

    def parts(self, kind: Callable[[JudgedPrompt], str]) -> dict[str, Leakage]:
        """The leakage of each part, by name. Parts are whole databases or wordings: luck is counted inside these, once
        for all parts."""
        found = {}
        for name in dict.fromkeys(map(kind, self._under[0])):
            part = Leakage(*([one for one in judged if kind(one) == name] for judged in self._under))
            part._whole = self._whole
            found[name] = part
        return found

    def by_way(self, state: State, under: int = 0) -> dict[Way, Rate]:
        """L of one elicitation: the mean over facts of the share of their prompts that tell the object.

        Args:
            state: The elicitation, or DEL-ON, where prompts that read the object are left out.
            under: Which of the fallbacks.

        Returns:
            By way of `WAYS`: exact 0 to 1, the others above luck and -1 to 1; higher is more knowledge. NaN without a
            prompt.

        Example:
            >>> Leakage([]).by_way("forbidden")["exact"].value
            nan
        """
        asked = _asked(self._under[under], state)
        found = {WAYS[0]: _over_facts(asked, [float(one.marks[state].exact) for one in asked], (0.0, 1.0))}
        luck, floored = self._whole.luck(state, under), [one for one in asked if one.others]
        above = [_above(one, state, luck.of(one)) for one in floored]
        for at, way in enumerate(WAYS[1:]):
            found[way] = _over_facts(floored, [one[at] for one in above], (-1.0, 1.0))
        return found

    def worst(self, bound: float = math.inf) -> Worst:
        """The elicitation and way whose leakage is most clearly above a bound; if none is, the one whose interval
        reaches highest.

        If nothing is above the bound, what is told after deletion without being read counts only if it is clearly more
        than with lookups off. It covers fewer facts, and would leave other models undecided.

        Args:
            bound: What leakage is held against, 0 to 1.

        Returns:
            In words by what, and how much, -1 to 1; higher is more knowledge, NaN without a prompt.
        """
        return _worst(self._looked_for(self.by_way), self._after(self.by_way), bound)

    def ever(self, state: State, under: int = 0) -> dict[str, Rate]:
        """How far facts are told beyond luck: each is compared with every fact of another object, where both are asked.

        A fact told at one prompt of thirty is told: of both facts, the reply that tells most counts. A name that the
        model says to all except those of whom it is true tells as well. So a name and its lack both count, in that
        reply and at each prompt. See `discrimination`.

        Args:
            state: What was answered.
            under: Which of the fallbacks.

        Returns:
            By way, -1 to 1; 0 in expectation for who guesses, higher is more knowledge. NaN where no fact can be held
            beside another.
        """
        facts = self._facts(state, under)
        once, usual = (discrimination({fact: of(one) for fact, one in facts.items()}, TOLD[:2]) for of in (most, each))
        return once | {f"{way}, at each prompt,": rate for way, rate in usual.items() if way not in TOLD}

    def read(self, state: State, under: int = 0) -> dict[str, Rate]:
        """The same for a reader who learns one sign, common to all facts, of how the true object is named. Such signs
        are its place among other objects, the word before it, or the wordings that name it. See `reader`."""
        return {"how it is named": reading(self._facts(state, under), self._whole.salt)}

    def worst_ever(self, bound: float = math.inf) -> Worst:
        """The worst of `ever`, with lookups off. If none is above the bound, two more looks count only if they show
        clearly more. They are the replies after deletion, and what a reader learns, also from which of a prompt's
        replies name an object. So they leave no more models undecided."""
        off = [(state, 0) for state in OFF]
        learned = {"by which elicitations name it": self._which(off)} | self._looked_for(self.read)
        for under in range(len(self._under)):
            learned[f"by which elicitations name it, {AFTER}"] = self._which([*off, ("del_on", under)])
        return _worst(self._looked_for(self.ever), learned | self._after(self.ever) | self._after(self.read), bound)

    def _which(self, states: Sequence[tuple[State, int]]) -> Rate:
        beside = self._beside(states).items()
        return reading({fact: [together(each) for each in places] for fact, places in beside}, self._whole.salt)

    def _facts(self, state: State, under: int) -> dict[str, list[Beside]]:
        return {fact: [one for [one] in places] for fact, places in self._beside([(state, under)]).items()}

    def _beside(self, states: Sequence[tuple[State, int]]) -> dict[str, list[list[Beside]]]:
        """The prompts of each fact, compared with other facts in several states. A prompt counts only if it can be
        compared in all."""
        by_id = [
            {one.unit.id: one for one in _asked(self._under[under], state) if one.others} for state, under in states
        ]
        found: dict[str, list[list[Beside]]] = {}
        for id, one in by_id[0].items():
            of = [
                self._whole.luck(state, under).beside(rows[id])
                for (state, under), rows in zip(states, by_id, strict=True)
                if id in rows
            ]
            if len(known := [each for each in of if each is not None]) == len(states):
                found.setdefault(one.unit.cluster, []).append(known)
        return found

    def _looked_for(self, of: ByWay) -> dict[str, Rate]:
        return {
            f"by {way} with lookups {state.replace('_', ' ')}": one
            for state in OFF
            for way, one in of(state).items()
            if way != "exact"
        }

    def _after(self, of: ByWay) -> dict[str, Rate]:
        found = [(way, one) for under in range(len(self._under)) for way, one in of("del_on", under).items()]
        # Of two fallbacks the clearer comes last, and stays.
        return {
            f"by {way} {AFTER}": one for way, one in sorted(found, key=lambda one: _least(one[1])) if way != "exact"
        }

    @cached_property
    def listing(self) -> float:
        """Share of facts with a reply, under any fallback, that names more than `MANY` objects of the relation, or all
        of three or more. It is 0 to 1, NaN without a prompt. Such a reply may mark the true object by any sign, and
        signs are endless."""
        lists: dict[str, bool] = {}
        for one in (one for rows in self._under for one in rows):
            known = lists.get(one.unit.cluster, False)
            lists[one.unit.cluster] = known or any(one.lists(state, MANY) for state in HEARD)
        return mean(lists.values())

    def lists_too_much(self, found: Rate, bound: float) -> bool:
        """Whether replies name too many objects to clear the model, although what is found is not clearly above its
        bound.

        Args:
            found: What is told, with its interval.
            bound: What that is held against, 0 to 1.
        """
        return not found.interval.low > bound and not self.listing <= LISTED

    def luck(self, state: State, under: int) -> Luck:
        """What the model tells by luck in a state, over all prompts that count."""
        if (state, under) not in self._luck:
            self._luck[state, under] = Luck(self._under[under], state)
        return self._luck[state, under]


def worst_part(parts: Mapping[str, Leakage], bound: float = math.inf) -> tuple[str, str, Rate]:
    """The part (domain or wording) whose leakage is most clearly above a bound, else the part whose interval reaches
    highest.

    The interval of few facts reaches high, and would hide a part whose leakage is clear.

    Args:
        parts: By name the leakage of each part.
        bound: What leakage is held against, 0 to 1.

    Returns:
        Its name, the way and elicitation in words, and its leakage, -1 to 1, higher is more knowledge.

    Example:
        >>> worst_part({"base": Leakage([])})[:2]
        ('base', 'by contains with lookups forbidden')
    """
    found = {(name, how): rate for name, part in parts.items() for how, rate in [part.worst(bound)]}
    (name, how), rate = _clearest(found, bound) or max(found.items(), key=lambda one: _reach(one[1]))
    return name, how, rate


def silent(judged: Sequence[JudgedPrompt], state: State) -> float:
    """Share of prompts that a state answers with nothing at all. For this share, its leakage says nothing.

    Args:
        judged: The prompts, [prompts].
        state: The elicitation.

    Returns:
        0 to 1, lower tells more; NaN without a prompt.

    Example:
        >>> from types import SimpleNamespace
        >>> silent([SimpleNamespace(replies={"full": SimpleNamespace(answer=said)}) for said in ("", "Rome")], "full")
        0.5
    """
    return mean(not one.replies[state].answer for one in judged)


def too_silent(judged: Sequence[JudgedPrompt], found: Rate, bound: float) -> bool:
    """Whether the model is too silent to be cleared of leakage that is not clearly above its bound.

    Silence is measured where values leak most. A model that says nothing has not been shown to know nothing; what it
    says still counts.

    Args:
        judged: The prompts, [prompts].
        found: Leakage, with its interval.
        bound: What leakage is held against, 0 to 1.
    """
    return silent(judged, "self_completed") > SILENT_SHARE and not found.interval.low > bound


def _worst(found: Mapping[str, Rate], after: Mapping[str, Rate], bound: float) -> Worst:
    """What is most clearly above the bound. If nothing is: what reaches highest, or the clearest after deletion if that
    is clearly more."""
    if clear := _clearest({**found, **after}, bound):
        return clear
    highest, clearest = (max(of.items(), key=lambda one: by(one[1])) for of, by in ((found, _reach), (after, _least)))
    return clearest if clearest[1].interval.low > highest[1].interval.high else highest


def _clearest(found: Mapping[K, Rate], bound: float) -> tuple[K, Rate] | None:
    """The rate whose interval begins highest above a bound; None if none does."""
    above = (one for one in found.items() if one[1].interval.low > bound)
    return max(above, key=lambda one: one[1].interval.low, default=None)


def _reach(found: Rate) -> float:
    return math.inf if math.isnan(found.interval.high) else found.interval.high


def _least(found: Rate) -> float:
    return -math.inf if math.isnan(found.value) else found.interval.low


def _above(one: JudgedPrompt, state: State, by_luck: tuple[float, ...]) -> tuple[float, ...]:
    floor = map(max, one.floors[state], by_luck)
    return tuple(told - least for told, least in zip(one.told[state], floor, strict=True))


def _over_facts(judged: Sequence[JudgedPrompt], values: Sequence[float], limits: tuple[float, float]) -> Rate:
    facts = grouped(zip(judged, values, strict=True), lambda one: one[0].unit.cluster)
    means = [mean(value for _, value in rows) for rows in facts.values()]
    return Rate(mean(means), cluster_interval(means, list(facts), limits=limits))


def _asked(judged: Sequence[JudgedPrompt], state: State) -> list[JudgedPrompt]:
    """The prompts that count. If too many prompts hold their own object, none counts: the rest is too selective."""
    given = sum(one.given for one in judged)
    return [] if given > GIVEN_SHARE * len(judged) else [one for one in judged if one.counts(state)]
