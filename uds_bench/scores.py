"""A score: a recorded metric value with its per-fact values, interval and provenance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, ModelWrapValidatorHandler, TypeAdapter, computed_field, model_validator
from pydantic.dataclasses import dataclass

from uds_bench.json_values import FiniteNumber, Shown
from uds_bench.statistics import ROUNDING_ERROR, Interval, cluster_interval

if TYPE_CHECKING:
    import pandas as pd

    from uds_bench.facts import FactSet
    from uds_bench.metrics.metric import Measure, Measured, Unit

SCHEMA = 1
LEAST_SCORED = 0.5
"""Share of the planned facts that must be scored for a mean over them to stand for the forget set."""
LEARNED, LEAST_LEARNED = "learned", 0.1
"""In the provenance of a score under an attack that teaches: how much it teaches the model about nobody, in nats a
token. Below the least it teaches nothing."""
ADDRESS = ("checkpoint", "attack", "metric", "variant")
"""What tells the scores of a run apart."""
Address = tuple[str, ...]
MOST_CHOICES = 1000
"""So many choices are counted of one fact at most: tokens of an answer, ways to ask."""
FOLLOWS = ("ci", "n_planned", "n_scored", "n_invalid")
"""What a score's JSON says again, for who reads it without this model."""
CONFIG = ConfigDict(extra="forbid", ser_json_inf_nan="constants")


@dataclass(frozen=True, config=CONFIG)
class FactScore:
    """One fact's value; None where it was not scored, with the reason."""

    id: str
    cluster: str
    value: FiniteNumber | None
    reason: str | None = None
    kind: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)
    label: int | None = None


@dataclass(frozen=True, config=CONFIG)
class Score:
    """`value` is the raw metric (never direction-converted), the mean over scored facts; None if there is none."""

    checkpoint: str
    attack: str
    metric: str
    variant: str
    value: FiniteNumber | None
    interval: Shown = None
    per_fact: tuple[FactScore, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @model_validator(mode="wrap")
    @classmethod
    def _given(cls, row: Any, made: ModelWrapValidatorHandler[Score]) -> Score:
        """Of a row what follows from the rest of it is held against that rest."""
        if not isinstance(row, Mapping):
            return made(row)
        score = made({key: value for key, value in row.items() if key not in FOLLOWS})
        for key in FOLLOWS:
            if key in row and row[key] != getattr(score, key):
                raise ValueError(f"{key} is {row[key]}, and by the rest of it {getattr(score, key)}")
        return score

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ci(self) -> list[float] | None:
        """The ends of the interval."""
        return None if self.interval is None else [self.interval.low, self.interval.high]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def n_planned(self) -> int:
        """How many facts were to be scored."""
        return len(self.per_fact)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def n_scored(self) -> int:
        """How many facts have a value."""
        return len(self.scored)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def n_invalid(self) -> int:
        """How many facts have none."""
        return self.n_planned - self.n_scored

    @property
    def address(self) -> Address:
        """By `ADDRESS`."""
        return self.checkpoint, self.attack, self.metric, self.variant

    @property
    def scored(self) -> list[FactScore]:
        """The facts that have a value."""
        return [fact for fact in self.per_fact if fact.value is not None]

    @property
    def counts_choices(self) -> bool:
        """Whether it says that it counts choices, and each of its values is a share of so few that it may."""
        values = [fact.value for fact in self.scored if fact.value is not None]
        shares = [Fraction(value).limit_denominator(MOST_CHOICES) for value in values]
        apart = (abs(value - share) for value, share in zip(values, shares, strict=True))
        return self.provenance.get("counts_choices") is True and all(one < ROUNDING_ERROR for one in apart)

    @property
    def reasons(self) -> Counter[str]:
        """Why facts were not scored, counted."""
        return Counter(fact.reason or "no reason given" for fact in self.per_fact if fact.value is None)

    def named(self, checkpoint: str) -> Score:
        """The same content under the name that a manifest gives it."""
        return replace(self, checkpoint=checkpoint, provenance={**self.provenance, "checkpoint_name": checkpoint})

    def to_json(self) -> dict[str, Any]:
        """As it is stored, for JSON."""
        row: dict[str, Any] = RECORD.dump_python(self, mode="json")
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Score:
        """As it was before it was stored. Raises ValueError for a row that is no score."""
        return RECORD.validate_python(row)


RECORD: TypeAdapter[Score] = TypeAdapter(Score)
ROWS: TypeAdapter[list[Score]] = TypeAdapter(list[Score])


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
            raise ValueError(f"has schema {document.get('schema')!r}, this version reads {SCHEMA}")
        return cls(ROWS.validate_python(document.get("scores")))

    def to_frame(self) -> pd.DataFrame:
        """One row a score: checkpoint, attack, metric, variant, value, low, high, n_planned, n_scored, n_invalid."""
        import pandas as pd

        columns = (*ADDRESS, "value", "low", "high", "n_planned", "n_scored", "n_invalid")
        rows = []
        for score in self._scores:
            low, high = score.ci or (None, None)
            rows.append((*score.address, score.value, low, high, score.n_planned, score.n_scored, score.n_invalid))
        return pd.DataFrame(rows, columns=columns)
