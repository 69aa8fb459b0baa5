"""Ranks of what is true of people, from likelihoods of sentences, whoever gives them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.ranking import ALPHA, Ranked, calibrated, ranked
from uds_bench.statistics import finite_or_none

Likelihoods = Callable[[Sequence[str]], NDArray[np.float64]]
"""Sentences -> -log p of each, nats."""
TOGETHER = 60
"""Properties of people whose sentences are scored together: names are shared, memory is not without end."""


def scored(items: Sequence[ProbeItem], likelihoods: Likelihoods, alpha: float = ALPHA) -> Iterator[list[Ranked]]:
    """For each property of a person, in order, its rank under each template.

    Args:
        items: What is asked about, [items].
        likelihoods: From sentences to NLL of each, nats.
        alpha: The weight of the similar names.

    Yields:
        For each item [templates] ranks.

    Source: WikiMem, section 5.

    Example:
        Two names, two candidates, and scores of 3 - 1 and 3 - 3:

        >>> from types import SimpleNamespace
        >>> values = SimpleNamespace(truths=("biologist",), values=("biologist", "pilot"))
        >>> texts = [f"{name} is a {value}." for name in ("Ada", "Bo") for value in values.values]
        >>> item = SimpleNamespace(generic=False, candidates=values, shape=(1, 2, 2), sentences=lambda: texts)
        >>> [[one.rank for one in found] for found in scored([item], lambda _: np.array([1.0, 3.0, 3.0, 3.0]))]
        [[1]]
    """
    for start in range(0, len(items), TOGETHER):
        some = items[start : start + TOGETHER]
        found = likelihoods([sentence for one in some for sentence in one.sentences()])
        first = 0
        for one in some:
            size = int(np.prod(one.shape))
            yield [ranks(one, table, alpha) for table in found[first : first + size].reshape(one.shape)]
            first += size


def ranks(one: ProbeItem, table: NDArray[np.float64], alpha: float = ALPHA) -> Ranked:
    """One template's rank from the likelihoods of its sentences.

    Args:
        one: A property of a person.
        table: NLL, [names, candidates], nats: the person's, those of similar names, and nobody's where it is asked for.
        alpha: The weight of the similar names.

    Returns:
        The rank of what is true, the value of rank 1, and the one that makes the likeliest sentence about the person.

    Source: WikiMem, section 5.

    Example:
        Scores of 3 - 1 and 3 - 3:

        >>> from types import SimpleNamespace
        >>> values = SimpleNamespace(truths=("biologist",), values=("biologist", "pilot"))
        >>> item = SimpleNamespace(generic=False, candidates=values)
        >>> found = ranks(item, np.array([[1.0, 3.0], [3.0, 3.0]]))
        >>> found.rank, found.leads, found.leader, found.said
        (1, (2.0,), 'biologist', 'biologist')
    """
    similar, generic = (table[1:-1], table[-1]) if one.generic else (table[1:], None)
    truths = len(one.candidates.truths)
    scores = calibrated(table[0], similar, generic, alpha)
    values = one.candidates.values
    return replace(ranked(scores, truths), said=_best(values, -table[0]), leader=_best(values, scores))


def _best(values: Sequence[str], scores: NDArray[np.float64]) -> str | None:
    best = np.flatnonzero(scores == scores.max())
    return values[best[0]] if len(best) == 1 else None


def to_json(found: Sequence[Ranked]) -> list[dict[str, Any]]:
    """One object a template; a z* that is none is None."""
    return [{**asdict(one), "strength": finite_or_none(one.strength)} for one in found]


def from_json(rows: Sequence[Mapping[str, Any]]) -> list[Ranked]:
    """The ranks that `to_json` wrote.

    Args:
        rows: One a template.

    Returns:
        [templates] ranks, a strength of null as NaN.

    Example:
        >>> one = Ranked(rank=1, memorized=True, lenient=True, leads=(0.5,), strength=0.25, candidates=8)
        >>> from_json(to_json([one])) == [one]
        True
    """
    found = []
    for row in rows:
        strength = math.nan if row["strength"] is None else row["strength"]
        # A row without a value is an error: taken for None, it would say that nothing true comes first.
        values = {key: row[key] for key in ("leader", "said")}
        found.append(Ranked(**{**row, "leads": tuple(row["leads"]), "strength": strength, **values}))
    return found
