"""Methods ranked: what UDS changes in who looks private."""

from __future__ import annotations

from uds_bench.audits.metrics.part import MetricsPart
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.tables import interval_table

AXES = ("mem", "mia", "uds", "privacy", "utility", "overall_without_uds", "overall")


def ranks(part: MetricsPart) -> Figure:
    """Methods ranked without UDS and with it."""
    body: list[tuple[str, list[str | float | None]]] = []
    for row in part.ranks:
        moved = f"{'▲' if row.shift > 0 else '▼'} {abs(row.shift)}" if row.shift else "="
        was, now = (
            [row.overall_without, str(row.rank_without), row.best_without],
            [row.overall, str(row.rank), row.best],
        )
        body.append((row.method, [*was, *now, moved]))
    columns = ("rank", "best setting")
    head = ("method", "Overall without UDS", *columns, "Overall with UDS", *columns, "shift")
    return Figure(
        "Methods ranked, without and with UDS",
        "Each method by its best setting. Overall is the harmonic mean of Mem, Privacy and relative utility; without "
        "UDS Privacy is membership inference alone. ▲: UDS moves the method up; ▼: it looked better than it is. No "
        "interval: ranks next to each other may differ by chance.",
        interval_table(head, body),
        wide=True,
    )


def standings(part: MetricsPart) -> Figure:
    """The axes of each candidate."""
    body: list[tuple[str, list[str | float | None]]] = [
        (row.model, [row.method, *(getattr(row, axis) for axis in AXES), ""]) for row in part.standings
    ]
    body += [(row.model, ["", *[None] * len(AXES), row.reason]) for row in part.no_standing]
    axes = ("Mem", "MIA", "UDS", "Privacy", "utility", "Overall without UDS", "Overall", "not ranked")
    return Figure(
        "Axes of each candidate",
        "All from 0 to 1, higher better. Mem: nothing is memorized. MIA: members look as they do to the retain "
        "model; a part that is saturated makes it 0, the worst score and no defence. Privacy: the harmonic mean of "
        "MIA and UDS. Utility: relative to the full model.",
        interval_table(("candidate", "method", *axes), body),
        wide=True,
    )


def draw(part: MetricsPart) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    return [figure for figure in (ranks(part), standings(part)) if figure.panels]


CHAPTER = Chapter(name="ranking", title="Methods ranked", judge=draw)
