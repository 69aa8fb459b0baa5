"""How values are spread: of facts, and of two pools of models, one that knows and one that never knew."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from uds_bench.errors import counted
from uds_bench.figures.spelling import spell
from uds_bench.figures.svg import LEFT, RIGHT, Scale, element, label, line, marked_along, marked_up, panel, ticks

HEIGHT, TOP, BOTTOM = 150.0, 34.0, 122.0
POOLS_HEIGHT, POOLS_LEFT, POOLS_TOP, MIDDLE, POOLS_BOTTOM = 168.0, 14.0, 40.0, 88.0, 136.0
BINS = 10


def bin_counts(values: Sequence[float], limits: tuple[float, float], bins: int = BINS) -> list[int]:
    """How many values fall in each of some equal parts of a range.

    Args:
        values: Finite, in the unit of the limits.
        limits: Low and high; the outer parts take what lies beyond.
        bins: How many parts.

    Returns:
        Counts, [bins], which add up to the values.

    Example:
        >>> bin_counts([0.0, 0.3, 0.5, 1.2], (0.0, 1.0), bins=2)
        [2, 2]
    """
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
        hint = element("title", f"{counted(count, 'fact')} from {spell(low)} to {spell(low + step)}")
        bar = element("rect", hint, x=x(low) + 1, y=BOTTOM - height, width=x(low + step) - x(low) - 2, height=height)
        parts += [bar] if count else []
    if mean is not None:
        at = x(mean)
        parts.append(element("path", d=f"M{at:.1f},{BOTTOM + 2} l5,9 h-10 z", class_="mean"))
    span = f"{spell(limits[0])} to {spell(limits[1])}"
    words = f"{name}: {counted(len(values), 'fact')}, mean {spell(mean)}; counts from {span}: "
    told = f"{counted(len(values), 'fact')}, mean {spell(mean)}"
    return panel(HEIGHT, words + ", ".join(map(str, counts)), name, told, *parts)


def pools(
    name: str,
    auc: float | None,
    edges: Sequence[float],
    know: Sequence[float],
    never: Sequence[float],
    cut: float | None,
) -> Markup:
    """Counts of models between common `edges`: those that know rise above the axis, those that never knew hang below.
    `cut`: the raw value that tells the pools apart best, dashed."""
    x, most = Scale(edges[0], edges[-1], POOLS_LEFT, RIGHT), max(1.0, *know, *never)
    parts = []
    for counts, word, end in ((know, "know", POOLS_TOP), (never, "never knew", POOLS_BOTTOM)):
        y = Scale(0, most, MIDDLE, end)
        for low, high, count in zip(edges, edges[1:], counts, strict=False):
            if count > 0:
                hint = element("title", f"{count:g} models that {word}: {spell(low)} to {spell(high)}")
                top, size = min(y(count), MIDDLE), abs(y(count) - MIDDLE)
                bar = {"x": x(low) + 0.5, "y": top, "width": max(x(high) - x(low) - 1, 1.0), "height": size}
                parts.append(element("rect", hint, **bar, class_="own" if word == "know" else "never"))
    parts.append(line(POOLS_LEFT, MIDDLE, RIGHT, MIDDLE, "rule"))
    if cut is not None and edges[0] <= cut <= edges[-1]:
        parts.append(line(x(cut), POOLS_TOP - 6, x(cut), POOLS_BOTTOM + 4, "bound"))
    parts += marked_along(x, ticks(edges[0], edges[-1], 4), POOLS_BOTTOM + 16)
    parts += [label(RIGHT, POOLS_TOP - 10, f"{sum(know):g} know", "tick", "end")]
    parts += [label(RIGHT, POOLS_BOTTOM + 29, f"{sum(never):g} never knew", "tick", "end")]
    words = f"{name}: AUC {spell(auc)}, best cut {spell(cut)}, between {spell(edges[0])} and {spell(edges[-1])}"
    return panel(POOLS_HEIGHT, words, name, f"AUC {spell(auc)}", *parts, class_="panel pools")
