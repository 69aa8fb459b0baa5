"""Scores as tables: checkpoints by metrics, with why facts have none; and fact by fact, what survives first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uds_bench.grouping import grouped
from uds_bench.scores import Address, FactScore, Score

Wordings = Mapping[str, Mapping[str, str]]
LOW_SURVIVES = ("erasure", "utility")
"""Directions of which a low value is the bad one: not erased, or not kept."""
SURVIVES = "survives"
"""What a fact's detail may say of it, where its values do not."""


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


def fact_tables(scores: Sequence[Score], wordings: Wordings) -> dict[str, Any] | None:
    """The facts of a checkpoint's scores.

    Args:
        scores: Of one checkpoint.
        wordings: By fact, its question and entity; of facts that are not in it none is shown.

    Returns:
        `tables`, one for each attack and set of facts, with `title`, `columns` and `rows`; a row is id, cluster, kind,
        question, entity, reply and a value a column, or why there is none. Sorted by the first column, what survives
        first: 1 or 0 where a reply says so of each fact, else the first score. None where no score has facts.
    """
    of_facts = [score for score in scores if score.per_fact]
    groups = grouped(of_facts, lambda score: (score.attack, tuple(fact.id for fact in score.per_fact)))
    tables = [_table(attack, group, wordings) for (attack, _), group in groups.items()]
    return {"tables": tables} if tables else None


def _table(attack: str, scores: Sequence[Score], wordings: Wordings) -> dict[str, Any]:
    each = list(zip(*(score.per_fact for score in scores), strict=True))
    survives = [_survives(facts) for facts in each]
    is_told = any(found is not None for found in survives)
    values = survives if is_told else [facts[0].value for facts in each]
    sign = 1.0 if scores[0].provenance.get("direction") in LOW_SURVIVES and not is_told else -1.0
    order = sorted(range(len(each)), key=lambda at: (values[at] is None, sign * (values[at] or 0.0)))
    rows = [_row(each[at], wordings, [_shown(values[at], "not told")] if is_told else []) for at in order]
    names = [f"{score.metric} {score.variant}".strip() for score in scores]
    title = ", ".join(names) + (f" after {attack}" if attack != "none" else "")
    return {"title": title, "columns": [SURVIVES, *names] if is_told else names, "rows": rows}


def _row(facts: Sequence[FactScore], wordings: Wordings, before: list[str | float]) -> list[str | float]:
    first, told = facts[0], wordings.get(facts[0].id, {})
    replies = (fact.detail.get("answer") for fact in facts)
    reply = next((reply for reply in replies if isinstance(reply, str)), "")
    asked = (told.get("question", ""), told.get("entity", ""))
    values = [_shown(fact.value, fact.reason or "") for fact in facts]
    return [first.id, first.cluster, first.kind or "", *asked, reply, *before, *values]


def _survives(facts: Sequence[FactScore]) -> float | None:
    """1 or 0 where a detail says it; None where none does."""
    said = (fact.detail.get(SURVIVES) for fact in facts)
    return next((float(one) for one in said if isinstance(one, bool)), None)


def _shown(value: float | None, reason: str) -> str | float:
    return reason or "no value" if value is None else round(value, 4)
