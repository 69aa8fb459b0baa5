"""Spared: how much of what was to be kept can still be recovered from the activations."""

from __future__ import annotations

import numpy as np

from uds_bench.metrics.erasure import NO_LAYER, TAU, Array
from uds_bench.metrics.kept import kept_facts
from uds_bench.metrics.metric import FactValue, Measured, Metric, Subject
from uds_bench.metrics.uds import NOT_FINITE


def spared(retain_drops: Array, drops: Array, tau: float = TAU) -> Array:
    """1 - sum clip(D, 0, W) / sum W over layers with W > tau: 1 less the share that is lost of what there is to lose.

    W is the mean drop of the retain model on the facts to be forgotten: what not knowing a fact costs at a layer.

    Args:
        retain_drops: Of the retain model on the facts to be forgotten, [forgotten, layers], nats.
        drops: Of the candidate on the facts to be retained, [retained, layers], nats.
        tau: Drop that a layer must exceed to count, nats.

    Returns:
        [retained], 1 where a fact is kept as the full model has it, 0 where it is lost as one that was never known:
        higher is MORE knowledge. NaN where no layer counts, or a drop is not finite.

    Source: ours; UDS guide, section 3.3, turned to the facts that are kept.

    Example:
        Not knowing costs 1 and 3 nats; half a nat is lost of 4, and all of it:

        >>> spared(np.array([[0.5, 3.0], [1.5, 3.0]]), np.array([[0.5, -1.0], [9.0, 9.0]])).tolist()
        [0.875, 0.0]
    """
    usual = retain_drops[np.isfinite(retain_drops).all(-1)]
    weight = usual.mean(0) if len(usual) else np.zeros(drops.shape[-1])
    weight = np.where(weight > tau, weight, 0.0)
    total = weight.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(
            np.isfinite(drops).all(-1) & (total > 0), 1 - np.clip(drops, 0.0, weight).sum(-1) / total, np.nan
        )


def _compute(subject: Subject, variant: str) -> Measured:
    retain, own = subject.retain_aligned(), subject.aligned_reading("retain")
    values = []
    for fact, value, drops, right in zip(
        subject.kept, spared(retain.drops, own.drops), own.drops, own.correct, strict=True
    ):
        detail = {"drops": drops.tolist(), "correct": float(right)}
        why = NOT_FINITE if not np.isfinite(drops).all() else NO_LAYER if np.isnan(value) else None
        values.append(FactValue(fact.id, None if why else float(value), why, detail))
    return Measured(values, {"tau": TAU, "fit": own.fit.tolist(), "said": float(own.correct.mean())})


METRIC = Metric(
    name="spared",
    version=1,
    direction="utility",
    limits=(0.0, 1.0),
    needs=frozenset({"full", "retain", "internals"}),
    variants=("default",),
    source="ours; UDS guide, section 3.3, turned to the facts that are kept",
    compute=_compute,
    splits=("retain",),
    texts={"default": ("forget",)},
    of=kept_facts,
)
