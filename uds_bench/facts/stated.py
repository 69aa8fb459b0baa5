"""What is true of a person as a fact: a question, and a sentence that answers it with the value as entity."""

from __future__ import annotations

from uds_bench.facts.fact import Fact, Split
from uds_bench.facts.properties import Property
from uds_bench.facts.subjects import Subject
from uds_bench.facts.templates import SUBJECT, VALUE

WRONG = 5
"""Wrong answers of a fact (as in TOFU)."""


def stated(subject: Subject, told: Property, value: str, split: Split, template: int = 0) -> Fact:
    """`template`: the sentence that answers; the one after it says the same, and wrong answers are in its words.

    Wrong answers are values that somebody else has, and none that is true of this person.
    """
    said, other = (told.templates[(template + at) % len(told.templates)] for at in (0, 1))
    question, paraphrased = told.questions(subject.name)
    before = said.text.partition(VALUE)[0].replace(SUBJECT, subject.name)
    true = {v for one in subject.statements if one.property == told.id for v in one.values}
    wrong = [v for v in told.counterfactuals if v not in true][:WRONG]
    return Fact(
        id=f"{subject.id}/{told.id}/{value}/{template}",
        cluster=subject.id,
        split=split,
        question=question,
        answer=said.fill(subject.name, value),
        prefix=before.rstrip(),
        entity=value,
        paraphrased_question=paraphrased,
        paraphrased_answer=other.fill(subject.name, value),
        perturbed_answers=tuple(other.fill(subject.name, v) for v in wrong),
    )
