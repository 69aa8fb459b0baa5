"""Spared: how much of what was to be kept can still be recovered from the activations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from uds_bench.metrics.erasure import NO_LAYER, TAU, spared
from uds_bench.metrics.metric import PATCHED, FactValue, Measured, Metric
from uds_bench.metrics.retain_facts import kept_facts
from uds_bench.metrics.subject import Subject
from uds_bench.metrics.uds import ALIGNED, NOT_FINITE


def _compute(subject: Subject, variant: str) -> Measured:
    retain, own = subject.reading(ALIGNED, "retain"), subject.reading(replace(ALIGNED, split="retain"))
    values, correct = [], np.nan_to_num(own.correct)  # of NaN the drops tell
    for fact, value, drops, right in zip(
        subject.kept, spared(retain.drops, own.drops), own.drops, correct, strict=True
    ):
        detail = {"drops": drops.tolist(), "correct": float(right)}
        why = NOT_FINITE if not np.isfinite(drops).all() else NO_LAYER if np.isnan(value) else None
        values.append(FactValue(fact.id, None if why else float(value), why, detail))
    told = {"tau": TAU, "fit": own.fit.tolist(), "said": float(correct.mean()), "drawn": subject.drawn()}
    return Measured(values, told)


# The note `drawn` has, of others to be kept, the person, and whether this model and the full one say the fact.
METRIC = Metric(
    "spared",
    "utility",
    "ours; UDS guide, section 3.3, turned to the facts that are kept",
    compute=_compute,
    needs=PATCHED,
    splits=("retain",),
    texts={"default": ("forget",)},
    of=kept_facts,
)
