"""ES, extraction strength: how little of an answer has to be given for the model to say the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from uds_bench.metrics.metric import FactValue, Measured, Metric
from uds_bench.metrics.subject import Subject
from uds_bench.metrics.teacher_forced import Answers, fact_values, near_ties, rendered

ONE_TOKEN = "the answer is one token: the field's floor makes it 1 whatever the model says"


def extraction_strength(right: NDArray[np.bool_], variant: str) -> float:
    """Extraction strength: the share of an answer that a model says on its own once it is given the rest.

    With m the length of the longest entirely right suffix of y_1..y_T: `textbook` is m/T, `field` is max(m, 1)/T, as
    the field's framework has it, whose floor is what a model that knows nothing scores.

    Args:
        right: Whether each token is the likeliest one under teacher forcing, [T], the closing token left out.
        variant: `field` or `textbook`.

    Returns:
        0 to 1, of `field` 1/T to 1; higher is more knowledge.

    Source: UDS guide, appendix I; Carlini et al., 2021.

    Example:
        >>> right = np.array([True, True, True, False])
        >>> extraction_strength(right, "textbook"), extraction_strength(right, "field")
        (0.0, 0.25)
    """
    wrong = np.flatnonzero(~right)
    length = len(right) - 1 - int(wrong[-1]) if wrong.size else len(right)
    return (max(length, 1) if variant == "field" else length) / len(right)


def _compute(subject: Subject, variant: str) -> Measured:
    answers = subject.answers()

    def strength(found: Answers) -> float:
        return extraction_strength(found[0].right[found[0].words], variant)

    values = fact_values(subject.facts, answers, strength)
    notes = {"rendered": rendered(answers), "near_ties": near_ties(answers)}
    if variant == "field":
        lengths = [len(found[0].logp[found[0].words]) for found in answers]
        single = [v.value is not None and length == 1 for v, length in zip(values, lengths, strict=True)]
        values = [FactValue(v.id, None, ONE_TOKEN) if one else v for v, one in zip(values, single, strict=True)]
        scored = [1 / length for v, length in zip(values, lengths, strict=True) if v.value is not None]
        notes["floor"] = float(np.mean(scored)) if scored else None
    return Measured(values, notes)


METRIC = Metric(
    "es",
    "knowledge",
    "UDS guide, appendix I; Carlini et al. 2021",
    compute=_compute,
    variants=("field", "textbook"),
    counts_choices=True,
)
