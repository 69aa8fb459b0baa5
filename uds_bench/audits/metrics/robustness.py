"""Robustness of a metric: does it stay put under quantization, and move as it should under relearning?

UDS guide, section 4.1 and appendix E. All values are oriented by `oriented` first; Q depends on it, R does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from uds_bench.audits.metrics.estimate import Estimate, harmonic, mean_over_models


def oriented(value: float, converted: bool) -> float:
    """What Q and R are taken of: 1 - m for the metrics that the direction table converts, else m itself.

    Args:
        value: m, 0 to 1.
        converted: Whether the table does.

    Returns:
        0 to 1.

    Example:
        >>> oriented(0.25, True), oriented(0.25, False)
        (0.75, 0.25)
    """
    return 1 - value if converted else value


def symmetric_q(before: float, after: float) -> float:
    """How far a metric stays put under quantization: 1 - |after - before| / (|before| + |after|).

    R, how far it moves under relearning as the retain model's does, is the same of the two changes.

    Args:
        before: The metric before the attack, any unit; for R the change of the unlearned model's value.
        after: The metric after it, the same unit; for R the change of the retain model's.

    Returns:
        0 to 1: 1 if the attack changed nothing, whatever the side. 0 where the two have opposite signs or exactly one
        is 0; 1 where both are 0. NaN stays NaN.

    Source: UDS guide, section 4.1 and appendix E.

    Example:
        >>> symmetric_q(0.25, 0.75), symmetric_q(0.75, 0.25), symmetric_q(0.0, 0.5)  # 1 - 0.5 / 1
        (0.5, 0.5, 0.0)
    """
    size = abs(before) + abs(after)
    return 1.0 if size == 0 else 1 - abs(after - before) / size


def one_sided_q(before: float, after: float) -> float:
    """The field's Q, min(before / after, 1): a fall counts as perfect, which is what the symmetric form is for.

    Args:
        before: The metric before the attack, 0 and above.
        after: The metric after it, the same unit.

    Returns:
        0 to 1, higher is more robust; NaN for a negative value, of which a ratio says nothing.

    Source: UDS guide, appendix E.

    Example:
        >>> one_sided_q(0.25, 0.5), one_sided_q(0.5, 0.25)
        (0.5, 1.0)
    """
    if not (before >= 0 and after >= 0):
        return math.nan
    return 1.0 if after <= before else before / after


def one_sided_r(unlearned: float, retain: float) -> float:
    """The field's R, min(retain / unlearned, 1), of two changes by relearning: to regain less than retain is perfect.

    The quotient is meant of gains. An unlearned model that gains nothing has regained nothing (1); one that gains where
    the retain model does not has regained everything that it gained (0).

    Args:
        unlearned: Change of the unlearned model's value, after less before, any unit.
        retain: Change of the retain model's, the same unit.

    Returns:
        0 to 1, higher is more robust; NaN stays NaN.

    Source: UDS guide, appendix E.

    Example:
        >>> one_sided_r(0.5, 0.25), one_sided_r(-0.5, 0.25), one_sided_r(0.5, -0.25)
        (0.5, 1.0, 0.0)
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
    """Q, R and Rob = HM(Q, R) of a metric over unlearned models.

    Args:
        before: By model, its raw value, 0 to 1.
        quantized: The same under quantization.
        relearned: The same after relearning.
        retain: The retain model's value before and after relearning.
        converted: Whether 1 - m is taken.

    Returns:
        Estimates of 0 to 1, higher is more robust, with intervals over models.

    Raises:
        KeyError: A model lacks one of the three: no model is left out silently.

    Source: UDS guide, section 4.1.

    Example:
        Q = 1 - 0.5 / 1, and a change of 0.25 as the retain model's is R = 1:

        >>> found = robustness({"a": 0.25}, {"a": 0.75}, {"a": 0.5}, (0.0, 0.25), converted=False)
        >>> found.q.value, found.r.value, round(found.rob.value, 4)
        (0.5, 1.0, 0.6667)
    """
    names = list(before)
    was = {n: oriented(before[n], converted) for n in names}
    pairs = {n: (was[n], oriented(quantized[n], converted)) for n in names}
    changes = {n: oriented(relearned[n], converted) - was[n] for n in names}
    change = oriented(retain[1], converted) - oriented(retain[0], converted)
    q = {n: symmetric_q(*pairs[n]) for n in names}
    r = {n: symmetric_q(changes[n], change) for n in names}
    found_q, found_r = mean_over_models(q), mean_over_models(r)
    return Robustness(
        found_q,
        found_r,
        harmonic(found_q, found_r),
        mean_over_models({n: one_sided_q(*pairs[n]) for n in names}),
        mean_over_models({n: one_sided_r(changes[n], change) for n in names}),
        {n: (q[n], r[n]) for n in names},
    )
