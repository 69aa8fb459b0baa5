"""Methods ranked: what UDS changes in who looks private."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.reading import ABSENT, number, rows, text, whole
from uds_bench.figures.tables import interval_table

AXES = ("mem", "mia", "uds", "privacy", "utility", "overall_without_uds", "overall")


def ranks(meta: Mapping[str, Any]) -> Figure:
    """Methods ranked without UDS and with it."""
    body = []
    for row in rows(meta.get("ranks")):
        shift = number(row.get("shift"))
        moved = ABSENT if shift is None else f"{'▲' if shift > 0 else '▼'} {abs(shift):g}" if shift else "="
        before, after = (str(whole(row.get(key)) or ABSENT) for key in ("rank_without", "rank"))
        was = [number(row.get("overall_without")), before, text(row.get("best_without")) or ABSENT]
        now = [number(row.get("overall")), after, text(row.get("best")) or ABSENT]
        body.append((text(row.get("method")) or "unnamed", [*was, *now, moved]))
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


def standings(meta: Mapping[str, Any]) -> Figure:
    """The axes of each candidate."""
    body: list[tuple[str, list[str | float | None]]] = []
    for row in (*rows(meta.get("standings")), *rows(meta.get("no_standing"))):
        values = [number(row.get(axis)) for axis in AXES]
        body.append((text(row.get("model")) or "unnamed", [text(row.get("method")), *values, text(row.get("reason"))]))
    axes = ("Mem", "MIA", "UDS", "Privacy", "utility", "Overall without UDS", "Overall", "not ranked")
    return Figure(
        "Axes of each candidate",
        "All from 0 to 1, higher better. Mem: nothing is memorized. MIA: members look as they do to the retain "
        "model; a part that is saturated makes it 0, the worst score and no defence. Privacy: the harmonic mean of "
        "MIA and UDS. Utility: relative to the full model.",
        interval_table(("candidate", "method", *axes), body),
        wide=True,
    )


def draw(meta: Mapping[str, Any]) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    return [figure for figure in (ranks(meta), standings(meta)) if figure.panels]


CHAPTER = Chapter(name="ranking", title="Methods ranked", judge=draw, part="metrics")
