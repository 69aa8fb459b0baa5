"""The table of scores, checkpoints by metrics, and why facts in it have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from uds_bench.scores import Address, Score


@dataclass(frozen=True)
class Gap:
    """Facts of one metric that have no score, for the same reasons in each of these checkpoints."""

    metric: str
    checkpoints: tuple[str, ...]
    reasons: tuple[tuple[str, int], ...]


def gaps(scores: Sequence[Score]) -> list[Gap]:
    """Why facts were not scored, checkpoints with the same answer together."""
    groups: dict[tuple[str, tuple[tuple[str, int], ...]], list[str]] = {}
    for score in scores:
        if score.n_invalid:
            subject = score.checkpoint if score.attack == "none" else f"{score.checkpoint} after {score.attack}"
            reasons = tuple(score.reasons.most_common())
            groups.setdefault((f"{score.metric} {score.variant}".strip(), reasons), []).append(subject)
    return [Gap(metric, tuple(checkpoints), reasons) for (metric, reasons), checkpoints in groups.items()]


@dataclass(frozen=True)
class Pivot:
    """Rows (checkpoint, attack), columns (metric, variant), in the order in which they first appear."""

    subjects: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    cells: Mapping[Address, Score]

    def cell(self, subject: tuple[str, str], column: tuple[str, str]) -> Score | None:
        """The score of a row and a column; None where there is none."""
        return self.cells.get((*subject, *column))


def pivot(scores: Sequence[Score]) -> Pivot:
    """Scores as a table: checkpoints by metrics."""
    return Pivot(
        tuple(dict.fromkeys((score.checkpoint, score.attack) for score in scores)),
        tuple(dict.fromkeys((score.metric, score.variant) for score in scores)),
        {score.address: score for score in scores},
    )
