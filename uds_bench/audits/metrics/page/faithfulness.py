"""Faithfulness on the page: does each metric tell models that know from models that never knew?"""

from __future__ import annotations

from uds_bench.audits.metrics.part import MetricsPart
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.histogram import pools
from uds_bench.figures.tables import figures, interval_table, track

CHANCE = 0.5


def table(part: MetricsPart) -> Figure:
    """One row a metric, as the report has them."""
    body = []
    for row in part.rows:
        found, said = row.estimate("faithfulness"), (row.category, row.tags, row.direction)
        missing = row.missing if found[0] is None else ""
        drawn = (track(row.label, *found, mark=CHANCE), figures(*found))
        body.append((row.label, [*said, *drawn, row.cut, row.balanced_accuracy, missing]))
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


def histograms(part: MetricsPart) -> Figure:
    """Both pools of each metric on its axis."""
    drawn = [row for row in part.pools if row.positive and row.negative and len(row.edges) > 1]
    panels = [pools(row.label, row.auc, row.edges, row.positive, row.negative, row.cut) for row in drawn]
    return Figure(
        "The pools, metric by metric",
        "Each model of the pools at its raw value: those that know above the axis, those that never knew below. A "
        "metric that can be trusted leaves no place where both stand. Dashed: the cut with the best balanced "
        "accuracy, which also decides whom robustness counts.",
        tuple(panels),
    )


def draw(part: MetricsPart) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    return [figure for figure in (table(part), histograms(part)) if figure.panels]


CHAPTER = Chapter(
    name="faithfulness",
    title="Faithfulness of the metrics",
    question="Does each metric tell models that know from models that never knew?",
    measures=("faithfulness.uds",),
    limits=(0.0, 1.0),
    ends=("upside down", "tells every pair apart"),
    judge=draw,
)
