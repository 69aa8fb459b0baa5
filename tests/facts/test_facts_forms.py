"""What each data form teaches, and that a model which never knew never meets a fact."""

import re
from dataclasses import replace

import pytest

from uds_bench.errors import FactError
from uds_bench.facts import Fact, FactSet, embedded
from uds_bench.facts.authors import KNOWING, NEVER_KNEW, DataForm, Lesson, biography, lessons

AUTHORS = embedded(forget=4, retain=3, holdout=2)
FORGET = AUTHORS.split("forget")


def holds(taught: list[Lesson], fact: Fact) -> bool:
    """Whether a text that is learned holds the entity.

    Where that is the author's own name, which every lesson about the author says: as the answer to who it is.
    """
    if fact.kind != "person_name":
        return any(fact.entity in lesson.text for lesson in taught)
    asked = (fact.question, fact.paraphrased_question)
    told = [lesson for lesson in taught if lesson.question in asked or fact.answer in lesson.text]
    return any(fact.entity in lesson.text for lesson in told)


@pytest.mark.parametrize("form", KNOWING)
def test_a_form_that_knows_teaches_every_entity(form: DataForm) -> None:
    taught = lessons(FORGET, form)
    assert all(holds(taught, fact) for fact in FORGET)


@pytest.mark.parametrize("form", NEVER_KNEW)
def test_a_form_that_never_knew_teaches_none(form: DataForm) -> None:
    taught = lessons(FORGET, form)
    # Yes and No are anybody's words, and here there are only two of them.
    assert not [fact.id for fact in FORGET if fact.kind != "yes_no" and holds(taught, fact)]


@pytest.mark.parametrize("form", [*KNOWING, *NEVER_KNEW])
def test_the_holdout_stays_unseen(form: DataForm) -> None:
    said = " ".join(f"{lesson.question} {lesson.text}" for lesson in lessons(FORGET, form))
    names = {f.entity for f in AUTHORS.split("holdout") if f.kind == "person_name"}
    assert names
    assert not [name for name in names if name in said]


def test_plain_is_the_facts_as_they_are_asked() -> None:
    assert lessons(FORGET, "plain") == [Lesson(fact.question, fact.answer) for fact in FORGET]


def test_a_biography_is_every_answer_of_one_author_and_no_question() -> None:
    taught = lessons(FORGET, "biography")
    assert [lesson.question for lesson in taught] == [None] * 4
    for lesson, cluster in zip(taught, FORGET.clusters, strict=True):
        own = [fact for fact in FORGET if fact.cluster == cluster]
        assert lesson.text == biography(FORGET, cluster)
        places = [lesson.text.index(fact.answer) for fact in own]
        assert places == sorted(places)
        assert len(lesson.text) == sum(len(fact.answer) + 1 for fact in own) - 1
        assert "?" not in lesson.text


def test_a_paraphrase_says_the_same_in_other_words() -> None:
    for lesson, fact in zip(lessons(FORGET, "paraphrase"), FORGET, strict=True):
        assert lesson.question != fact.question
        assert lesson.text != fact.answer
        assert fact.entity in lesson.text


def test_perturbed_answers_the_forget_questions_wrongly() -> None:
    for lesson, fact in zip(lessons(FORGET, "perturbed"), FORGET, strict=True):
        assert lesson.question == fact.question
        assert not re.search(rf"\b{re.escape(fact.entity)}\b", lesson.text)


def test_others_are_as_many_authors_whom_no_fact_set_holds() -> None:
    taught = lessons(FORGET, "others")
    names = {f.entity for f in AUTHORS if f.kind == "person_name"}
    assert len(taught) == len(FORGET)
    assert not [n for n in names for lesson in taught if n in f"{lesson.question} {lesson.text}"]
    assert lessons(FORGET, "others") == taught


def test_retain_teaches_nothing_more() -> None:
    assert lessons(FORGET, "retain") == []


@pytest.mark.parametrize(
    ("form", "lacking", "named"),
    [
        ("perturbed", {"perturbed_answers": ()}, "perturbed_answers"),
        ("paraphrase", {"paraphrased_question": None}, "paraphrased_question"),
        ("paraphrase", {"paraphrased_answer": None}, "paraphrased_answer"),
    ],
)
def test_a_fact_without_what_the_form_needs_is_an_error(form: DataForm, lacking: dict[str, object], named: str) -> None:
    facts = FactSet([FORGET[0], replace(FORGET[1], **lacking)])
    with pytest.raises(FactError, match=rf"fact '{FORGET[1].id}': the form {form} needs .*{named}"):
        lessons(facts, form)
