"""A curve over the layers of a model, beside the curve that it is measured by."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from uds_bench.errors import counted
from uds_bench.figures.spelling import spell
from uds_bench.figures.svg import LEFT, RIGHT, Scale, element, label, marked_along, marked_up, panel, ticks

HEIGHT, TOP, BOTTOM = 168.0, 30.0, 134.0


def _curve(x: Scale, y: Scale, values: Sequence[float], class_: str) -> list[Markup]:
    points = [(x(layer), y(value)) for layer, value in enumerate(values)]
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    # Markers crowd each other in deep models, where the line alone is clear enough.
    radius = 3.0 if len(values) <= 20 else 1.6
    dots = []
    for layer, (value, (px, py)) in enumerate(zip(values, points, strict=True)):
        hint = element("title", f"layer {layer}: {spell(value)}")
        dots.append(element("circle", hint, cx=px, cy=py, r=radius, class_=class_))
    return [element("polyline", points=path, class_=class_), *dots]


def layer_profile(name: str, reference: Sequence[float], own: Sequence[float], facts: int, top: float) -> Markup:
    """`reference` (S1) and `own` (S2): one value a layer, in nats; `top` is the largest over all panels, so
    that they share an axis."""
    low = min(0.0, *reference, *own)
    x = Scale(0, len(own) - 1, LEFT + 8, RIGHT - 8)
    y = Scale(low, max(top, low + 1e-9), BOTTOM, TOP)
    whole = [mark for mark in ticks(0, len(own) - 1, 6) if mark == int(mark)]
    grid = [*marked_up(y, ticks(y.low, y.high, 4)), *marked_along(x, whole, BOTTOM + 14)]
    grid.append(label((LEFT + RIGHT) / 2, HEIGHT - 5, "layer", "tick", "middle"))
    asked = counted(facts, "fact")
    words = f"{name}: mean fall per layer in nats, retain {_list(reference)}; {name} {_list(own)}; {asked}"
    curves = [*_curve(x, y, reference, "reference"), *_curve(x, y, own, "own")]
    return panel(HEIGHT, words, name, asked, *grid, *curves)


def _list(values: Sequence[float]) -> str:
    return ", ".join(spell(value) for value in values)
