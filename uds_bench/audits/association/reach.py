"""How far a person reaches above strangers who are told the same, or below them, by all facts together.

A mean over facts hides two facts that are left beside one that is forgotten. Here each fact counts by how seldom luck
would put it so high. What is said first, or told in a reply, counts as first, wherever values of similar names put it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
Side = Literal["above", "below", ""]
SAID = 0.5
"""Share of phrasings under which it must be first, for a fact to count as said (ours)."""
DIGITS = 9
"""To which sums of logarithms are compared: another order of the same terms is no other number."""


@dataclass(frozen=True)
class Shown:
    """What a model shows of names of whom the same facts are told, the person's first, [names, facts].

    `standing`: of the truth among all values, 0 to 1; `lead`: over the best other value, nats; `mean`, `first`: share
    of phrasings under which it ranks first, or is said first or in a reply, 0 to 1. All are higher with more knowledge.
    `chance`: how often luck ranks a fact first, by the number of its values, [facts], 0 to 1.
    """

    standing: Numbers
    lead: Numbers
    mean: Numbers
    first: Numbers
    chance: Numbers

    @property
    def is_known(self) -> bool:
        """Whether every number is finite."""
        tables = (self.standing, self.lead, self.mean, self.first, self.chance)
        return all(bool(np.isfinite(one).all()) for one in tables)

    @property
    def luck(self) -> Numbers:
        """How often a fact is said first of whom nothing is held, [facts]: by the number of its values, or as often as
        names are guessed right, whichever is oftener."""
        return np.asarray(np.maximum(self.chance, (self.first >= SAID).mean(axis=0)))

    @property
    def above(self) -> Numbers:
        """How unlikely it is to stand so high by luck, [names], nats summed over facts; higher is more knowledge."""
        # Of as many places as luck has, the middle of the first: as standings are reckoned.
        return _unlikely(np.minimum(1 - self.standing, np.where(self.first >= SAID, self.luck / 2, 1.0)))

    @property
    def below(self) -> Numbers:
        """How unlikely it is to stand so low by luck, [names], nats summed over facts; higher is less knowledge."""
        return _unlikely(self.standing)


def _unlikely(shares: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(shares).sum(axis=1).round(DIGITS))


def rank_test(own: Shown, beside: Shown | None = None) -> tuple[float, Side, int]:
    """Exact rank test of a person among strangers over all facts, two-sided: were the person one of them, each place
    would be as likely. Of those who reach as far the lead decides.

    Args:
        own: What a model shows of the person and of strangers.
        beside: The same of another model, whose strangers take the place of these.

    Returns:
        p, 0 to 1, lower is further apart, and 1 of no strangers; the side; and the rank, from 1, lower is more
        knowledge, ties counted against the person. NaN, "" and 0 of a number that is none.

    Example:
        Two facts of three are left; their mean, 0.8, is one that a stranger has:

        >>> facts = np.array([[0.95, 0.95, 0.5], [0.8, 0.8, 0.8], [0.5, 0.4, 0.6], [0.2, 0.5, 0.4]])
        >>> rank_test(Shown(facts, *[np.zeros_like(facts)] * 3, np.full(3, 0.1)))
        (0.5, 'above', 1)
    """
    others = own if beside is None else beside
    if not (own.is_known and others.is_known):
        return math.nan, "", 0
    lead, leads = own.lead.sum(axis=1)[0], others.lead.sum(axis=1)[1:]
    above = _reach(others.above[1:], leads, own.above[0], lead)
    below = _reach(others.below[1:], -leads, own.below[0], -lead)
    p = min(1.0, 2 * (1 + min(above, below)) / (1 + len(leads)))
    return p, "" if p == 1 else "above" if above < below else "below", 1 + above


def _reach(reaches: Numbers, leads: Numbers, reach: float, lead: float) -> int:
    """How many reach as far, or further."""
    return int(((reaches > reach) | ((reaches == reach) & (leads >= lead))).sum())


def by_luck(luck: ArrayLike, said: int) -> float:
    """How often luck says so many facts, or more.

    Args:
        luck: How often it says each, [facts], 0 to 1.
        said: How many.

    Returns:
        0 to 1, lower is more knowledge; NaN of a share that is none.

    Example:
        >>> by_luck([0.5, 0.5], 1), by_luck([0.5, 0.5], 0)
        (0.75, 1.0)
    """
    counts = np.ones(1)
    for share in np.asarray(luck, dtype=float):
        counts = np.convolve(counts, [1 - share, share])
    return float(min(counts[said:].sum(), 1.0))
