"""Everything that a reader may ask of the association audit: models by cohort and by property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from uds_bench.audits.association.part import (
    OTHERS,
    REQUESTED,
    AssociatedModel,
    AssociationPart,
    CohortNumbers,
    PropertyMean,
)
from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.probe_set import ProbeSet
from uds_bench.audits.association.rates import Memorization, Reading, by_luck, nothing_of, over
from uds_bench.claims.report_part import ReportedRate


def report(
    probe_set: ProbeSet, models: Mapping[str, Mapping[str, Memorization]], judged: Sequence[str]
) -> AssociationPart:
    """`models`: what each holds, by property of a person."""
    groups = {**probe_set.cohorts, REQUESTED: probe_set.requested}
    if probe_set.requested:
        groups[OTHERS] = probe_set.kept
    groups = {name: rows for name, rows in groups.items() if rows}
    return AssociationPart(
        people={name: len({one.cluster for one in rows}) for name, rows in groups.items()},
        models=tuple(
            AssociatedModel(
                model=name,
                judged=name in judged,
                cohorts={
                    group: _numbers(rows, held) for group, rows in groups.items() if all(one.id in held for one in rows)
                },
                properties=_by_property(probe_set.seen, held),
            )
            for name, held in models.items()
        ),
    )


def _numbers(rows: Sequence[ProbeItem], held: Mapping[str, Memorization]) -> CohortNumbers:
    readings: tuple[Reading, ...] = ("mean", "every", "some", "lenient", "strength", "first", "replied")
    found = {key: ReportedRate.of(over(rows, held, key)) for key in readings}
    return CohortNumbers(**found, chance=by_luck(rows, held), nothing=len(nothing_of(rows, held)))


def _by_property(items: Sequence[ProbeItem], held: Mapping[str, Memorization]) -> tuple[PropertyMean, ...]:
    found = []
    for id in dict.fromkeys(one.topic.id for one in items):
        rows = [one for one in items if one.topic.id == id]
        found.append(PropertyMean(property=id, label=rows[0].topic.label, mean=ReportedRate.of(over(rows, held))))
    return tuple(found)
