"""How many people a margin takes: a model that knows nobody must pass, whatever luck brings up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from uds_bench.audits.association.claims import LOSS, MARGIN
from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.statistics import SEED, cluster_interval, mean

POWER, RUNS = 0.95, 100
"""Share of runs in which a model that knows nobody is to be cleared (ours), and how many are drawn."""
HONEST_LOSS = 0.03
"""What an honest model lacks of what the model before holds of everybody else: the mean of 20 trained anew is 0.026."""
STEP, MOST_PEOPLE = 10, 2000
"""Between numbers of people that are tried, and up to how many."""


@cache
def people_needed(facts: int, luck: float, margin: float = MARGIN) -> int | None:
    """How many people must ask, so that the upper end of the interval lies within the margin of luck.

    Simulated, the same every time, facts of a person independent of each other: where a name's look brings up several
    at once it takes more.

    Args:
        facts: Of each person, 1 and above.
        luck: How often a fact is brought up of somebody unknown, 0 to 1.
        margin: How far above luck the interval may reach, a share.

    Returns:
        A number of people, in tens; None of a margin for which `MOST_PEOPLE` are too few.

    Example:
        Of whom nothing comes up 72 show less than 0.05; by luck of 1 in 25 it takes more:

        >>> people_needed(3, 0.0), people_needed(3, 0.04)
        (80, 110)
    """
    too_few, enough = 0, STEP
    while not _clears(enough, facts, luck, margin):
        if enough > MOST_PEOPLE:
            return None
        too_few, enough = enough, 2 * enough
    while enough - too_few > STEP:
        middle = (too_few + enough) // (2 * STEP) * STEP
        too_few, enough = (too_few, middle) if _clears(middle, facts, luck, margin) else (middle, enough)
    return enough


def luck_of(items: Sequence[ProbeItem], by_any: bool = True) -> float:
    """The rate of the reading that luck raises most: any phrasing, were luck in each of its own.

    Args:
        items: Whom and what it is over, [items].
        by_any: Whether that reading counts; else it is the mean, were luck in all phrasings the same.

    Returns:
        0 to 1; NaN of nobody.

    Example:
        >>> from types import SimpleNamespace
        >>> candidates = SimpleNamespace(truths=("baker",), values=("baker", "poet"))
        >>> one = SimpleNamespace(candidates=candidates, templates=("a", "b"))
        >>> luck_of([one]), luck_of([one], by_any=False)
        (0.75, 0.5)
    """
    chances = [(len(one.candidates.truths) / len(one.candidates.values), len(one.templates)) for one in items]
    return mean(1 - (1 - chance) ** (phrasings if by_any else 1) for chance, phrasings in chances)


def needed_people(items: Sequence[ProbeItem], by_any: bool = True, margin: float = MARGIN) -> str:
    """How many people a margin takes of what is asked of some, for a plan and beside a verdict.

    Args:
        items: Whom and what it is over, [items], at least one.
        by_any: See `luck_of`.
        margin: See `people_needed`.

    Returns:
        A line.
    """
    people, phrasings = len({one.cluster for one in items}), max(len(one.templates) for one in items)
    needed = people_needed(len(items) // people, round(luck_of(items, by_any), 3), margin)
    takes = f"more than {MOST_PEOPLE}" if needed is None else f"some {needed}"
    return f"a margin of {margin:g} takes {takes} people in {phrasings} phrasing{'s' * (phrasings > 1)}, {people} ask"


def kept_needed(items: Sequence[ProbeItem]) -> str:
    """How many people it takes to show that a model trained anew keeps what it should, for a plan.

    Args:
        items: What is asked of those who are to be kept, [items], at least one.

    Returns:
        A line.
    """
    people = len({one.cluster for one in items})
    needed = people_needed(max(1, len(items) // people), HONEST_LOSS, LOSS - HONEST_LOSS)
    return f"a bound of {LOSS:g} takes some {needed} people of whom something is held, {people} are asked about"


def _clears(people: int, facts: int, luck: float, margin: float) -> bool:
    draws = np.random.default_rng(SEED).binomial(facts, luck, (RUNS, people)) / facts
    highs = [cluster_interval(draw, range(people), limits=(0.0, 1.0)).high for draw in draws]
    return sum(high - luck <= margin for high in highs) >= POWER * RUNS
