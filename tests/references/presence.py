"""Web presence, a person and a column at a time by the statistics module."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def slow_score(people: Sequence[Sequence[float]], at: int) -> float:
    total = 0.0
    for column in range(len(people[at])):
        logs = [math.log(1 + person[column]) for person in people]
        if len(set(logs)) > 1:
            total += (logs[at] - statistics.fmean(logs)) / statistics.pstdev(logs)
    return total / len(people[at])


def slow_cohorts(scores: dict[str, float], size: int) -> tuple[set[str], set[str]]:
    """The highest and the lowest, taken away one at a time; of equal ones the first by id is the higher."""
    high, low, left = set(), set(), dict(scores)
    for _ in range(size):
        best = min(p for p in left if left[p] == max(left.values()))
        high.add(best)
        del left[best]
    for _ in range(size):
        worst = max(p for p in left if left[p] == min(left.values()))
        low.add(worst)
        del left[worst]
    return high, low
