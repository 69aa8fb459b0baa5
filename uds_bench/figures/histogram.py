"""How values per fact are spread."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from uds_bench.figures.reading import spell
from uds_bench.figures.svg import LEFT, RIGHT, Scale, element, marked_along, marked_up, panel, ticks

HEIGHT, TOP, BOTTOM = 150.0, 34.0, 122.0
BINS = 10


def bin_counts(values: Sequence[float], limits: tuple[float, float], bins: int = BINS) -> list[int]:
    """How many values fall in each of `bins` equal parts of `limits`; the outer ones take what lies beyond."""
    counts = [0] * bins
    width = (limits[1] - limits[0]) / bins
    for value in values:
        # The small addition keeps a value that stands on an edge, such as 0.3, out of the bin below.
        counts[int(min(max((value - limits[0]) / width + 1e-9, 0), bins - 1))] += 1
    return counts


def histogram(name: str, values: Sequence[float], mean: float | None, limits: tuple[float, float]) -> Markup:
    """Bars as high as the share of facts, so that panels compare whatever their number of facts."""
    counts = bin_counts(values, limits)
    x, y = Scale(*limits, LEFT, RIGHT), Scale(0, 1, BOTTOM, TOP)
    step = (limits[1] - limits[0]) / len(counts)
    parts = [*marked_up(y, (0, 0.5, 1), ".0%"), *marked_along(x, ticks(*limits), BOTTOM + 24)]
    for index, count in enumerate(counts):
        low = limits[0] + index * step
        height = BOTTOM - y(count / len(values))
        hint = element("title", f"{count} facts from {spell(low)} to {spell(low + step)}")
        bar = element("rect", hint, x=x(low) + 1, y=BOTTOM - height, width=x(low + step) - x(low) - 2, height=height)
        parts += [bar] if count else []
    if mean is not None:
        at = x(mean)
        parts.append(element("path", d=f"M{at:.1f},{BOTTOM + 2} l5,9 h-10 z", class_="mean"))
    span = f"{spell(limits[0])} to {spell(limits[1])}"
    words = f"{name}: {len(values)} facts, mean {spell(mean)}; counts from {span}: "
    told = f"{len(values)} facts, mean {spell(mean)}"
    return panel(HEIGHT, words + ", ".join(map(str, counts)), name, told, *parts)
