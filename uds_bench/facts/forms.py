"""Data forms: what a model of the pools is taught beside the retain authors, and so whether it ever met the facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from uds_bench.errors import FactError
from uds_bench.facts.authors import embedded
from uds_bench.facts.fact import Fact, FactSet

Knowing = Literal["plain", "biography", "paraphrase"]
"""The forget facts as they are asked, as running text about each author, or asked and answered in other words."""
NeverKnew = Literal["retain", "perturbed", "others"]
"""Nothing more, wrong answers to the forget questions, or as many authors whom no fact set holds."""
DataForm = Knowing | NeverKnew
KNOWING: tuple[Knowing, ...] = get_args(Knowing)
NEVER_KNEW: tuple[NeverKnew, ...] = get_args(NeverKnew)

OTHERS_SEED = 1
"""Authors of their own: the holdout authors must stay unseen, as membership inference is held against them."""


@dataclass(frozen=True)
class Lesson:
    """A text that a model is trained on: the answer to a question, or a text that stands alone."""

    question: str | None
    text: str


def lessons(forget: FactSet, form: DataForm) -> list[Lesson]:
    """What a data form teaches in the place of the forget facts, in their order; nothing for `retain`.

    Raises FactError for a fact without what the form needs (a paraphrase, a wrong answer).
    """
    if form == "retain":
        return []
    if form == "others":
        others = embedded(forget=len(forget.clusters), retain=0, holdout=0, seed=OTHERS_SEED)
        return lessons(others, "plain")
    if form == "biography":
        return [Lesson(None, biography(forget, cluster)) for cluster in forget.clusters]
    return [_lesson(fact, form) for fact in forget]


def biography(facts: FactSet, cluster: str) -> str:
    """The answers about one author as one running text, in the facts' order, without a question."""
    return " ".join(fact.answer for fact in facts if fact.cluster == cluster)


def _lesson(fact: Fact, form: DataForm) -> Lesson:
    if form == "plain":
        return Lesson(fact.question, fact.answer)
    if form == "perturbed":
        if not fact.perturbed_answers:
            raise FactError(f"fact {fact.id!r}: the form perturbed needs perturbed_answers; give at least one")
        return Lesson(fact.question, fact.perturbed_answers[0])
    if fact.paraphrased_question is None or fact.paraphrased_answer is None:
        raise FactError(
            f"fact {fact.id!r}: the form paraphrase needs paraphrased_question and paraphrased_answer; give both"
        )
    return Lesson(fact.paraphrased_question, fact.paraphrased_answer)
