"""How much of a person a model holds, over phrasings: M and z* by person (WikiMem, section 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from uds_bench.audits.association.asked import Asked
from uds_bench.audits.association.ranking import Ranked
from uds_bench.statistics import Rate, cluster_bootstrap, mean


@dataclass(frozen=True)
class Held:
    """One person and property over all templates; shares are 0 to 1, higher is more knowledge.

    `mean`: share of templates that it is memorized under (M, the headline); `every`, `some`: whether under all of them,
    or any; `lenient`: the mean where ties count for it; `strength`: mean z* over templates, those without memorization
    among them, since lucky hits have high ones; `chance`: what `mean` would be of scores that know nothing.
    """

    mean: float
    every: bool
    some: bool
    lenient: float
    strength: float
    chance: float


def held(ranks: Sequence[Ranked], truths: int) -> Held:
    """What the templates of one person and property come to. Raises ValueError for none of them."""
    if not ranks:
        raise ValueError("no template: give one or more")
    memorized = [one.memorized for one in ranks]
    return Held(
        mean(map(float, memorized)),
        all(memorized),
        any(memorized),
        mean(float(one.lenient) for one in ranks),
        mean(one.strength for one in ranks),
        mean(truths / one.candidates for one in ranks),
    )


Reading = Literal["mean", "every", "some", "lenient", "strength", "chance"]


def over(asked: Sequence[Asked], found: Mapping[str, Held], reading: Reading = "mean") -> Rate:
    """The mean over some people and properties, its interval over people; NaN of nobody.

    Shares are 0 to 1; `strength` is z*, any number, and counts all properties, memorized or not. Higher is more
    knowledge.
    """
    values = [float(getattr(found[one.id], reading)) for one in asked]
    limits = None if reading == "strength" else (0.0, 1.0)
    return Rate(mean(values), cluster_bootstrap(values, [one.cluster for one in asked], limits=limits))


def nothing_of(asked: Sequence[Asked], found: Mapping[str, Held]) -> list[str]:
    """The people of whom nothing is memorized under any template (H_{M=0}), in order."""
    some = {one.cluster for one in asked if found[one.id].some}
    return [person for person in dict.fromkeys(one.cluster for one in asked) if person not in some]
