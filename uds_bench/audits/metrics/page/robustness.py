"""Robustness on the page: does each metric stay put under quantization, and move as it should under relearning?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uds_bench.audits.metrics.part import BeforeAfter, JudgedRow, MetricsPart
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.scatter import Point, scatter
from uds_bench.figures.spelling import ABSENT
from uds_bench.figures.tables import figures, interval_table, track

ATTACKS = {
    "nf4": (
        "Quantization (NF4)",
        "A metric that measures knowledge stays on the solid line y = x: rounding the weights teaches nothing.",
    ),
    "relearn": (
        "Relearning",
        "Relearning teaches the retain model (diamond) too. A metric that measures what was left moves every model as "
        "it moves the retain model: to the dashed line, y = x + change of the retain model. Solid: y = x.",
    ),
}


def _kept(row: JudgedRow) -> str:
    kept, useless, knowing = row.n_kept, row.n_useless, row.n_knowing
    if kept is None or useless is None or knowing is None:
        return ABSENT
    left = [f"{useless} useless"] * bool(useless) + [f"{knowing} still know"] * bool(knowing)
    return f"{kept} of {kept + useless + knowing}" + (f" ({', '.join(left)})" if left else "")


def robustness(found: Sequence[JudgedRow], title: str, caption: str) -> Figure:
    """Q, R and Rob of each metric, a row a metric."""
    body: list[tuple[str, list[Any]]] = []
    for row in found:
        rob = row.estimate("rob")
        cells: list[Any] = [*(figures(*row.estimate(part)) for part in ("q", "r")), track(f"Rob of {row.label}", *rob)]
        cells += [figures(*rob), figures(*row.estimate("overall")), row.one_sided_q, row.one_sided_r, _kept(row)]
        body.append((row.label, [*cells, row.missing if rob[0] is None else ""]))
    head = ("metric", "Q", "R", "0 to 1", "Rob", "Overall", "Q one-sided", "R one-sided", "counted", "missing")
    return Figure(title, caption, interval_table(head, body), wide=True)


def moves(part: MetricsPart, attack: str) -> Figure:
    """Every metric before and after one attack, model by model."""
    panels = []
    for row in part.attacks:
        found = [(one.model, _point(one.model, one, one.why)) for one in row.points]
        points = [point for _, point in found if point is not None]
        lost = [name for name, point in found if point is None]
        if row.attack == attack and points:
            shift = row.shift if attack == "relearn" else None
            panels.append(scatter(row.label, points, shift, _point("retain", row.retain), lost))
    title, told = ATTACKS[attack]
    return Figure(
        f"{title}, before and after",
        f"{told} Raw values. Filled points count for robustness; rings are left out (point at one for the reason).",
        tuple(panels),
    )


def _point(name: str, row: BeforeAfter, why: str = "") -> Point | None:
    if row.before is None or row.after is None:
        return None
    return Point(name, row.before, row.after, why)


def draw(part: MetricsPart) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    found = [
        robustness(
            part.rows,
            "Robustness of every metric",
            "Q: 1 if quantization leaves the metric where it was. R: 1 if relearning moves it as it moves the retain "
            "model. Rob is their harmonic mean, with the bar its 95% interval over models; Overall that of "
            "faithfulness and Rob. The one-sided forms, by which a fall counts as perfect, stand beside them to show "
            "what they miss. Counted: candidates that are useful and that the metric itself calls forgotten.",
        ),
        robustness(
            part.unfiltered,
            "Robustness without the filters",
            "The same over every candidate, useful or not, forgotten or not.",
        ),
        *(moves(part, attack) for attack in ATTACKS),
    ]
    return [figure for figure in found if figure.panels]


CHAPTER = Chapter(
    name="robustness",
    title="Robustness of the metrics",
    question="Does each metric stay put under quantization, and move as the retain model's does under relearning?",
    measures=("robustness.uds", "robustness.proxy"),
    limits=(0.0, 1.0),
    ends=("an attack undoes it", "stays as it should"),
    judge=draw,
)
