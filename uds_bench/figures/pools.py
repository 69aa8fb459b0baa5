"""Two pools of models on one axis: those that know rise above it, those that never knew hang below."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from uds_bench.figures.reading import spell
from uds_bench.figures.svg import Scale, element, label, line, marked_along, panel, ticks

HEIGHT = 168.0
LEFT, RIGHT, TOP, MIDDLE, BOTTOM = 14.0, 240.0, 40.0, 88.0, 136.0


def pools(
    name: str,
    auc: float | None,
    edges: Sequence[float],
    know: Sequence[float],
    never: Sequence[float],
    cut: float | None,
) -> Markup:
    """Counts of models between common `edges`; `cut`: the raw value that tells the pools apart best, dashed."""
    x, most = Scale(edges[0], edges[-1], LEFT, RIGHT), max(1.0, *know, *never)
    parts = []
    for counts, word, end in ((know, "know", TOP), (never, "never knew", BOTTOM)):
        y = Scale(0, most, MIDDLE, end)
        for low, high, count in zip(edges, edges[1:], counts, strict=False):
            if count > 0:
                hint = element("title", f"{count:g} models that {word}: {spell(low)} to {spell(high)}")
                top, size = min(y(count), MIDDLE), abs(y(count) - MIDDLE)
                bar = {"x": x(low) + 0.5, "y": top, "width": max(x(high) - x(low) - 1, 1.0), "height": size}
                parts.append(element("rect", hint, **bar, class_="own" if word == "know" else "never"))
    parts.append(line(LEFT, MIDDLE, RIGHT, MIDDLE, "rule"))
    if cut is not None and edges[0] <= cut <= edges[-1]:
        parts.append(line(x(cut), TOP - 6, x(cut), BOTTOM + 4, "bound"))
    parts += marked_along(x, ticks(edges[0], edges[-1], 4), BOTTOM + 16)
    parts += [label(RIGHT, TOP - 10, f"{sum(know):g} know", "tick", "end")]
    parts += [label(RIGHT, BOTTOM + 29, f"{sum(never):g} never knew", "tick", "end")]
    words = f"{name}: AUC {spell(auc)}, best cut {spell(cut)}, between {spell(edges[0])} and {spell(edges[-1])}"
    return panel(HEIGHT, words, name, f"AUC {spell(auc)}", *parts, class_="panel pools")
