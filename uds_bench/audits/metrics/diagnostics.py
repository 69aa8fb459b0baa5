"""Diagnostics of depth: what stored scores tell beside the rows, without loading a model.

UDS guide, section 5 and appendix C. A score that lacks what a diagnosis needs is left out of it with None, not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.metrics.faithfulness import faithfulness
from uds_bench.metrics.erasure import TAU, erasure
from uds_bench.scores import LEAST_SCORED, Score

TAUS = (0.02, TAU, 0.1)
SCOPES = ("block", "attention", "attention_residual", "mlp")
"""Variants of UDS that patch a whole block, and its parts."""

Array = NDArray[np.float64]
ByModel = Mapping[str, Score]


def drops_of(score: Score) -> tuple[Array, Array] | None:
    """Falls by patching from the retain model and from the checkpoint.

    Args:
        score: UDS or the logit lens of one checkpoint.

    Returns:
        Two arrays, [facts, layers] each, nats. A fact that has none is NaN throughout; None where no fact has any, or
        their layers differ in number.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(detail={"retain_drops": [1.0], "drops": [0.5]}), SimpleNamespace(detail={})]
        >>> [side.tolist() for side in drops_of(SimpleNamespace(per_fact=facts))]
        [[[1.0], [nan]], [[0.5], [nan]]]
    """
    pairs = [(fact.detail.get("retain_drops"), fact.detail.get("drops")) for fact in score.per_fact]
    widths = {len(side) for pair in pairs for side in pair if side is not None}
    if len(widths) != 1:
        return None
    bare = [math.nan] * widths.pop()
    retain, own = (np.array([bare if pair[i] is None else pair[i] for pair in pairs], dtype=float) for i in (0, 1))
    return retain, own


def at_tau(score: Score, tau: float) -> tuple[float | None, int]:
    """UDS with another threshold of knowledge layers, and how many facts have it.

    Args:
        score: UDS of one checkpoint, with its falls.
        tau: The threshold, nats.

    Returns:
        0 to 1, higher is more erased, None where fewer than half of the facts have a value; and their number.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(detail={"retain_drops": [1.0, 0.1], "drops": [0.5, 0.1]})]
        >>> at_tau(SimpleNamespace(per_fact=facts), 0.2), at_tau(SimpleNamespace(per_fact=facts), 2.0)
        ((0.5, 1), (None, 0))
    """
    found = drops_of(score)
    if found is None:
        return None, 0
    values = erasure(*found, tau=tau).score
    scored = values[np.isfinite(values)]
    enough = len(scored) > 0 and len(scored) >= LEAST_SCORED * len(score.per_fact)
    return (math.fsum(scored) / len(scored) if enough else None), len(scored)


def tau_sweep(depth: ByModel, positive: Sequence[str], negative: Sequence[str]) -> list[dict[str, Any]]:
    """Per tau: UDS of every model with its facts, and the AUC between the pools with its interval.

    The AUC is NaN where a model of a pool has no UDS at that tau.
    """
    rows = []
    for tau in TAUS:
        found = {name: at_tau(score, tau) for name, score in depth.items()}
        # A model of a pool without a value makes the AUC NaN, as it makes the row's.
        know, not_known = (
            [math.nan if (value := found.get(name, (None, 0))[0]) is None else value for name in pool]
            for pool in (positive, negative)
        )
        judged = faithfulness(know, not_known, "erasure").auc
        models = [
            {"model": name, "value": value, "scored": scored, "planned": len(depth[name].per_fact)}
            for name, (value, scored) in found.items()
        ]
        interval = judged.interval
        rows.append({"tau": tau, "auc": judged.value, "low": interval.low, "high": interval.high, "models": models})
    return rows


def layer_weights(score: Score) -> list[dict[str, float | None]] | None:
    """Per layer its share of the score and its erasure: the sum of share * erasure is the score.

    Of CKA and Fisher from their notes; of UDS and the logit lens, means over facts of what each fact's layers weigh.

    Args:
        score: One of these four metrics, of one checkpoint.

    Returns:
        One mapping a layer, `share` and `erasure` 0 to 1, higher is more erased; `erasure` None without a share. None
        of a score that tells nothing of layers.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(detail={"retain_drops": [1.0, 3.0], "drops": [0.5, 3.0]})]
        >>> layer_weights(SimpleNamespace(notes={}, per_fact=facts))
        [{'share': 0.25, 'erasure': 0.5}, {'share': 0.75, 'erasure': 1.0}]
    """
    if isinstance(told := score.notes.get("layers"), list):
        return [{"share": layer["share"], "erasure": layer["erasure"]} for layer in told]
    found = drops_of(score)
    if found is None:
        return None
    retain, own = found
    scored = np.isfinite(erasure(retain, own).score)
    if not scored.any():
        return None
    retain, own = retain[scored], own[scored]
    way = np.where(retain > TAU, retain, 0.0)
    total = way.sum(-1, keepdims=True)
    share, gone = (way / total).mean(0), (np.clip(own, 0.0, way) / total).mean(0)
    return [{"share": float(w), "erasure": float(g / w) if w > 0 else None} for w, g in zip(share, gone, strict=True)]


def layer_table(by_metric: Mapping[str, ByModel]) -> list[dict[str, Any]]:
    """Per metric and model the weights of layers; the shares of one metric differ only by the facts it could score."""
    return [
        {"metric": metric, "model": name, "layers": layers}
        for metric, scores in by_metric.items()
        for name, score in scores.items()
        if (layers := layer_weights(score)) is not None
    ]


def by_kind(depth: ByModel) -> list[dict[str, Any]]:
    """Per model and kind of prompt: facts, those with a value, their mean and standard deviation (table 5)."""
    rows = []
    for name, score in depth.items():
        for kind in dict.fromkeys(fact.kind for fact in score.per_fact if fact.kind):
            facts = [fact for fact in score.per_fact if fact.kind == kind]
            values = [fact.value for fact in facts if fact.value is not None]
            rows.append(
                {
                    "model": name,
                    "kind": kind,
                    "planned": len(facts),
                    "scored": len(values),
                    "mean": float(np.mean(values)) if values else None,
                    "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None,
                }
            )
    return rows


def components(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Per model and patched part of a block: UDS, and the mean fall by patching over facts and layers (nats)."""
    rows = []
    for score in scores:
        if score.metric == "uds" and score.variant in SCOPES and (found := drops_of(score)) is not None:
            means = [float(np.nanmean(side)) if np.isfinite(side).any() else None for side in found]
            row = {"model": score.checkpoint, "scope": score.variant, "uds": score.value}
            rows.append(row | {"retain_drop": means[0], "drop": means[1], "facts": len(score.scored)})
    return sorted(rows, key=lambda row: SCOPES.index(row["scope"]))


def by_fact(depth: ByModel) -> list[dict[str, Any]]:
    """Per fact: its entity's tokens and its knowledge layers (None where not recorded), and UDS by model."""
    table: dict[str, dict[str, Any]] = {}
    for name, score in depth.items():
        for fact in score.per_fact:
            layers = fact.detail.get("knowledge_layers")
            row = table.setdefault(fact.id, {"id": fact.id, "kind": fact.kind, "tokens": None, "layers": None})
            row["tokens"] = row["tokens"] or fact.detail.get("entity_tokens")
            row["layers"] = row["layers"] if layers is None else len(layers)
            row.setdefault("uds", {})[name] = fact.value
    return list(table.values())


@dataclass(frozen=True)
class Hidden:
    """A fact of a model of which the logit lens says that it is gone while patching brings it back."""

    model: str
    fact: str
    lens: float
    uds: float
    drops: tuple[float, ...]
    """Fall of the entity's mean log-probability by layer, patching from the model, nats."""


def most_hidden(depth: ByModel, lens: ByModel, models: Sequence[str]) -> Hidden | None:
    """The fact and model where the logit lens exceeds UDS most; None where it nowhere does."""
    found = []
    for name in models:
        if name in depth and name in lens:
            seen = {fact.id: fact.value for fact in lens[name].scored}
            for fact in depth[name].scored:
                if (value := seen.get(fact.id)) is not None and fact.value is not None and value > fact.value:
                    found.append(Hidden(name, fact.id, value, fact.value, tuple(fact.detail.get("drops", ()))))
    return max(found, key=lambda one: one.lens - one.uds, default=None)
