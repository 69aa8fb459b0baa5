"""Robustness of a metric: does it stay put under quantization, and move as it should under relearning?

UDS guide, section 4.1 and appendix E. All values are oriented by `oriented` first; Q depends on it, R does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from uds_bench.audits.metrics.estimate import Estimate, harmonic, mean_over_models


def oriented(value: float, converted: bool) -> float:
    """What Q and R are taken of: 1 - m for the metrics that the direction table converts, else m itself."""
    return 1 - value if converted else value


def symmetric_q(before: float, after: float) -> float:
    """1 - |after - before| / (|before| + |after|), in [0, 1]: 1 if the attack changed nothing, whatever the side.

    0 where the two have opposite signs or exactly one is 0; 1 where both are 0. NaN stays NaN.
    """
    size = abs(before) + abs(after)
    return 1.0 if size == 0 else 1 - abs(after - before) / size


def symmetric_r(unlearned: float, retain: float) -> float:
    """The same of two changes by relearning: 1 if the unlearned model moved as the retain model did, in [0, 1]."""
    return symmetric_q(unlearned, retain)


def one_sided_q(before: float, after: float) -> float:
    """min(before / after, 1) of values >= 0: a fall counts as perfect, which is what the symmetric form is for.

    NaN for a negative value, of which a ratio says nothing.
    """
    if not (before >= 0 and after >= 0):
        return math.nan
    return 1.0 if after <= before else before / after


def one_sided_r(unlearned: float, retain: float) -> float:
    """min(retain / unlearned, 1) of two changes by relearning, in [0, 1]: to regain less than retain is perfect.

    The quotient is meant of gains. An unlearned model that gains nothing has regained nothing (1); one that gains where
    the retain model does not has regained everything that it gained (0).
    """
    if math.isnan(unlearned) or math.isnan(retain):
        return math.nan
    gain = max(retain, 0.0)
    return 1.0 if unlearned <= gain else gain / unlearned


@dataclass(frozen=True)
class Robustness:
    """Means over models, with intervals over models; `rob` = HM(q, r). The one-sided forms are there for contrast."""

    q: Estimate
    r: Estimate
    rob: Estimate
    one_sided_q: Estimate
    one_sided_r: Estimate
    per_model: Mapping[str, tuple[float, float]]
    """Q and R of each model."""


def robustness(
    before: Mapping[str, float],
    quantized: Mapping[str, float],
    relearned: Mapping[str, float],
    retain: tuple[float, float],
    *,
    converted: bool,
) -> Robustness:
    """Robustness over the models of `before`; `retain`: the retain model's value before and after relearning.

    KeyError where a model lacks one of the three: no model is left out silently.
    """
    names = list(before)
    was = {n: oriented(before[n], converted) for n in names}
    pairs = {n: (was[n], oriented(quantized[n], converted)) for n in names}
    changes = {n: oriented(relearned[n], converted) - was[n] for n in names}
    change = oriented(retain[1], converted) - oriented(retain[0], converted)
    q = {n: symmetric_q(*pairs[n]) for n in names}
    r = {n: symmetric_r(changes[n], change) for n in names}
    found_q, found_r = mean_over_models(q), mean_over_models(r)
    return Robustness(
        found_q,
        found_r,
        harmonic(found_q, found_r),
        mean_over_models({n: one_sided_q(*pairs[n]) for n in names}),
        mean_over_models({n: one_sided_r(changes[n], change) for n in names}),
        {n: (q[n], r[n]) for n in names},
    )
