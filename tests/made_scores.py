"""Scores of models that were never built: every metric of the twenty follows one number a model, what it still knows.

UDS and the logit lens have drops per fact from which their values follow by the plain formula written here.
"""

from __future__ import annotations

import random
from typing import Any

from uds_bench.attacks import NONE
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.audits.metrics.metric_rows import Models
from uds_bench.audits.metrics.needs import QUANTIZED, RELEARNED
from uds_bench.metrics import METRICS
from uds_bench.scores import FactScore, Score, Scores

FACTS, LAYERS, TAU = 12, 4, 0.05
KINDS = ("award", "yes_no", None)
KNOWS = {
    "full": 1.0,
    "retain": 0.0,
    **{f"knows{i}": 0.9 - 0.05 * i for i in range(6)},
    **{f"never{i}": 0.02 + 0.03 * i for i in range(6)},
    "npo": 0.1,
    "npo_weak": 0.6,
    "idk": 0.3,
    "grad_diff": 0.05,
}
MODELS = Models(
    "full",
    "retain",
    tuple(f"knows{i}" for i in range(6)),
    tuple(f"never{i}" for i in range(6)),
    ("npo", "npo_weak", "idk", "grad_diff"),
)
METHODS = {"npo": "npo", "npo_weak": "npo", "idk": "idk_nll", "grad_diff": "grad_diff"}
UTILITY = {"npo": 0.95, "npo_weak": 1.0, "idk": 0.9, "grad_diff": 0.5}


def knowledge(model: str, attack: str) -> float:
    back = {NONE: 0.0, QUANTIZED: -0.02, RELEARNED: 0.2}[attack]
    return min(max(KNOWS[model] + back, 0.0), 1.0)


def plain_uds(retain: list[float], own: list[float], tau: float) -> float | None:
    """One fact's depth, written from the definition; None where no layer knows."""
    known = [(a, b) for a, b in zip(retain, own, strict=True) if a > tau]
    total = sum(a for a, _ in known)
    return sum(a * min(max(b / a, 0.0), 1.0) for a, b in known) / total if known else None


def layered(model: str, metric: str, attack: str = NONE, variant: str | None = None) -> Score:
    """UDS or the logit lens with drops; the first fact has no knowledge layer, the second no drops at all."""
    gone = 1 - knowledge(model, attack)
    rows = []
    for i in range(FACTS):
        common, own = random.Random(f"{metric} {i}"), random.Random(f"{metric} {model} {attack} {variant} {i}")
        retain = [0.01 if i == 0 else common.uniform(0.01, 0.3) * (layer + 1) for layer in range(LAYERS)]
        drops = [drop * (gone + own.gauss(0, 0.05) + (0.1 if metric == "logit_lens" else 0.0)) for drop in retain]
        value = plain_uds(retain, drops, TAU)
        layers = [layer for layer, drop in enumerate(retain) if drop > TAU]
        detail: dict[str, Any] = {"retain_drops": retain, "drops": drops, "knowledge_layers": layers}
        detail |= {"entity_tokens": 1 + i % 3}
        if i == 1:
            value, detail = None, {}
        reason = None if value is not None else "no knowledge-encoding layer"
        rows.append(FactScore(f"a{i // 2}/{i}", f"a{i // 2}", value, reason, KINDS[i % 3], detail))
    values = [row.value for row in rows if row.value is not None]
    chosen = METRICS[metric].variant(variant)
    return Score(model, attack, metric, chosen, sum(values) / len(values), None, tuple(rows))


def plain(model: str, metric: str, attack: str = NONE) -> Score:
    """Any other metric: one number for all facts."""
    level = 0.05 + 0.9 * knowledge(model, attack) + random.Random(f"{model} {metric}").uniform(-0.04, 0.04)
    knows = metric not in JUDGED or JUDGED[metric].direction == "knowledge"
    value = level if knows else 1 - level
    rows = tuple(FactScore(f"a{i // 2}/{i}", f"a{i // 2}", value) for i in range(FACTS))
    notes = {}
    if metric in ("cka", "fisher"):
        shares = (0.4, 0.6, 0.0)
        notes["layers"] = [{"weight": s, "share": s, "erasure": value if s else None} for s in shares]
    return Score(model, attack, metric, METRICS[metric].variant(None), value, None, rows, notes)


def made(model: str, metric: str, attack: str = NONE) -> Score:
    return layered(model, metric, attack) if metric in ("uds", "logit_lens") else plain(model, metric, attack)


def made_scores() -> Scores:
    """Every score that judging reads of `MODELS`."""
    places = MODELS.needed()
    return Scores(made(name, metric, attack) for name, attack in places for metric in (*JUDGED, "entity_accuracy"))


def made_document() -> dict[str, Any]:
    """The document that a run report holds of them."""
    from uds_bench.audits.metrics.document import meta_document
    from uds_bench.audits.metrics.metric_rows import evaluate

    scores, judged = made_scores(), [METRICS[name] for name in JUDGED]
    rows = {row.metric: row for row in evaluate(scores, judged, MODELS, utility=UTILITY)}
    unfiltered = {row.metric: row for row in evaluate(scores, judged, MODELS, filters=False)}
    variants = [layered(name, "uds", NONE, part) for name in MODELS.candidates for part in ("block", "mlp")]
    return meta_document(rows, unfiltered, MODELS, scores, UTILITY, METHODS, variants)
