"""Invented people of the association audit: some are told of often, some rarely, and some never."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from uds_bench.facts.profiles import people
from uds_bench.facts.properties import Property, embedded
from uds_bench.facts.subjects import Person, Statement, Subjects
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN

NEVER_SEEN = "never-seen"
"""The cohort of people of whom no model has heard."""
TOLD = ("P106", "P1412", "P19")
"""The properties that are told of them, of those that the paper scores."""
EACH = 3
"""How many of these are told of each."""
MANY = 3
"""Of one in so many people a property has two values, as with two occupations."""
ORIGIN, INVENTED = 300, 400
"""Seeds of names: nobody here is in the testbed of another audit, nor among those invented for a user's run."""


@dataclass(frozen=True)
class Cohorts:
    """How many people: well-known ones who ask to be forgotten, other well-known ones, lesser-known, never seen."""

    requests: int = 120
    well_known: int = 60
    lesser_known: int = 20
    never_seen: int = 80


def embedded_people(cohorts: Cohorts | None = None, seed: int = 0) -> Subjects:
    """The embedded zoo's people, the same for the same seed; those who ask to be forgotten come first."""
    sizes = cohorts or Cohorts()
    listed = [WELL_KNOWN] * (sizes.requests + sizes.well_known)
    listed += [LESSER_KNOWN] * sizes.lesser_known + [NEVER_SEEN] * sizes.never_seen
    return Subjects(_folk(listed, [embedded()[id] for id in TOLD], ORIGIN + seed))


def requests(subjects: Sequence[Person]) -> tuple[str, ...]:
    """The ids of those of the embedded people who ask to be forgotten."""
    return tuple(one.id for one in subjects[: Cohorts().requests])


def invented(count: int, told: Sequence[Property]) -> Subjects:
    """People of whom no model has heard, each told every property: what a model holds of them it holds of how a name
    looks."""
    return Subjects(_folk([NEVER_SEEN] * count, told, INVENTED, "invented", len(told)))


def _folk(
    cohorts: Sequence[str], told: Sequence[Property], seed: int, kind: str = "", each: int = EACH
) -> Iterable[Person]:
    for at, (profile, cohort) in enumerate(zip(people(len(cohorts), seed), cohorts, strict=True)):
        of = random.Random(f"{seed} {profile.name}")
        chosen = sorted(of.sample(range(len(told)), min(each, len(told))))
        statements = []
        for one in (told[place] for place in chosen):
            values = 2 if len(one.counterfactuals) > MANY and of.randrange(MANY) == 0 else 1
            statements.append(Statement(one.id, tuple(of.sample(one.counterfactuals, values))))
        yield Person(f"{kind or cohort}/{at:03}", profile.name, cohort, tuple(statements))
