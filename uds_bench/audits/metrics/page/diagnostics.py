"""Diagnostics of depth: where knowledge sits, what the score depends on, and what observation alone would miss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.reading import ABSENT, interval, number, rows, spell, table, text, whole
from uds_bench.figures.tables import MeanCell, figures, interval_table, shaded_table, track

MANY = 8
"""Tokens or layers from which facts are counted together."""

Means = list[tuple[str, dict[str, MeanCell]]]


def tau(found: Mapping[str, Any]) -> Figure:
    """UDS by the threshold of knowledge layers."""
    body: list[tuple[str, list[Any]]] = []
    models: dict[str, dict[str, MeanCell]] = {}
    for row in rows(found.get("tau")):
        name, auc = spell(row.get("tau")), number(row.get("auc"))
        span = interval(row)
        scored = [(whole(m.get("scored")) or 0, whole(m.get("planned")) or 0) for m in rows(row.get("models"))]
        facts = f"{min(scored)[0]} to {max(scored)[0]} of {max(p for _, p in scored)}" if scored else ABSENT
        body.append((f"τ = {name}", [track(f"AUC at tau {name}", auc, span, 0.5), figures(auc, span), facts]))
        for model in rows(row.get("models")):
            value = number(model.get("value"))
            if value is not None:
                kept = MeanCell(value, whole(model.get("scored")) or 0)
                models.setdefault(text(model.get("model")), {})[f"τ = {name}"] = kept
    panels = interval_table(("threshold", "0 to 1", "AUC of UDS", "facts with a score"), body)
    return Figure(
        "What the threshold of knowledge layers changes",
        "A layer counts as knowing where the retain model's states lower the answer by more than τ nats. A verdict "
        "that hangs on τ is none: the pools' AUC and each model's score should hardly move.",
        panels + shaded_table("UDS", [*models.items()]),
        wide=True,
    )


def layers(found: Mapping[str, Any]) -> Figure:
    """One matrix a metric: the mean share of each layer, then the erasure there of each candidate."""
    metrics: dict[str, Means] = {}
    for row in rows(found.get("layers")):
        told = rows(row.get("layers"))
        erased = {f"{i}": (number(layer.get("erasure")), number(layer.get("share"))) for i, layer in enumerate(told)}
        gone = {name: MeanCell(value, 1) for name, (value, _) in erased.items() if value is not None}
        kept = metrics.setdefault(text(row.get("metric")), [])
        if not kept:
            kept.append(("weight", {n: MeanCell(share, 1) for n, (_, share) in erased.items() if share is not None}))
        kept.append((text(row.get("model")), gone))
    return Figure(
        "Which layers decide",
        "For each metric that weighs layers, first how much of its score each layer decides (shares of 1), then how "
        "far each candidate's erasure has gone there, 0 intact and 1 as in the retain model. A metric whose weight "
        "sits in one layer says nothing of the others.",
        tuple(panel for metric, means in metrics.items() for panel in shaded_table(f"{metric}, layer", means)),
        wide=True,
    )


def components(found: Mapping[str, Any]) -> Figure:
    """UDS by what of a block is patched."""
    body: list[tuple[str, list[Any]]] = []
    for row in rows(found.get("components")):
        numbers = [figures(number(row.get(key))) for key in ("uds", "retain_drop", "drop")]
        body.append((text(row.get("model")) or "unnamed", [text(row.get("scope")) or ABSENT, *numbers]))
    return Figure(
        "Parts of a block",
        "UDS with a whole block patched, and with parts of it: what attention adds, the stream after attention, what "
        "the MLP adds. The falls are means over facts and layers, in nats; a part whose own fall is small carries "
        "little of the fact, and its score rests on few layers.",
        interval_table(("candidate", "patched", "UDS", "fall, retain model", "fall, candidate"), body),
        wide=True,
    )


def lengths(found: Mapping[str, Any], key: str, title: str, caption: str) -> Figure:
    """Mean UDS of each candidate over the facts with so many tokens or layers."""
    groups: dict[str, dict[int, list[float]]] = {}
    for row in rows(found.get("facts")):
        count = whole(row.get(key))
        for model, value in table(row.get("uds")).items():
            if count is not None and (uds := number(value)) is not None:
                groups.setdefault(text(model), {}).setdefault(min(count, MANY), []).append(uds)
    counts = sorted({count for cells in groups.values() for count in cells})
    heads = {count: f"{count}{' or more' if count == MANY else ''}" for count in counts}
    body = [
        (name, {heads[c]: MeanCell(sum(cells[c]) / len(cells[c]), len(cells[c])) for c in counts if c in cells})
        for name, cells in groups.items()
    ]
    return Figure(title, caption, shaded_table("candidate", body), wide=True)


def hidden(found: Mapping[str, Any]) -> Figure:
    """One fact, read by the logit lens and patched, layer by layer."""
    case = table(found.get("hidden"))
    tokens, falls = whole(case.get("tokens")), case.get("drops")
    body: list[tuple[str, list[Any]]] = []
    for index, layer in enumerate(rows(case.get("layers"))):
        fall = falls[index] if isinstance(falls, (list, tuple)) and index < len(falls) else None
        read, made = (_tokens(layer.get(way), tokens) for way in ("lens", "patched"))
        body.append((f"layer {index}", [read, made, number(fall)]))
    if body:
        body.append(("its own output", [_tokens(case.get("said"), tokens), "", ""]))
    elif error := text(case.get("error")):
        body.append(("not read", [error, "", ""]))
    where = f"{text(case.get('model'))}, fact {text(case.get('fact'))}"
    asked = " ".join(text(case.get(key)) for key in ("question", "prefix") if case.get(key))
    asked = f" Asked: “{asked}” The entity: “{text(case.get('entity'))}”." if asked else ""
    return Figure(
        "Observed beside caused",
        f"The fact that the logit lens misses most: {where}; logit lens {spell(case.get('lens'))}, UDS "
        f"{spell(case.get('uds'))}.{asked} Left: the most likely tokens read off each layer through the full model's "
        "head. Right: what the full model itself says once that layer's state stands in it. Where only the right "
        "column has the entity, the knowledge is there, in a form that reading alone does not see.",
        interval_table(("where", "logit lens", "patched into the full model", "fall (nats)"), body),
        wide=True,
    )


def _tokens(value: Any, tokens: int | None) -> str | Markup:
    found = table(value)
    right = whole(found.get("right"))
    count = ABSENT if right is None else f"{right} of {tokens if tokens is not None else '?'} tokens right"
    return f"“{text(found['text'])}” ({count})" if "text" in found else count


def draw(meta: Mapping[str, Any]) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    found = table(meta.get("diagnostics"))
    figures_found = [
        hidden(found),
        tau(found),
        layers(found),
        components(found),
        lengths(
            found,
            "tokens",
            "Depth by length of the entity",
            "Mean UDS of the facts whose entity has so many tokens. A trend says that length, not forgetting, moves "
            "the score.",
        ),
        lengths(
            found,
            "layers",
            "Depth by knowledge layers",
            "Mean UDS of the facts that so many layers encode. Facts that no layer encodes have no score.",
        ),
    ]
    return [figure for figure in figures_found if figure.panels]


CHAPTER = Chapter(
    name="diagnostics",
    title="Diagnostics of depth",
    judge=draw,
    part="metrics",
    personal=("id", "fact", "question", "prefix", "entity", "text", "error"),
)
