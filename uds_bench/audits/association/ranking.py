"""Whether what is true of a person stands out among what is not, and how far (WikiMem, section 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Ranked:
    """One person, property and template. `rank`: of the best true value among all candidates, from 1; a tie counts
    against it. `memorized`: rank 1. `lenient`: rank 1 where ties count for it. `leads`: of each true value its score
    less the best untrue one's, nats. `strength`: z*, the best of these in standard deviations of all candidates'
    leads; NaN where all leads are the same. `candidates`: how many there are; by chance one true value is first as
    often as 1/candidates. `leader`: the value of rank 1; `said`: the one that makes the likeliest sentence about the
    person, by likelihood alone; None where two share the place, or where it is not known.
    """

    rank: int
    memorized: bool
    lenient: bool
    leads: tuple[float, ...]
    strength: float
    candidates: int
    said: str | None = None
    leader: str | None = None

    @property
    def lead(self) -> float:
        """Score of the best true value less the best untrue one's, nats."""
        return max(self.leads)

    @property
    def standing(self) -> float:
        """Share of all orders of the candidates, ties by halves, that put the best true value below this rank.

        0 to 1; higher is more knowledge, and 0.5 the mean of scores that know nothing, however many values are true.
        """
        true, count = len(self.leads), self.candidates
        below, here = (math.comb(count - rank, true) for rank in (self.rank, self.rank - 1))
        return (below + here) / (2 * math.comb(count, true))


def ranked(scores: ArrayLike, truths: int) -> Ranked:
    """Whether the best true value stands first among all candidates, and how far.

    Args:
        scores: Of the candidates, [candidates], nats, the first `truths` of which are true.
        truths: How many are true.

    Returns:
        Rank from 1, lower is more knowledge; leads in nats and z* in standard deviations, higher is more knowledge.

    Raises:
        ValueError: Fewer than two candidates, none true or none untrue, or a score that is no number.

    Source: WikiMem, section 5.

    Example:
        Leads of 2 and -2, of mean 0 and standard deviation 2:

        >>> found = ranked([3.0, 1.0], truths=1)
        >>> found.rank, found.leads, found.strength
        (1, (2.0,), 1.0)
    """
    found = np.asarray(scores, np.float64)
    if not 1 <= truths < len(found):
        raise ValueError(f"{truths} true of {len(found)} candidates: give at least one of each")
    if not np.isfinite(found).all():
        raise ValueError("a score is no number")
    true, others = found[:truths], found[truths:]
    # Other true values are no rivals: each has its place among the untrue ones.
    leads = tuple(map(float, true - others.max()))
    all_leads = margins(found)
    spread = float(all_leads.std())  # that of a population; the paper does not say
    strength = (max(leads) - float(all_leads.mean())) / spread if spread > 0 else math.nan
    rank = 1 + int((others >= true.max()).sum())
    return Ranked(rank, rank == 1, max(leads) >= 0, leads, strength, len(found))


def margins(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each candidate its score less the best of all others.

    Args:
        scores: Of the candidates, [candidates], nats.

    Returns:
        [candidates], nats, above 0 for the best alone.

    Source: WikiMem, section 5, Delta_i.

    Example:
        >>> margins(np.array([2.0, 5.0, 1.0])).tolist()
        [-3.0, 3.0, -4.0]
    """
    order = np.argsort(scores)
    first, second = scores[order[-1]], scores[order[-2]]
    found: NDArray[np.float64] = scores - first
    found[order[-1]] = first - second
    return found


Scores = NDArray[np.float64]
ALPHA = 1.0
"""The weight of the similar names (section 5)."""


def calibrated(own: ArrayLike, similar: ArrayLike, generic: ArrayLike | None = None, alpha: float = ALPHA) -> Scores:
    """s(h, v) of each candidate value: how much likelier its sentence is about a person than about similar names.

        s = (NLL(h0, v) - NLL(h, v)) - alpha * mean over names of (NLL(h0, v) - NLL(name, v))

    What is the same for all candidates shifts all scores alike.

    Args:
        own: NLL(h, v), [candidates], nats.
        similar: NLL of the same sentences about similar names, [names, candidates], nats.
        generic: The same about nobody, [candidates], nats; read only where alpha is not 1.
        alpha: The weight of the similar names.

    Returns:
        [candidates], nats; any sign, higher is more knowledge.

    Raises:
        ValueError: Names are needed and there are none, or alpha is not 1 and `generic` is not given.

    Source: WikiMem, section 5.

    Example:
        Means of 3 and 5 over the names, less 1 and 6:

        >>> calibrated([1.0, 6.0], [[2.0, 4.0], [4.0, 6.0]]).tolist()
        [2.0, -1.0]
    """
    of_h, of_names = np.asarray(own, np.float64), np.asarray(similar, np.float64)
    if alpha and not len(of_names):
        raise ValueError("no similar name: give one, or alpha 0")
    found = -of_h
    if alpha:
        found = found + alpha * of_names.mean(0)
    if alpha != 1:
        if generic is None:
            raise ValueError(f"alpha {alpha:g} reads sentences about nobody: give them")
        found = found + (1 - alpha) * np.asarray(generic, np.float64)
    return found
