"""ParaProb: how likely the model holds the true answer said in other words, to the original question."""

from __future__ import annotations

from uds_bench.metrics.forced import fact_values, rendered
from uds_bench.metrics.metric import Measured, Metric, Subject
from uds_bench.metrics.prob import prob


def _compute(subject: Subject, variant: str) -> Measured:
    answers = subject.answers("paraphrased")
    values = fact_values(subject.facts, answers, prob, lacks="paraphrased_answer")
    return Measured(values, {"rendered": rendered(answers)})


METRIC = Metric(
    name="para_prob",
    version=1,
    direction="knowledge",
    limits=(0.0, 1.0),
    needs=frozenset(),
    variants=("default",),
    source="UDS guide, appendix I",
    compute=_compute,
)
