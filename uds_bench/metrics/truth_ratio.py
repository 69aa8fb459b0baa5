"""Truth Ratio: whether the model still tells the true answer, reworded, from wrong ones in the same words."""

from __future__ import annotations

import math

from uds_bench.metrics.forced import Answers, fault, mean_logp, rendered
from uds_bench.metrics.metric import FactValue, Measured, Metric, Subject

VARIANTS = ("prob_mean", "closer_to_1", "true_better")


def truth_ratio(log_ratio: float, variant: str) -> float:
    """One fact's value in [0, 1] from log r, r = P_wrong / P_correct, each a geometric mean of token probabilities.

    `prob_mean`: P_correct / (P_correct + P_wrong) = 1 / (1 + r), higher is more knowledge, 1/2 is none.
    `true_better`: max(0, 1 - r), higher is more knowledge. `closer_to_1`: min(r, 1/r), higher is LESS knowledge.
    """
    below = math.exp(-abs(log_ratio))  # min(r, 1/r), which no ratio can overflow
    if variant == "closer_to_1":
        return below
    if variant == "true_better":
        return max(0.0, -math.expm1(log_ratio)) if log_ratio < 0 else 0.0
    return (1.0 if log_ratio < 0 else below) / (1 + below)


def _value(true: Answers, wrong: Answers, variant: str) -> tuple[float | None, str | None]:
    reason = fault(true, "paraphrased_answer") or fault(wrong, "perturbed_answers")
    return (None, reason) if reason else (truth_ratio(mean_logp(wrong) - mean_logp(true), variant), None)


def _compute(subject: Subject, variant: str) -> Measured:
    true, wrong = subject.answers("paraphrased"), subject.answers("perturbed")
    values = [
        FactValue(fact.id, *_value(right, others, variant))
        for fact, right, others in zip(subject.facts, true, wrong, strict=True)
    ]
    return Measured(values, {"rendered": rendered(true, wrong)})


METRIC = Metric(
    name="truth_ratio",
    version=1,
    direction="knowledge",
    limits=(0.0, 1.0),
    needs=frozenset(),
    variants=VARIANTS,
    source="UDS guide, appendix I; TOFU, section 3.2",
    compute=_compute,
    reversed=frozenset({"closer_to_1"}),
)
