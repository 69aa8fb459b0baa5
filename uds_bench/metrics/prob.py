"""Prob: how likely the model holds the true answer."""

from __future__ import annotations

import math

from uds_bench.metrics.forced import Answers, fact_values, mean_logp, rendered
from uds_bench.metrics.metric import Measured, Metric, Subject


def prob(found: Answers) -> float:
    """exp(-sum NLL / n) of one answer's n labelled tokens, the closing one counted; of several, the geometric mean.

    In [0, 1]; higher is more knowledge.
    """
    return math.exp(mean_logp(found))


def _compute(subject: Subject, variant: str) -> Measured:
    answers = subject.answers()
    return Measured(fact_values(subject.facts, answers, prob), {"rendered": rendered(answers)})


METRIC = Metric(
    name="prob",
    version=1,
    direction="knowledge",
    limits=(0.0, 1.0),
    needs=frozenset(),
    variants=("default",),
    source="UDS guide, appendix I; TOFU, section 3.2",
    compute=_compute,
)
