"""Faithfulness on the page: does each metric tell models that know from models that never knew?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.histogram import pools
from uds_bench.figures.reading import ABSENT, number, numbers, rows, text
from uds_bench.figures.tables import estimate, figures, interval_table, track

CHANCE = 0.5


def table(meta: Mapping[str, Any]) -> Figure:
    """One row a metric, as the report has them."""
    body = []
    for row in rows(meta.get("rows")):
        name, found = text(row.get("label")) or text(row.get("metric")), estimate(row, "faithfulness")
        numbers_of = [number(row.get(key)) for key in ("cut", "balanced_accuracy")]
        said = [text(row.get(key)) or ABSENT for key in ("category", "tags", "direction")]
        missing = text(row.get("missing")) if found[0] is None else ""
        body.append((name, [*said, track(name, *found, mark=CHANCE), figures(*found), *numbers_of, missing]))
    head = ("metric", "kind", "reads", "higher is more", "0 to 1", "AUC", "cut", "accuracy there", "missing")
    return Figure(
        "Faithfulness of every metric",
        "AUC: how often a metric puts a model that knows on the right side of one that never knew; 1 always, 0.5 "
        "(dashed) a coin. The bar is its 95% interval over models. The cut is the value that tells the pools apart "
        "best, and the accuracy how well. O reads outputs, R needs the retain model, I reads internals. The "
        "direction is declared, never fitted: a metric that tells the wrong way round lies left of the dashed line.",
        interval_table(head, body),
        wide=True,
    )


def histograms(meta: Mapping[str, Any]) -> Figure:
    """Both pools of each metric on its axis."""
    panels = []
    for row in rows(meta.get("pools")):
        edges, know, never = (numbers(row.get(key)) for key in ("edges", "positive", "negative"))
        if edges and know and never and len(edges) > 1:
            name = text(row.get("label")) or text(row.get("metric"))
            panels.append(pools(name, number(row.get("auc")), edges, know, never, number(row.get("cut"))))
    return Figure(
        "The pools, metric by metric",
        "Each model of the pools at its raw value: those that know above the axis, those that never knew below. A "
        "metric that can be trusted leaves no place where both stand. Dashed: the cut with the best balanced "
        "accuracy, which also decides whom robustness counts.",
        tuple(panels),
    )


def draw(meta: Mapping[str, Any]) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    return [figure for figure in (table(meta), histograms(meta)) if figure.panels]


CHAPTER = Chapter(
    name="faithfulness",
    title="Faithfulness of the metrics",
    question="Does each metric tell models that know from models that never knew?",
    measures=("faithfulness.uds",),
    limits=(0.0, 1.0),
    ends=("upside down", "tells every pair apart"),
    judge=draw,
    part="metrics",
)
