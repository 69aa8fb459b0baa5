"""EM, exact memorization: the share of the answer's tokens that the model would say next, given those before."""

from __future__ import annotations

from uds_bench.metrics.metric import Measured, Metric
from uds_bench.metrics.subject import Subject
from uds_bench.metrics.teacher_forced import Answers, fact_values, near_ties, rendered


def em(found: Answers) -> float:
    """Exact memorization: the share of y_1..y_T whose argmax is right, the closing token left out.

    Args:
        found: The answers to one fact's question, [answers]; the first is read.

    Returns:
        0 to 1; higher is more knowledge.

    Source: UDS guide, appendix I; Tirumala et al., 2022; Lacuna, section 4.2.

    Example:
        Two of three words are right; the closing token, right too, does not count:

        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> found = SimpleNamespace(right=np.array([True, False, True, True]), words=slice(0, 3))
        >>> round(em([found]), 4)
        0.6667
    """
    answer = found[0]
    return float(answer.right[answer.words].mean())


def _compute(subject: Subject, variant: str) -> Measured:
    answers = subject.answers()
    notes = {"rendered": rendered(answers), "near_ties": near_ties(answers)}
    return Measured(fact_values(subject.facts, answers, em), notes)


METRIC = Metric("em", "knowledge", "UDS guide, appendix I; Tirumala et al. 2022", compute=_compute, counts_choices=True)
