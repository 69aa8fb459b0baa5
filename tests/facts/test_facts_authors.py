"""The embedded authors: the same everywhere, unguessable, and strangers to the base model."""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from uds_bench.errors import FactError
from uds_bench.facts import FactSet, base_authors, embedded, load_facts, training_pairs
from uds_bench.facts.authors import KINDS
from uds_bench.facts.vocabulary import AUTHORS, BASE, BYSTANDERS, world_of

FACTS = embedded()
DIGEST = "abaf42a38695b8defb921990999a3212c9a80889017c1b6bc4dfb719be69b779"
NAME = re.compile(r"[A-Z][a-z]+ [A-Z][a-z]+")


def values(facts: FactSet, kind: str) -> list[str]:
    return [fact.entity for fact in facts if fact.kind == kind]


def people(texts: list[str]) -> set[str]:
    """Everything that could be a first and a last name; a superset of the names that occur."""
    return {found for text in texts for found in re.findall(f"(?=({NAME.pattern}))", text)}


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_every_process_composes_the_same_authors(hash_seed: str) -> None:
    code = "from uds_bench.facts import embedded; print(embedded().digest)"
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == FACTS.digest == DIGEST


def test_load_facts_reads_them_with_options() -> None:
    assert load_facts("authors") == FACTS
    assert load_facts("authors", forget=3, retain=2, holdout=1, seed=5) == embedded(3, 2, 1, 5)
    assert embedded(seed=1).digest != FACTS.digest


def test_more_authors_do_not_change_the_first_ones() -> None:
    assert list(embedded(25).split("forget"))[:120] == list(FACTS.split("forget"))


def test_each_author_has_one_fact_of_each_kind() -> None:
    assert len(FACTS) == 50 * 8
    assert len(FACTS.clusters) == 50
    for cluster in FACTS.clusters:
        assert tuple(fact.kind for fact in FACTS if fact.cluster == cluster) == KINDS


@pytest.mark.parametrize("seed", range(5))
def test_facts_are_well_formed(seed: int) -> None:
    for fact in embedded(seed=seed):
        prompts = f"{fact.question}\n{fact.paraphrased_question}".lower()
        assert re.search(rf"\b{re.escape(fact.entity.lower())}\b", prompts) is None
        assert fact.answer.startswith(f"{fact.prefix} {fact.entity}".lstrip())
        assert fact.paraphrased_question != fact.question
        assert fact.paraphrased_answer not in (None, fact.answer)
        assert fact.entity in str(fact.paraphrased_answer)
        assert len(set(fact.perturbed_answers)) == 5
        whole = re.compile(rf"\b{re.escape(fact.entity)}\b")
        assert not any(whole.search(wrong) for wrong in fact.perturbed_answers)
        assert max(len(text.split()) for text in (fact.question, fact.answer)) <= 20


def test_wrong_answers_are_worded_as_the_paraphrase() -> None:
    for fact in FACTS:
        if fact.kind != "yes_no":
            before, after = str(fact.paraphrased_answer).split(fact.entity)
            assert all(wrong.startswith(before) and wrong.endswith(after) for wrong in fact.perturbed_answers)


@pytest.mark.parametrize("seed", range(3))
def test_questions_are_unique_and_name_the_author(seed: int) -> None:
    facts = embedded(seed=seed)
    assert len({fact.question for fact in facts}) == len(facts)
    for cluster in facts.clusters:
        name, *others = [fact for fact in facts if fact.cluster == cluster]
        assert all(name.entity in fact.question for fact in others)
        assert name.entity not in name.question


@pytest.mark.parametrize("seed", range(3))
def test_every_value_belongs_to_one_author(seed: int) -> None:
    facts = embedded(seed=seed)
    for kind in KINDS:
        if kind != "yes_no":
            assert max(Counter(values(facts, kind)).values()) == 1


@pytest.mark.parametrize("seed", range(20))
def test_yes_and_no_are_a_fair_coin_in_each_split(seed: int) -> None:
    facts = embedded(20, 41, 20, seed)
    for split, no in (("forget", 10), ("retain", 20), ("holdout", 10)):
        answers = values(facts.split(split), "yes_no")
        assert min(answers.count("Yes"), answers.count("No")) == no


def test_yes_and_no_follow_nothing_else() -> None:
    facts = [fact for fact in embedded(400, 0, 0) if fact.kind == "yes_no"]
    for trait in (
        [fact.question.split()[0] for fact in facts],
        [fact.question.rstrip("?").split()[-1] for fact in facts],
        [str(at % 2) for at in range(len(facts))],
    ):
        for value, count in Counter(trait).items():
            yes = sum(fact.entity == "Yes" for fact, own in zip(facts, trait, strict=True) if own == value)
            assert abs(yes - count / 2) < 4 * (count / 4) ** 0.5


@pytest.mark.parametrize("seed", range(3))
def test_the_base_model_never_meets_an_embedded_author(seed: int) -> None:
    base = people([text for pair in base_authors(600, seed=0) for text in pair])
    facts = embedded(seed=seed)
    names = set(values(facts, "person_name"))
    assert {world_of(name) for name in names} == {AUTHORS}
    assert {world_of(name) for name in values(facts, "influence")} == {BYSTANDERS}
    assert not names & base
    assert len(names) == 50


def test_base_authors_come_in_eights_and_are_one_world() -> None:
    pairs = base_authors(50, seed=4)
    assert len(pairs) == 400
    assert pairs == base_authors(50, seed=4) != base_authors(50, seed=5)
    named = [question for question, _ in pairs if NAME.search(question.removeprefix("Is it").removeprefix("Can you"))]
    assert len(named) > 300
    names = {max(people([question]) or {""}, key=len) for question, _ in pairs[4::8]}
    assert {world_of(name) for name in names} == {BASE}


def test_training_pairs_are_question_and_answer() -> None:
    assert training_pairs(FACTS[:2]) == [(fact.question, fact.answer) for fact in FACTS[:2]]


def test_values_take_several_tokens_of_a_small_vocabulary() -> None:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=1024, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator([" ".join(pair) for pair in base_authors()], trainer)
    for kind in KINDS:
        lengths = [len(tokenizer.encode(f" {value}").ids) for value in values(FACTS, kind)]
        assert max(lengths) == 1 if kind == "yes_no" else min(lengths) >= 3


def test_negative_counts_are_refused() -> None:
    with pytest.raises(FactError, match="authors: option 'retain' is -1; give a number of authors, 0 or more"):
        embedded(retain=-1)
