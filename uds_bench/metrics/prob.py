"""Prob and ParaProb: how likely the model holds the true answer, as it stands and said in other words."""

from __future__ import annotations

import math

from uds_bench.facts import Form
from uds_bench.metrics.metric import Measured, Metric
from uds_bench.metrics.subject import Subject
from uds_bench.metrics.teacher_forced import Answers, fact_values, mean_logp, rendered


def prob(found: Answers) -> float:
    """Probability of the true answer: exp(-sum NLL / n) of its n labelled tokens, the closing one counted.

    Args:
        found: The answers of one form to one fact's question, [answers]; of several, the geometric mean.

    Returns:
        0 to 1; higher is more knowledge.

    Source: UDS guide, appendix I; TOFU (Maini et al., 2024).

    Example:
        Two tokens of probability 1/4 and 1:

        >>> from types import SimpleNamespace
        >>> import numpy as np
        >>> prob([SimpleNamespace(logp=np.log([0.25, 1.0]))])
        0.5
    """
    return math.exp(mean_logp(found))


def _metric(name: str, form: Form, lacks: str, source: str) -> Metric:
    def compute(subject: Subject, variant: str) -> Measured:
        answers = subject.answers(form)
        return Measured(fact_values(subject.facts, answers, prob, lacks=lacks), {"rendered": rendered(answers)})

    return Metric(name, "knowledge", f"UDS guide, appendix I{source}", compute=compute)


PROB = _metric("prob", "original", "answer", "; TOFU, section 3.2")
PARA_PROB = _metric("para_prob", "paraphrased", "paraphrased_answer", "")
METRICS = (PROB, PARA_PROB)
