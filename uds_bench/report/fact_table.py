"""Scores fact by fact: a table a set of facts, what survives first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from uds_bench.figures.score import FactRow, ScoreRow

Wordings = Mapping[str, Mapping[str, str]]
LOW_SURVIVES = ("erasure", "utility")
"""Directions of which a low value is the bad one: not erased, or not kept."""


def fact_tables(scores: Sequence[ScoreRow], wordings: Wordings) -> dict[str, Any] | None:
    """The facts of a checkpoint's scores.

    Args:
        scores: Of one checkpoint.
        wordings: By fact, its question and entity; of facts that are not in it none is shown.

    Returns:
        `tables`, one for each attack and set of facts, with `title`, `columns` and `rows`; a row is id, cluster, kind,
        question, entity, reply and a value a column, or why there is none. Sorted by the first column, what survives
        first. None where no score has facts.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[ScoreRow]] = {}
    for score in scores:
        if score.facts:
            groups.setdefault((score.attack, tuple(fact.id for fact in score.facts)), []).append(score)
    tables = [_table(attack, group, wordings) for (attack, _), group in groups.items()]
    return {"tables": tables} if tables else None


def _table(attack: str, scores: Sequence[ScoreRow], wordings: Wordings) -> dict[str, Any]:
    sign = 1.0 if scores[0].direction in LOW_SURVIVES else -1.0
    rows = [_row(facts, wordings) for facts in zip(*(score.facts for score in scores), strict=True)]
    values = [fact.value for fact in scores[0].facts]
    order = sorted(range(len(rows)), key=lambda at: (values[at] is None, sign * (values[at] or 0.0)))
    names = [f"{score.metric} {score.variant}".strip() for score in scores]
    title = ", ".join(names) + (f" after {attack}" if attack != "none" else "")
    return {"title": title, "columns": names, "rows": [rows[at] for at in order]}


def _row(facts: Sequence[FactRow], wordings: Wordings) -> list[str | float]:
    first, told = facts[0], wordings.get(facts[0].id, {})
    replies = (fact.detail.get("answer") for fact in facts)
    reply = next((reply for reply in replies if isinstance(reply, str)), "")
    values = [fact.reason or "no value" if fact.value is None else round(fact.value, 4) for fact in facts]
    return [first.id, first.cluster, first.kind, told.get("question", ""), told.get("entity", ""), reply, *values]
