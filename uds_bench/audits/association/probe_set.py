"""Who is asked about, and who of them is to be forgotten."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.facts.exposed_people import NEVER_SEEN
from uds_bench.facts.own_wording import Worded
from uds_bench.facts.templates import MOST_AUXILIARY, contextualized, possessive
from uds_bench.grouping import grouped
from uds_bench.statistics import FEWEST

OF_REQUEST = "/stranger"
"""Stands behind the id of who asks in the ids of strangers of their own."""


@dataclass(frozen=True)
class ProbeSet:
    """`items`: every property of everybody; `forgotten`: the ids of the people who are to be forgotten. `held_out`:
    what is asked of these and of the never-seen in phrasings that no forget set is made of. `alone`: those of them who
    have strangers of their own, so that each is decided by themselves. `requests`: those who asked by a request."""

    items: tuple[ProbeItem, ...]
    forgotten: frozenset[str] = frozenset()
    held_out: tuple[ProbeItem, ...] = ()
    alone: frozenset[str] = frozenset()
    requests: frozenset[str] = frozenset()

    @cached_property
    def cohorts(self) -> dict[str, tuple[ProbeItem, ...]]:
        """By cohort, in order of appearance."""
        names = dict.fromkeys(one.subject.cohort for one in self.items)
        return {name: tuple(one for one in self.items if one.subject.cohort == name) for name in names}

    @cached_property
    def requested(self) -> tuple[ProbeItem, ...]:
        """Of the people who are to be forgotten."""
        return tuple(one for one in self.items if one.subject.id in self.forgotten)

    @property
    def groups(self) -> list[list[ProbeItem]]:
        """Apart: each cohort, the strangers whom all share among them, and each request with its own."""
        found: dict[str, list[ProbeItem]] = {}
        for one in self.items:
            asks = one.subject.id.partition(OF_REQUEST)[0]
            found.setdefault(asks if asks in self.requests else one.subject.cohort, []).append(one)
        return [*found.values()]

    @property
    def each_alone(self) -> bool:
        """Whether everybody who is to be forgotten has strangers of their own."""
        return bool(self.forgotten) and self.forgotten <= self.alone

    @property
    def is_for_few(self) -> bool:
        """Whether each is decided alone: fewer ask than an interval is over, or each has strangers of their own."""
        return self.each_alone or len({one.cluster for one in self.requested}) < FEWEST

    @property
    def never_seen(self) -> tuple[ProbeItem, ...]:
        """Of people of whom no model has heard."""
        return self.cohorts.get(NEVER_SEEN, ())

    @cached_property
    def kept(self) -> tuple[ProbeItem, ...]:
        """Of everybody else."""
        others = (one for one in self.items if one.subject.id not in self.forgotten)
        return tuple(one for one in others if one.subject.cohort != NEVER_SEEN)

    @cached_property
    def seen(self) -> tuple[ProbeItem, ...]:
        """Of all people of whom a model may have heard."""
        return tuple(one for one in self.items if one.subject.cohort != NEVER_SEEN)


def beside_context(items: Sequence[ProbeItem]) -> tuple[ProbeItem, ...]:
    """What is asked of people of whom more than one thing is known, in two templates: the bare sentence on a property,
    and the same behind up to four other facts of the person (WikiMem, section 4). Facts in somebody's own words have
    no such sentences."""
    told = grouped((one for one in items if not isinstance(one.topic, Worded)), lambda one: one.subject.id)
    found = []
    for rows in told.values():
        for one in rows:
            others = [other for other in rows if other is not one]
            if not others:
                continue
            drawn = random.Random(f"context {one.id}").sample(others, min(MOST_AUXILIARY, len(others)))
            auxiliary = [(other.topic.label, other.candidates.truths[0]) for other in drawn]
            behind = contextualized(one.topic.label, auxiliary)
            found.append(replace(one, topic=replace(one.topic, templates=(possessive(one.topic.label), behind))))
    return tuple(found)
