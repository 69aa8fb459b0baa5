"""Everything that a reader may ask of the association audit as one JSON object: models by cohort and by property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.probe_set import ProbeSet
from uds_bench.audits.association.rates import Memorization, Reading, by_luck, nothing_of, over


def report(
    probe_set: ProbeSet, models: Mapping[str, Mapping[str, Memorization]], judged: Sequence[str]
) -> dict[str, Any]:
    """`models`: what each holds, by property of a person."""
    groups = {**probe_set.cohorts, "to be forgotten": probe_set.requested}
    if probe_set.requested:
        groups["everybody else"] = probe_set.kept
    groups = {name: rows for name, rows in groups.items() if rows}
    return {
        "people": {name: len({one.cluster for one in rows}) for name, rows in groups.items()},
        "models": [
            {
                "model": name,
                "judged": name in judged,
                "cohorts": {
                    group: _numbers(rows, held) for group, rows in groups.items() if all(one.id in held for one in rows)
                },
                "properties": _by_property(probe_set.seen, held),
            }
            for name, held in models.items()
        ],
    }


def _numbers(rows: Sequence[ProbeItem], held: Mapping[str, Memorization]) -> dict[str, Any]:
    readings: tuple[Reading, ...] = ("mean", "every", "some", "lenient", "strength", "first", "replied")
    return {
        **{key: over(rows, held, key).to_json() for key in readings},
        "chance": by_luck(rows, held),
        "nothing": len(nothing_of(rows, held)),
    }


def _by_property(asked: Sequence[ProbeItem], held: Mapping[str, Memorization]) -> list[dict[str, Any]]:
    found = []
    for id in dict.fromkeys(one.told.id for one in asked):
        rows = [one for one in asked if one.told.id == id]
        found.append({"property": id, "label": rows[0].told.label, "mean": over(rows, held).to_json()})
    return found
