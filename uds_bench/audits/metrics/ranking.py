"""Methods ranked by their best setting, with and without UDS: what UDS changes (UDS guide, section 6.1, table 6)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uds_bench.audits.metrics.aggregates import Standing
from uds_bench.grouping import grouped


@dataclass(frozen=True)
class MethodRank:
    """A method's best Overall and rank (1 is best, ties share the better rank) under both aggregates.

    `shift` > 0: UDS moves it up. `best` and `best_without` name its best setting under each, which may differ.
    """

    method: str
    best_without: str
    overall_without: float
    rank_without: int
    best: str
    overall: float
    rank: int
    shift: int


def rank_methods(standings: Sequence[Standing], method_of: Mapping[str, str]) -> list[MethodRank]:
    """Methods by their best setting's Overall, with and without UDS.

    Args:
        standings: Of models, [models].
        method_of: The method of each model.

    Returns:
        One row a method, best first; rank 1 is best.

    Raises:
        ValueError: A model is of no method, or has an Overall that is not finite.

    Source: UDS guide, section 6.1, table 6.

    Example:
        Without UDS the first method leads, with it the second:

        >>> def model(name, overall, without):
        ...     return Standing(name, 1.0, 1.0, 1.0, 1.0, 1.0, overall, without)
        >>> rows = rank_methods([model("a", 0.5, 0.9), model("b", 0.7, 0.8)], {"a": "SimNPO", "b": "NPO"})
        >>> [(row.method, row.rank_without, row.rank, row.shift) for row in rows]
        [('NPO', 2, 1, 1), ('SimNPO', 1, 2, -1)]
    """
    for one in standings:
        if one.model not in method_of:
            raise ValueError(f"{one.model} belongs to no method: name one")
        if not (math.isfinite(one.overall) and math.isfinite(one.overall_without_uds)):
            raise ValueError(f"{one.model} has no Overall: one of its axes is missing or outside [0, 1]")
    groups = grouped(standings, lambda one: method_of[one.model])
    best = {m: max(group, key=lambda s: s.overall) for m, group in groups.items()}
    without = {m: max(group, key=lambda s: s.overall_without_uds) for m, group in groups.items()}
    now = _ranks({m: s.overall for m, s in best.items()})
    then = _ranks({m: s.overall_without_uds for m, s in without.items()})
    rows = [
        MethodRank(
            m,
            without[m].model,
            without[m].overall_without_uds,
            then[m],
            best[m].model,
            best[m].overall,
            now[m],
            then[m] - now[m],
        )
        for m in groups
    ]
    return sorted(rows, key=lambda row: (row.rank, row.method))


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    return {name: 1 + sum(other > value for other in values.values()) for name, value in values.items()}
