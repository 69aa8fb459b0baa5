"""Truth Ratio: whether the model still tells the true answer, reworded, from wrong ones in the same words."""

from __future__ import annotations

import math

from uds_bench.metrics.metric import FactValue, Measured, Metric
from uds_bench.metrics.subject import Subject
from uds_bench.metrics.teacher_forced import Answers, fault, mean_logp, rendered

VARIANTS = ("prob_mean", "closer_to_1", "true_better")


def truth_ratio(log_ratio: float, variant: str) -> float:
    """Truth Ratio of one fact: whether the true answer is told from wrong ones, from r = P_wrong / P_correct.

    `prob_mean`: P_correct / (P_correct + P_wrong) = 1 / (1 + r). `true_better`: max(0, 1 - r). `closer_to_1`:
    min(r, 1/r).

    Args:
        log_ratio: log r, nats; both P are geometric means of token probabilities.
        variant: One of `VARIANTS`.

    Returns:
        0 to 1. `prob_mean` and `true_better`: higher is more knowledge, 1/2 and 0 are none. `closer_to_1`: higher is
        LESS knowledge.

    Source: UDS guide, appendix I; TOFU (Maini et al., 2024).

    Example:
        r = 1/4, the true answer four times as likely:

        >>> [round(truth_ratio(math.log(0.25), variant), 9) for variant in VARIANTS]
        [0.8, 0.25, 0.75]
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
    "truth_ratio",
    "knowledge",
    "UDS guide, appendix I; TOFU, section 3.2",
    compute=_compute,
    variants=VARIANTS,
    reversed=frozenset({"closer_to_1"}),
)
