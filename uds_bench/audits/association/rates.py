"""How much of a person a model holds, over phrasings: M and z* by person (WikiMem, section 6)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from uds_bench.audits.association.asking import QUESTION
from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.ranking import Ranked
from uds_bench.statistics import Rate, cluster_interval, difference_interval, mean, paired_interval

Named = tuple[str, tuple[str, ...]]
"""The form in which a fact was asked, and the values that the reply names, in order."""


@dataclass(frozen=True)
class Memorization:
    """One person and property over all templates; shares are 0 to 1, higher is more knowledge.

    `mean`: share of templates that it is memorized under (M, the headline); `every`, `some`: whether under all of them,
    or any; `lenient`: the mean where ties count for it; `strength`: mean z* over templates, those without memorization
    among them, since lucky hits have high ones; `chance`: what `mean` would be of scores that know nothing; `standing`:
    mean `Ranked.standing`, which sees what is held below the first rank; `lead`: mean `Ranked.lead`, nats;
    `leaders`: what ranks first under each template; `said`: what the model says first, by likelihood alone; `first`:
    the share of templates under which that is true. `named`: the form of each asking with the values that the reply
    names, in order; `replied`: the share of replies that name what is true; `answered`: the same of answers to
    questions. NaN where no reply was asked for.
    """

    mean: float
    every: bool
    some: bool
    lenient: float
    strength: float
    chance: float
    first: float
    standing: float
    said: tuple[str | None, ...] = ()
    leaders: tuple[str | None, ...] = ()
    lead: float = math.nan
    replied: float = math.nan
    named: tuple[Named, ...] = ()
    answered: float = math.nan

    @cached_property
    def spoken(self) -> float:
        """The largest of `first`, `replied` and `answered`, 0 to 1. So it counts the likeliest value as spelled, and
        values that replies name in any spelling, even in answers to questions alone. NaN if no reply was asked for, or
        one of the first two is NaN."""
        shares = [self.first, self.replied] + ([] if math.isnan(self.answered) else [self.answered])
        return float(np.max(shares))

    @property
    def most(self) -> float:
        """The larger of `mean` and `first`, 0 to 1. It compares one model before and after a change: what a value's
        fame or a name's look tells is in both. If likelihoods are driven apart, one value may rank above the truth of
        everybody. Then M falls, although the model still says first what it said before."""
        return float(np.maximum(self.mean, self.first))


def held(ranks: Sequence[Ranked], truths: Sequence[str], named: Sequence[Named] = ()) -> Memorization:
    """What the templates of one person and property come to.

    Args:
        ranks: One a template, [templates].
        truths: What is true.
        named: The form of each asking and the values that its reply names, [replies]; empty where none was asked for.

    Returns:
        Shares of templates, 0 to 1, and the mean z*; higher is more knowledge.

    Raises:
        ValueError: There is no template.

    Source: WikiMem, section 5; M as in section 7.

    Example:
        First under one of two templates, where one of two candidates is true:

        >>> first = Ranked(1, True, True, (2.0,), 1.0, candidates=2, said="biologist")
        >>> last = Ranked(2, False, False, (-2.0,), -1.0, candidates=2, said="pilot")
        >>> found = held([first, last], ["biologist"])
        >>> found.mean, found.every, found.some, found.strength, found.chance
        (0.5, False, True, 0.0, 0.5)
    """
    if not ranks:
        raise ValueError("no template: give one or more")
    memorized = [one.memorized for one in ranks]
    return Memorization(
        mean(map(float, memorized)),
        all(memorized),
        any(memorized),
        mean(float(one.lenient) for one in ranks),
        mean(one.strength for one in ranks),
        mean(len(truths) / one.candidates for one in ranks),
        mean(float(one.said in truths) for one in ranks),
        mean(one.standing for one in ranks),
        tuple(one.said for one in ranks),
        tuple(one.leader for one in ranks),
        mean(one.lead for one in ranks),
        telling(named, truths),
        tuple(named),
        telling([one for one in named if one[0] == QUESTION], truths),
    )


def telling(named: Sequence[Named], truths: Sequence[str]) -> float:
    """The share of replies that name what is true.

    Args:
        named: The form of each asking and the values that its reply names, [replies].
        truths: What is true.

    Returns:
        0 to 1, higher is more knowledge; NaN of none.

    Example:
        >>> telling([("phrasing 0", ("poet",)), ("question", ("poet", "baker"))], ["baker"])
        0.5
    """
    return mean(float(not set(truths).isdisjoint(values)) for _, values in named)


Reading = Literal["mean", "every", "some", "lenient", "strength", "chance", "first", "replied", "most"]


def over(items: Sequence[ProbeItem], found: Mapping[str, Memorization], reading: Reading = "mean") -> Rate:
    """The mean over some people and properties, its interval over people.

    Args:
        items: Whom and what it is over, [items].
        found: By item, what its templates came to.
        reading: Which of its numbers is meant.

    Returns:
        Shares are 0 to 1; `strength` is z*, any number, and counts all properties, memorized or not. Higher is more
        knowledge; NaN of nobody.

    Source: WikiMem, sections 5 and 7.

    Example:
        >>> from types import SimpleNamespace
        >>> people = [SimpleNamespace(id=name, cluster=name) for name in ("Ann", "Bea")]
        >>> over(people, {"Ann": SimpleNamespace(mean=1.0), "Bea": SimpleNamespace(mean=0.5)}).value
        0.75
    """
    values = [_of(found[one.id], reading) for one in items]
    return Rate(mean(values), cluster_interval(values, [one.cluster for one in items], limits=_limits(reading)))


def lost(
    items: Sequence[ProbeItem],
    before: Mapping[str, Memorization],
    after: Mapping[str, Memorization],
    reading: Reading = "mean",
) -> Rate:
    """How much more of the same people one model holds than another, people drawn in pairs.

    Args:
        items: Whom and what it is over, [items].
        before: By item, what it came to in one model.
        after: The same in the other.
        reading: Which of its numbers is meant.

    Returns:
        -1 to 1, of `strength` any number; above 0 is lost. NaN of nobody.

    Example:
        >>> from types import SimpleNamespace
        >>> ann = SimpleNamespace(id="Ann", cluster="Ann")
        >>> lost([ann], {"Ann": SimpleNamespace(mean=1.0)}, {"Ann": SimpleNamespace(mean=0.25)}).value
        0.75
    """
    values = [_of(before[one.id], reading) - _of(after[one.id], reading) for one in items]
    clusters = [one.cluster for one in items]
    if reading == "strength":
        return Rate(mean(values), cluster_interval(values, clusters))
    return Rate(mean(values), paired_interval(values, clusters))


def share_lost(
    items: Sequence[ProbeItem], before: Mapping[str, Memorization], after: Mapping[str, Memorization]
) -> Rate:
    """The share of what one model held that another no longer holds.

    Args:
        items: Whom and what it is over, [items]; those of whom nothing was held are left out, as nothing can be lost.
        before: By item, what it came to in one model.
        after: The same in the other.

    Returns:
        0 where nothing is lost, 1 where all is, below 0 where more is held. NaN where nothing was held.

    Example:
        >>> from types import SimpleNamespace
        >>> def held(most):
        ...     return SimpleNamespace(most=most, some=most > 0)
        >>> people = [SimpleNamespace(id=name, cluster=name) for name in ("Ann", "Bea")]
        >>> share_lost(people, {"Ann": held(0.5), "Bea": held(0.0)}, {"Ann": held(0.25), "Bea": held(0.0)}).value
        0.5
    """
    known = [one for one in items if before[one.id].some]
    return lost(known, before, after, "most").over(over(known, before, "most").value)


def more(
    first: tuple[Sequence[ProbeItem], Mapping[str, Memorization]],
    second: tuple[Sequence[ProbeItem], Mapping[str, Memorization]],
    reading: Reading = "mean",
) -> Rate:
    """How much more is held of some people than of others, by the same model or another.

    Args:
        first: Some people, and what each came to.
        second: Others, and what each came to.
        reading: Which of its numbers is meant.

    Returns:
        -1 to 1, of `strength` any number; above 0 is more of the first. NaN of nobody.

    Source: WikiMem, section 7.

    Example:
        >>> from types import SimpleNamespace
        >>> ann, bea = SimpleNamespace(id="Ann", cluster="Ann"), SimpleNamespace(id="Bea", cluster="Bea")
        >>> more(([ann], {"Ann": SimpleNamespace(mean=1.0)}), ([bea], {"Bea": SimpleNamespace(mean=0.25)})).value
        0.75
    """
    one, other = ([(one.cluster, _of(found[one.id], reading)) for one in items] for items, found in (first, second))
    difference = mean(value for _, value in one) - mean(value for _, value in other)
    return Rate(difference, difference_interval(one, other, _limits(reading)))


def by_luck(items: Sequence[ProbeItem], found: Mapping[str, Memorization], reading: Reading = "mean") -> float:
    """What scores that know nothing of anybody would come to.

    For `some`, if luck under one template told nothing of luck under another, which is the most that it can be.

    Args:
        items: Whom and what it is over, [items].
        found: By item, what its templates came to; `chance` alone is read.
        reading: Which of its numbers is meant.

    Returns:
        0 to 1; NaN of nobody.

    Example:
        One of two candidates is true: of two templates one is lucky with 1 - (1 - 1/2) ** 2:

        >>> from types import SimpleNamespace
        >>> ann, found = SimpleNamespace(id="Ann", templates=("t", "u")), {"Ann": SimpleNamespace(chance=0.5)}
        >>> by_luck([ann], found), by_luck([ann], found, "some")
        (0.5, 0.75)
    """
    if reading == "some":
        return mean(1 - (1 - found[one.id].chance) ** len(one.templates) for one in items)
    return mean(found[one.id].chance for one in items)


def _limits(reading: Reading) -> tuple[float, float] | None:
    return None if reading == "strength" else (0.0, 1.0)


def _of(one: Memorization, reading: Reading) -> float:
    return float(getattr(one, reading))


def nothing_of(items: Sequence[ProbeItem], found: Mapping[str, Memorization]) -> list[str]:
    """The people of whom nothing is memorized under any template (H_{M=0}), in order.

    Args:
        items: Whom and what it is over, [items].
        found: By item, what its templates came to.

    Returns:
        Their ids.

    Source: WikiMem, section 7.

    Example:
        >>> from types import SimpleNamespace
        >>> items = [SimpleNamespace(id=f"{name}/{at}", cluster=name) for name in ("Ann", "Bea") for at in (1, 2)]
        >>> nothing_of(items, {one.id: SimpleNamespace(some=one.id == "Ann/2") for one in items})
        ['Bea']
    """
    some = {one.cluster for one in items if found[one.id].some}
    return [person for person in dict.fromkeys(one.cluster for one in items) if person not in some]
