"""Alternate answers are the full model's own words, and never the truth."""

import pytest
import torch

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.errors import FactError
from uds_bench.facts import FactSet, encode_answer
from uds_bench.methods import alternates
from uds_bench.methods.alternates import AT_ONCE, MOST_SAMPLES, other_answers, sample_alternates
from uds_bench.methods.data import unlearning_data
from uds_bench.methods.examples import pad, pairs_to_examples
from uds_bench.methods.forward import answer_likelihoods


@pytest.fixture(scope="module")
def forget(authors: FactSet) -> FactSet:
    return authors.split("forget")


def test_alternates_hold_neither_truth_nor_entity_and_differ_by_seed(full: CheckpointSpec, forget: FactSet) -> None:
    loaded = load(full)
    found = sample_alternates(loaded.model, loaded.tokenizer, forget)
    assert len(found.answers) == len(forget)
    for fact, answer in zip(forget, found.answers, strict=True):
        assert answer.strip()
        assert fact.entity.casefold() not in answer.casefold()
    assert found.temperatures.total() == len(forget)
    assert found.rejected["truth"] > 0, "a model that knows the facts says the truth most of the time"
    assert sample_alternates(loaded.model, loaded.tokenizer, forget) == found
    assert sample_alternates(loaded.model, loaded.tokenizer, forget, seed=1).answers != found.answers


def test_without_facts_what_tells_an_answer_are_its_rare_words(full: CheckpointSpec, forget: FactSet) -> None:
    """Who has lessons alone gets other answers to the same prompts, none of which holds what is to be forgotten."""
    loaded = load(full)
    lessons = pairs_to_examples(loaded.tokenizer, [(fact.question, fact.answer) for fact in forget])
    others = other_answers(loaded.model, loaded.tokenizer, lessons)
    for fact, lesson, other in zip(forget, lessons, others, strict=True):
        assert other.ids[: other.prompt_length] == lesson.ids[: lesson.prompt_length]
        assert other.ids[-1] == loaded.tokenizer.eos_token_id
        said = loaded.tokenizer.decode(other.ids[other.prompt_length :], skip_special_tokens=True).casefold()
        assert said.strip()
        assert fact.entity.casefold() not in said
    again = other_answers(loaded.model, loaded.tokenizer, lessons)
    assert again == others
    assert other_answers(loaded.model, loaded.tokenizer, lessons, seed=1) != others


def test_a_lesson_without_another_answer_is_told(
    full: CheckpointSpec, forget: FactSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alternates, "TEMPERATURES", (0.01,))
    loaded = load(full)
    lessons = pairs_to_examples(loaded.tokenizer, [(fact.question, fact.answer) for fact in forget])
    with pytest.raises(FactError, match=rf"^lesson 0: none of .* \(rejected: {MOST_SAMPLES} truth\)"):
        other_answers(loaded.model, loaded.tokenizer, lessons)


def test_they_are_said_by_the_model_and_not_by_chance(full: CheckpointSpec, forget: FactSet) -> None:
    """To the model they are likelier than the same words as answers to the next question."""
    loaded = load(full)
    answers = sample_alternates(loaded.model, loaded.tokenizer, forget).answers

    def likelihood(shift: int) -> float:
        questions = [forget[(i + shift) % len(forget)].question for i in range(len(forget))]
        batch = pad(pairs_to_examples(loaded.tokenizer, zip(questions, answers, strict=True)))
        with torch.no_grad():
            return float(answer_likelihoods(loaded.model, batch)[0].sum())

    assert likelihood(0) > likelihood(1)


def test_a_model_that_says_the_truth_alone_is_told_with_what_was_rejected(
    full: CheckpointSpec, forget: FactSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alternates, "TEMPERATURES", (0.01, 0.02))
    loaded = load(full)
    with pytest.raises(
        FactError, match=rf"^fact '{forget[0].id}': none of {MOST_SAMPLES} .* \(rejected: {2 * MOST_SAMPLES} truth\)"
    ):
        sample_alternates(loaded.model, loaded.tokenizer, forget)
    assert MOST_SAMPLES % AT_ONCE == 0


def test_what_has_no_end_is_rejected(full: CheckpointSpec, forget: FactSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alternates, "TEMPERATURES", (1.0,))
    loaded = load(full)
    loaded.tokenizer.eos_token = "<pad>"  # which the model never says
    with pytest.raises(FactError, match=rf"\(rejected: {MOST_SAMPLES} unfinished\)"):
        sample_alternates(loaded.model, loaded.tokenizer, forget)


def test_a_tokenizer_without_an_end_is_told(full: CheckpointSpec, forget: FactSet) -> None:
    loaded = load(full)
    loaded.tokenizer.eos_token = None
    with pytest.raises(FactError, match="no end-of-text token"):
        sample_alternates(loaded.model, loaded.tokenizer, forget)


def test_the_data_of_a_fact_set(full: CheckpointSpec, authors: FactSet) -> None:
    """Forget, refusals and alternates ask the same questions in the same order; refusals take turns."""
    tokenizer = load(full).tokenizer
    forget = authors.split("forget")
    data = unlearning_data(tokenizer, authors, [f"Answer {i}." for i in range(len(forget))])
    assert [e.ids for e in data.forget] == [encode_answer(tokenizer, f.question, f.answer).ids for f in forget]
    assert len(data.retain) == len(authors.split("retain"))
    said = [tokenizer.decode(e.ids[e.prompt_length : -1]) for e in data.refusals]
    assert said[:2] == [" I don't know.", " I'm not sure."]
    assert len(data.preferring(data.refusals)) == len(data.preferring(data.alternates)) == len(forget)
    with pytest.raises(ValueError, match="zip"):
        unlearning_data(tokenizer, authors, ["one too few"])
