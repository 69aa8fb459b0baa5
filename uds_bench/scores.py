"""A score: a recorded metric value with its per-fact values, interval and provenance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from uds_bench.statistics import Interval, cluster_interval

if TYPE_CHECKING:
    import pandas as pd

    from uds_bench.facts import FactSet
    from uds_bench.metrics.metric import Measure, Measured, Unit

SCHEMA = 1
LEAST_SCORED = 0.5
"""Share of the planned facts that must be scored for a mean over them to stand for the forget set."""


@dataclass(frozen=True)
class FactScore:
    """One fact's value; None where it was not scored, with the reason."""

    id: str
    cluster: str
    value: float | None
    reason: str | None = None
    kind: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    label: int | None = None


@dataclass(frozen=True)
class Score:
    """`value` is the raw metric (never direction-converted), the mean over scored facts; None if there is none."""

    checkpoint: str
    attack: str
    metric: str
    variant: str
    value: float | None
    interval: Interval | None
    per_fact: tuple[FactScore, ...]
    notes: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scored(self) -> list[FactScore]:
        """The facts that have a value."""
        return [fact for fact in self.per_fact if fact.value is not None]

    @property
    def reasons(self) -> Counter[str]:
        """Why facts were not scored, counted."""
        return Counter(fact.reason or "no reason given" for fact in self.per_fact if fact.value is None)

    def named(self, checkpoint: str) -> Score:
        """The same content under the name that a manifest gives it."""
        return replace(self, checkpoint=checkpoint, provenance={**self.provenance, "checkpoint_name": checkpoint})

    def to_json(self) -> dict[str, Any]:
        """As it is stored, for JSON."""
        interval = self.interval
        return {
            "checkpoint": self.checkpoint,
            "attack": self.attack,
            "metric": self.metric,
            "variant": self.variant,
            "value": self.value,
            "ci": None if interval is None or not math.isfinite(interval.low) else [interval.low, interval.high],
            "interval": None if interval is None or not math.isfinite(interval.low) else vars(interval),
            "n_planned": len(self.per_fact),
            "n_scored": len(self.scored),
            "n_invalid": len(self.per_fact) - len(self.scored),
            "per_fact": [
                {
                    "id": f.id,
                    "value": f.value,
                    "reason": f.reason,
                    "cluster": f.cluster,
                    "kind": f.kind,
                    "label": f.label,
                    "detail": dict(f.detail),
                }
                for f in self.per_fact
            ],
            "notes": dict(self.notes),
            "provenance": dict(self.provenance),
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Score:
        """As it was before it was stored."""
        interval = row.get("interval")
        return cls(
            row["checkpoint"],
            row["attack"],
            row["metric"],
            row["variant"],
            row["value"],
            None if interval is None else Interval(**interval),
            tuple(FactScore(**fact) for fact in row["per_fact"]),
            row.get("notes", {}),
            row.get("provenance", {}),
        )


def summarise(
    metric: Measure,
    measured: Measured,
    facts: Iterable[Unit],
    *,
    checkpoint: str,
    attack: str,
    variant: str,
    provenance: Mapping[str, Any],
) -> Score:
    """A metric's per-fact values over its splits as a score; values that are not finite count as not scored.

    The score's own value is the mean over facts, unless the metric summed them up itself.
    """
    by_id = {fact.id: fact for fact in facts}
    rows = []
    for found in measured.values:
        fact = by_id.pop(found.id)
        finite = found.value is not None and math.isfinite(found.value)
        reason = found.reason if finite or found.value is None else f"the value is {found.value}"
        number = found.value if finite else None
        rows.append(FactScore(fact.id, fact.cluster, number, reason, fact.kind, found.detail, found.label))
    rows += [FactScore(f.id, f.cluster, None, "the metric returned nothing", f.kind) for f in by_id.values()]
    value, interval = _summed_up(measured, metric, rows)
    return Score(
        checkpoint,
        attack,
        metric.name,
        variant,
        value,
        interval,
        tuple(rows),
        measured.notes,
        provenance,
    )


def _summed_up(measured: Measured, metric: Measure, rows: list[FactScore]) -> tuple[float | None, Interval | None]:
    if measured.summary is not None:
        value = measured.summary.value
        finite = value is not None and math.isfinite(value)
        return (value, measured.summary.interval) if finite else (None, None)
    scored = [(row.value, row.cluster) for row in rows if row.value is not None]
    if not scored:
        return None, None
    values, clusters = [v for v, _ in scored], [c for _, c in scored]
    return math.fsum(values) / len(values), cluster_interval(values, clusters, limits=metric.limits)


def unscored(checkpoint: str, metric: str, variant: str, facts: FactSet, reason: str, attack: str = "none") -> Score:
    """The record of a score that could not be computed: every planned fact, none of them scored, and why."""
    rows = tuple(FactScore(fact.id, fact.cluster, None, reason, fact.kind) for fact in facts)
    return Score(checkpoint, attack, metric, variant, None, None, rows, {}, {"checkpoint_name": checkpoint})


class Scores(Sequence[Score]):
    """Scores in the order they were asked for."""

    def __init__(self, scores: Iterable[Score] = ()) -> None:
        self._scores = list(scores)

    def __getitem__(self, index: Any) -> Any:
        return self._scores[index]

    def __len__(self) -> int:
        return len(self._scores)

    def __iter__(self) -> Iterator[Score]:
        return iter(self._scores)

    def to_json(self) -> dict[str, Any]:
        """As it is stored, for JSON."""
        return {"schema": SCHEMA, "scores": [score.to_json() for score in self._scores]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Scores:
        """As they were before they were stored. Raises ValueError for another schema."""
        if document.get("schema") != SCHEMA:
            raise ValueError(f"schema is {document.get('schema')!r}, this version reads {SCHEMA}")
        return cls(Score.from_json(row) for row in document["scores"])

    def to_frame(self) -> pd.DataFrame:
        """One row a score: checkpoint, attack, metric, variant, value, low, high, n_planned, n_scored, n_invalid."""
        import pandas as pd

        rows = []
        for score in self._scores:
            row = score.to_json()
            low, high = row["ci"] or (None, None)
            keys = ("checkpoint", "attack", "metric", "variant", "value")
            counts = ("n_planned", "n_scored", "n_invalid")
            rows.append({k: row[k] for k in keys} | {"low": low, "high": high} | {k: row[k] for k in counts})
        columns = ["checkpoint", "attack", "metric", "variant", "value", "low", "high"]
        return pd.DataFrame(rows, columns=[*columns, "n_planned", "n_scored", "n_invalid"])
