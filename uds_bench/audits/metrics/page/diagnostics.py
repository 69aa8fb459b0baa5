"""Diagnostics of depth: where knowledge sits, what the score depends on, and what observation alone would miss."""

from __future__ import annotations

from typing import Any, Literal

from uds_bench.audits.metrics.part import DepthDiagnostics, HiddenFact, MetricsPart, ReadTokens
from uds_bench.claims.report_part import span
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.spelling import ABSENT, spell
from uds_bench.figures.tables import MeanCell, figures, interval_table, shaded_table, track

MANY = 8
"""Tokens or layers from which facts are counted together."""

Means = list[tuple[str, dict[str, MeanCell]]]


def tau(found: DepthDiagnostics) -> Figure:
    """UDS by the threshold of knowledge layers."""
    body: list[tuple[str, list[Any]]] = []
    models: dict[str, dict[str, MeanCell]] = {}
    for row in found.tau:
        name, auc = spell(row.tau), (row.auc, span(row.low, row.high))
        scored = [(model.scored, model.planned) for model in row.models]
        facts = f"{min(scored)[0]} to {max(scored)[0]} of {max(p for _, p in scored)}" if scored else ABSENT
        body.append((f"τ = {name}", [track(f"AUC at tau {name}", *auc, 0.5), figures(*auc), facts]))
        for model in row.models:
            if model.value is not None:
                models.setdefault(model.model, {})[f"τ = {name}"] = MeanCell(model.value, model.scored)
    panels = interval_table(("threshold", "0 to 1", "AUC of UDS", "facts with a score"), body)
    return Figure(
        "What the threshold of knowledge layers changes",
        "A layer counts as knowing where the retain model's states lower the answer by more than τ nats. A verdict "
        "that hangs on τ is none: the pools' AUC and each model's score should hardly move.",
        panels + shaded_table("UDS", [*models.items()]),
        wide=True,
    )


def layers(found: DepthDiagnostics) -> Figure:
    """One matrix a metric: the mean share of each layer, then the erasure there of each candidate."""
    metrics: dict[str, Means] = {}
    for row in found.layers:
        told = {f"{at}": layer for at, layer in enumerate(row.layers)}
        kept = metrics.setdefault(row.metric, [])
        if not kept:
            shares = {name: MeanCell(layer.share, 1) for name, layer in told.items() if layer.share is not None}
            kept.append(("weight", shares))
        gone = {name: MeanCell(layer.erasure, 1) for name, layer in told.items() if layer.erasure is not None}
        kept.append((row.model, gone))
    return Figure(
        "Which layers decide",
        "For each metric that weighs layers, first how much of its score each layer decides (shares of 1), then how "
        "far each candidate's erasure has gone there, 0 intact and 1 as in the retain model. A metric whose weight "
        "sits in one layer says nothing of the others.",
        tuple(panel for metric, means in metrics.items() for panel in shaded_table(f"{metric}, layer", means)),
        wide=True,
    )


def components(found: DepthDiagnostics) -> Figure:
    """UDS by what of a block is patched."""
    body: list[tuple[str, list[Any]]] = []
    for row in found.components:
        body.append((row.model, [row.scope, figures(row.uds), figures(row.retain_drop), figures(row.drop)]))
    return Figure(
        "Parts of a block",
        "UDS with a whole block patched, and with parts of it: what attention adds, the stream after attention, what "
        "the MLP adds. The falls are means over facts and layers, in nats; a part whose own fall is small carries "
        "little of the fact, and its score rests on few layers.",
        interval_table(("candidate", "patched", "UDS", "fall, retain model", "fall, candidate"), body),
        wide=True,
    )


def lengths(found: DepthDiagnostics, key: Literal["tokens", "layers"], title: str, caption: str) -> Figure:
    """Mean UDS of each candidate over the facts with so many tokens or layers."""
    groups: dict[str, dict[int, list[float]]] = {}
    for row in found.facts:
        count: int | None = getattr(row, key)
        for model, uds in row.uds.items():
            if count is not None and uds is not None:
                groups.setdefault(model, {}).setdefault(min(count, MANY), []).append(uds)
    counts = sorted({count for cells in groups.values() for count in cells})
    heads = {count: f"{count}{' or more' if count == MANY else ''}" for count in counts}
    body = [
        (name, {heads[c]: MeanCell(sum(cells[c]) / len(cells[c]), len(cells[c])) for c in counts if c in cells})
        for name, cells in groups.items()
    ]
    return Figure(title, caption, shaded_table("candidate", body), wide=True)


def hidden(case: HiddenFact) -> Figure:
    """One fact, read by the logit lens and patched, layer by layer."""
    body: list[tuple[str, list[Any]]] = []
    for index, layer in enumerate(case.layers):
        fall = case.drops[index] if index < len(case.drops) else None
        body.append((f"layer {index}", [_tokens(layer.lens, case), _tokens(layer.patched, case), fall]))
    if body:
        body.append(("its own output", [_tokens(case.said, case), "", ""]))
    elif case.error:
        body.append(("not read", [case.error, "", ""]))
    asked = " ".join(filter(None, (case.question, case.prefix)))
    asked = f" Asked: “{asked}” The entity: “{case.entity}”." if asked else ""
    return Figure(
        "Observed beside caused",
        f"The fact that the logit lens misses most: {case.model}, fact {case.fact}; logit lens {spell(case.lens)}, UDS "
        f"{spell(case.uds)}.{asked} Left: the most likely tokens read off each layer through the full model's "
        "head. Right: what the full model itself says once that layer's state stands in it. Where only the right "
        "column has the entity, the knowledge is there, in a form that reading alone does not see.",
        interval_table(("where", "logit lens", "patched into the full model", "fall (nats)"), body),
        wide=True,
    )


def _tokens(found: ReadTokens | None, case: HiddenFact) -> str:
    if found is None:
        return ABSENT
    count = f"{found.right} of {'?' if case.tokens is None else case.tokens} tokens right"
    return count if found.text is None else f"“{found.text}” ({count})"


def draw(part: MetricsPart) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    found = part.diagnostics
    if found is None:
        return []
    figures_found = [
        *([] if found.hidden is None else [hidden(found.hidden)]),
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


CHAPTER = Chapter(name="diagnostics", title="Diagnostics of depth", judge=draw)
