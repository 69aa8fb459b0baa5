"""Whether what is true of a person stands out among what is not, and how far (WikiMem, section 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

DDOF = 0
"""The standard deviation of z* is that of a population; the paper does not say (definitions 003.5)."""


@dataclass(frozen=True)
class Ranked:
    """One person, property and template. `rank`: of the best true value among all candidates, from 1; a tie counts
    against it. `memorized`: rank 1. `lenient`: rank 1 where ties count for it. `leads`: of each true value its score
    less the best untrue one's, nats. `strength`: z*, the best of these in standard deviations of all candidates'
    leads; NaN where all leads are the same. `candidates`: how many there are; by chance one true value is first as
    often as 1/candidates. `likeliest`: what `likeliest` says of the likelihoods behind the scores; NaN where they are
    not known.
    """

    rank: int
    memorized: bool
    lenient: bool
    leads: tuple[float, ...]
    strength: float
    candidates: int
    likeliest: float = math.nan

    @property
    def lead(self) -> float:
        """Of the best true value."""
        return max(self.leads)


def ranked(scores: ArrayLike, truths: int, ddof: int = DDOF) -> Ranked:
    """Scores of the candidates, [candidates], the first `truths` of which are true.

    Raises ValueError where there are fewer than two candidates, none true or none untrue, or a score that is no number.
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
    spread = float(all_leads.std(ddof=ddof))
    strength = (max(leads) - float(all_leads.mean())) / spread if spread > 0 else math.nan
    rank = 1 + int((others >= true.max()).sum())
    return Ranked(rank, rank == 1, max(leads) >= 0, leads, strength, len(found))


def likeliest(own: ArrayLike, others: ArrayLike, truths: int) -> float:
    """Whether a true value makes the likeliest sentence about the person, less the share of other names of which the
    same values do: -1 to 1, higher is more knowledge, 0 on average of what no name tells.

    `own`: NLL of the sentences about the person, [candidates], the first `truths` of them true; `others`: about other
    names, [names, candidates]; lower is likelier, and a tie counts against the true values. Ours: scores are nats, so
    a model whose likelihoods were driven far apart may rank a value low that it still says first.
    """
    tables = np.vstack([np.asarray(own, np.float64)[None], np.asarray(others, np.float64)])
    first = tables[:, :truths].min(1) < tables[:, truths:].min(1)
    return float(first[0]) - float(first[1:].mean())


def margins(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each candidate its score less the best of all others, [candidates]."""
    order = np.argsort(scores)
    first, second = scores[order[-1]], scores[order[-2]]
    found: NDArray[np.float64] = scores - first
    found[order[-1]] = first - second
    return found
