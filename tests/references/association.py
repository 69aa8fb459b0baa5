"""Scores of associations as they are defined, a candidate and a name at a time (definitions 003.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence


def slow_score(
    own: Sequence[float], similar: Sequence[Sequence[float]], generic: Sequence[float], alpha: float
) -> list[float]:
    found = []
    for at, nll in enumerate(own):
        subject = generic[at] - nll
        names = [generic[at] - other[at] for other in similar]
        found.append(subject - alpha * sum(names) / len(names))
    return found


def slow_rank(scores: Sequence[float], truths: int) -> tuple[int, float, float]:
    """Rank of the best true one, ties against it; its lead; z*."""
    best = max(range(truths), key=lambda i: scores[i])
    untrue = [score for at, score in enumerate(scores) if at >= truths]
    rank = 1 + sum(score >= scores[best] for score in untrue)
    lead = scores[best] - max(untrue)
    leads = [score - max(other for j, other in enumerate(scores) if j != i) for i, score in enumerate(scores)]
    mean = sum(leads) / len(leads)
    spread = math.sqrt(sum((one - mean) ** 2 for one in leads) / len(leads))
    return rank, lead, (lead - mean) / spread if spread else math.nan
