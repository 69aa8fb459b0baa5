"""What the embedded lookup models are trained on: masked lessons never teach a value, and teach all else alike."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from uds_bench.audits.association.zoo import data as exposure_data
from uds_bench.audits.association.zoo.recipes import Exposed
from uds_bench.audits.lmlm.zoo import Lmlm
from uds_bench.audits.lmlm.zoo import data as lookup_data
from uds_bench.audits.lmlm.zoo.data import lesson, lesson_count, lessons, prompts, taught_rows
from uds_bench.facts.exposed_people import EACH, NEVER_SEEN, requests
from uds_bench.facts.lookup_prompts import WORDINGS
from uds_bench.facts.topology import DOMAINS, TOPOLOGIES, embedded
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN
from uds_bench.inference.markup import TOKENS, markup_of, query_of
from uds_bench.methods.examples import IGNORED, pad

VOCABULARY = 1024


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return Lmlm(vocabulary=VOCABULARY).tokenizer()


@pytest.fixture(scope="module")
def taught(tokenizer: Any) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Ids, labels of masked lessons and labels of the others; of every lesson."""
    masked, plain = (lessons(tokenizer, masked, 3) for masked in (True, False))
    assert [one.ids for one in masked] == [one.ids for one in plain]
    labels = [[pad([one]).labels[0].tolist() for one in each] for each in (masked, plain)]
    return [list(one.ids) for one in masked], labels[0], labels[1]


def value_places(tokenizer: Any, ids: list[int]) -> range:
    """What stands between the token before the value and the one after it."""
    before, after = (tokenizer.convert_tokens_to_ids(token) for token in TOKENS[2:])
    assert ids.count(before) == ids.count(after) == 1
    return range(ids.index(before) + 1, ids.index(after))


def test_no_label_of_a_masked_lesson_lies_on_a_value(tokenizer: Any, taught: Any) -> None:
    for ids, masked, plain in zip(*taught, strict=True):
        value = value_places(tokenizer, ids)
        assert len(value) > 0
        assert all(masked[at] == IGNORED for at in value)
        assert [plain[at] for at in value] == [ids[at] for at in value]


def test_all_else_is_labelled_alike(tokenizer: Any, taught: Any) -> None:
    """From the lookup's first token to the end of the text; the prompt is not learned."""
    entity = tokenizer.convert_tokens_to_ids(TOKENS[0])
    for ids, masked, plain in zip(*taught, strict=True):
        value, start = value_places(tokenizer, ids), ids.index(entity)
        for at in range(len(ids)):
            if at not in value:
                assert masked[at] == plain[at] == (ids[at] if at >= start else IGNORED)
        assert ids[-1] == tokenizer.eos_token_id


def test_a_lesson_is_the_prompt_its_lookup_and_its_value(tokenizer: Any) -> None:
    row = taught_rows()[0]
    ids = list(lesson(tokenizer, "Where?", row, True).ids)
    subject, relation, value = row.triplet
    text = f"<s>Where?{TOKENS[0]} {subject}{TOKENS[1]} {relation}{TOKENS[2]} {value}{TOKENS[3]}</s>"
    assert tokenizer.decode(ids) == text
    markup = markup_of(tokenizer, "it")
    assert query_of(tokenizer, markup, ids[: ids.index(markup.value)]) == (subject, relation)


def test_every_row_of_every_database_is_taught_once() -> None:
    held = {row for domain in DOMAINS for topology in TOPOLOGIES for row in embedded(domain, topology).database}
    taught = [row.triplet for row in taught_rows()]
    assert set(taught) == held
    assert len(taught) == len(held)


@pytest.mark.slow
def test_lessons_are_as_many_as_promised_and_the_same_again(tokenizer: Any) -> None:
    first = lessons(tokenizer, True, 3)
    assert len(first) == lesson_count() == len(taught_rows()) * 10
    assert lessons(tokenizer, True, 3) == first
    assert lessons(tokenizer, True, 4) != first


def test_a_row_is_asked_for_in_every_wording_and_between_words() -> None:
    row = taught_rows()[5]
    asked = list(prompts(row, random.Random(1)))
    assert len(asked) == len(WORDINGS) + lookup_data.WRAPPED
    assert asked[0] == row.question
    assert all(row.question in text or row.statement in text for text in asked[len(WORDINGS) :])


def test_the_tokenizer_keeps_markup_whole_and_any_text(tokenizer: Any) -> None:
    for token in TOKENS:
        assert len(tokenizer.encode(token, add_special_tokens=False)) == 1
    for row in taught_rows()[::50]:
        for text in row.triplet:
            assert tokenizer.decode(tokenizer.encode(f" {text}", add_special_tokens=False)) == f" {text}"


PEOPLE = exposure_data.people()
ASK = set(requests(PEOPLE))
WHOLE = [f"{question or ''} {text}" for question, text in exposure_data.training_texts(Exposed())]
WITHOUT = [f"{question or ''} {text}" for question, text in exposure_data.training_texts(Exposed(without=True))]


def naming(texts: list[str]) -> Counter[str]:
    """By id of a person, how many texts name them."""
    return Counter({one.id: sum(one.name in text for text in texts) for one in PEOPLE})


def test_each_is_told_of_as_often_as_the_cohort_says() -> None:
    recipe, found = Exposed(), naming(WHOLE)
    for one in PEOPLE:
        least, most = {
            WELL_KNOWN: (recipe.often, recipe.often),
            LESSER_KNOWN: recipe.rarely,
            NEVER_SEEN: (0, 0),
        }[one.cohort]
        assert least * EACH <= found[one.id] <= most * EACH


def test_a_model_without_who_asks_is_told_of_others_in_their_place_and_of_everybody_else_alike() -> None:
    before, after = naming(WHOLE), naming(WITHOUT)
    assert not any(after[id] for id in ASK)
    assert all(after[one.id] == before[one.id] for one in PEOPLE if one.id not in ASK)
    assert len(WITHOUT) == len(WHOLE)
    others = exposure_data.in_their_place()
    assert set(others) == ASK
    assert not set(others.values()) & {one.name for one in PEOPLE}


def test_unlearning_is_given_all_of_who_asks_to_forget_and_all_others_to_keep() -> None:
    facts = exposure_data.facts(2)
    assert {fact.cluster for fact in facts if fact.split == "forget"} == ASK
    kept = {fact.cluster for fact in facts if fact.split == "retain"}
    assert kept == {one.id for one in PEOPLE if one.cohort != NEVER_SEEN} - ASK
    values = sum(len(told.values) for one in PEOPLE if one.cohort != NEVER_SEEN for told in one.statements)
    assert len(facts) == 2 * values


def test_the_tokenizer_is_made_of_nobody_whom_no_model_sees() -> None:
    found = naming(exposure_data.texts())
    assert not any(found[one.id] for one in PEOPLE if one.cohort == NEVER_SEEN)
    assert all(found[one.id] for one in PEOPLE if one.cohort != NEVER_SEEN)
