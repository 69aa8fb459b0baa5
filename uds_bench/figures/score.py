"""A score as the page shows it, and the table checkpoints x metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uds_bench.figures.reading import Interval, interval, number, rows, table, text, whole


@dataclass(frozen=True)
class FactRow:
    """One fact's value; None where it was not scored, with the reason."""

    id: str
    value: float | None
    reason: str
    kind: str
    detail: Mapping[str, Any]
    cluster: str = ""


@dataclass(frozen=True)
class ScoreRow:
    """One row of `scores` in the run report; `direction`: what a higher value means."""

    checkpoint: str
    attack: str
    metric: str
    variant: str
    value: float | None
    interval: Interval | None
    planned: int | None
    scored: int | None
    facts: tuple[FactRow, ...]
    direction: str = ""

    @property
    def complete(self) -> bool:
        """Whether every planned fact was scored."""
        return self.planned is not None and self.planned == self.scored

    @property
    def reasons(self) -> tuple[tuple[str, int], ...]:
        """Why facts were not scored, the most common reason first."""
        reasons = Counter(fact.reason or "no reason given" for fact in self.facts if fact.value is None)
        return tuple(reasons.most_common())


def _fact(row: Mapping[str, Any]) -> FactRow:
    return FactRow(
        text(row.get("id")),
        number(row.get("value")),
        text(row.get("reason")),
        text(row.get("kind")),
        table(row.get("detail")),
        text(row.get("cluster")),
    )


def _score(row: Mapping[str, Any]) -> ScoreRow:
    return ScoreRow(
        checkpoint=text(row.get("checkpoint")) or "unnamed",
        attack=text(row.get("attack")) or "none",
        metric=text(row.get("metric")) or "unnamed",
        variant=text(row.get("variant")),
        value=number(row.get("value")),
        interval=interval(row.get("ci")),
        planned=whole(row.get("n_planned")),
        scored=whole(row.get("n_scored")),
        facts=tuple(_fact(fact) for fact in rows(row.get("per_fact"))),
        direction=text(table(row.get("provenance")).get("direction")),
    )


def read_scores(found: Any) -> tuple[ScoreRow, ...]:
    """The scores of a run report, as far as they can be shown."""
    return tuple(_score(row) for row in rows(found))


@dataclass(frozen=True)
class Gap:
    """Facts of one metric that have no score, for the same reasons in each of these checkpoints."""

    metric: str
    checkpoints: tuple[str, ...]
    reasons: tuple[tuple[str, int], ...]


def gaps(scores: Sequence[ScoreRow]) -> list[Gap]:
    """Why facts were not scored, checkpoints with the same answer together."""
    groups: dict[tuple[str, tuple[tuple[str, int], ...]], list[str]] = {}
    for score in scores:
        if not score.complete:
            subject = score.checkpoint if score.attack == "none" else f"{score.checkpoint} after {score.attack}"
            groups.setdefault((f"{score.metric} {score.variant}".strip(), score.reasons), []).append(subject)
    return [Gap(metric, tuple(checkpoints), reasons) for (metric, reasons), checkpoints in groups.items()]


@dataclass(frozen=True)
class Pivot:
    """Rows (checkpoint, attack), columns (metric, variant), in the order in which they first appear."""

    subjects: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    cells: Mapping[tuple[str, str, str, str], ScoreRow]

    def cell(self, subject: tuple[str, str], column: tuple[str, str]) -> ScoreRow | None:
        """The score of a row and a column; None where there is none."""
        return self.cells.get((*subject, *column))


def pivot(scores: Sequence[ScoreRow]) -> Pivot:
    """Scores as a table: checkpoints by metrics."""
    return Pivot(
        tuple(dict.fromkeys((score.checkpoint, score.attack) for score in scores)),
        tuple(dict.fromkeys((score.metric, score.variant) for score in scores)),
        {(score.checkpoint, score.attack, score.metric, score.variant): score for score in scores},
    )
