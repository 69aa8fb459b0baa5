"""Robustness on the page: does each metric stay put under quantization, and move as it should under relearning?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.reading import ABSENT, number, rows, table, text, whole
from uds_bench.figures.scatter import Point, scatter
from uds_bench.figures.tables import estimate, figures, interval_table, track

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


def _kept(row: Mapping[str, Any]) -> str:
    kept, useless, knowing = (whole(row.get(f"n_{word}")) for word in ("kept", "useless", "knowing"))
    if kept is None or useless is None or knowing is None:
        return ABSENT
    left = [f"{useless} useless"] * bool(useless) + [f"{knowing} still know"] * bool(knowing)
    return f"{kept} of {kept + useless + knowing}" + (f" ({', '.join(left)})" if left else "")


def robustness(found: Sequence[Mapping[str, Any]], title: str, caption: str) -> Figure:
    """Q, R and Rob of each metric, a row a metric."""
    body = []
    for row in found:
        name = text(row.get("label")) or text(row.get("metric"))
        rob, overall = estimate(row, "rob"), estimate(row, "overall")
        parts = [figures(*estimate(row, part)) for part in ("q", "r")]
        ones = [number(row.get(part)) for part in ("one_sided_q", "one_sided_r")]
        missing = text(row.get("missing")) if rob[0] is None else ""
        cells = [*parts, track(f"Rob of {name}", *rob), figures(*rob), figures(*overall), *ones, _kept(row), missing]
        body.append((name, cells))
    head = ("metric", "Q", "R", "0 to 1", "Rob", "Overall", "Q one-sided", "R one-sided", "counted", "missing")
    return Figure(title, caption, interval_table(head, body), wide=True)


def moves(meta: Mapping[str, Any], attack: str) -> Figure:
    """Every metric before and after one attack, model by model."""
    panels = []
    for row in rows(meta.get("attacks")):
        found = [(_name(entry), _point(entry)) for entry in rows(row.get("points"))]
        points = [point for _, point in found if point is not None]
        lost = [name for name, point in found if point is None]
        if row.get("attack") == attack and points:
            retain = _point({"model": "retain", **table(row.get("retain"))})
            shift = number(row.get("shift")) if attack == "relearn" else None
            panels.append(scatter(text(row.get("label")) or text(row.get("metric")), points, shift, retain, lost))
    title, told = ATTACKS[attack]
    return Figure(
        f"{title}, before and after",
        f"{told} Raw values. Filled points count for robustness; rings are left out (point at one for the reason).",
        tuple(panels),
    )


def _point(row: Mapping[str, Any]) -> Point | None:
    before, after = number(row.get("before")), number(row.get("after"))
    if before is None or after is None:
        return None
    return Point(_name(row), before, after, text(row.get("why")))


def _name(row: Mapping[str, Any]) -> str:
    return text(row.get("model")) or "unnamed"


def draw(meta: Mapping[str, Any]) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    found = [
        robustness(
            rows(meta.get("rows")),
            "Robustness of every metric",
            "Q: 1 if quantization leaves the metric where it was. R: 1 if relearning moves it as it moves the retain "
            "model. Rob is their harmonic mean, with the bar its 95% interval over models; Overall that of "
            "faithfulness and Rob. The one-sided forms, by which a fall counts as perfect, stand beside them to show "
            "what they miss. Counted: candidates that are useful and that the metric itself calls forgotten.",
        ),
        robustness(
            rows(meta.get("unfiltered")),
            "Robustness without the filters",
            "The same over every candidate, useful or not, forgotten or not.",
        ),
        *(moves(meta, attack) for attack in ATTACKS),
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
    part="metrics",
)
