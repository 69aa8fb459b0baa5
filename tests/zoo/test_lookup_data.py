"""What the embedded lookup models are trained on: masked lessons never teach a value, and teach all else alike."""

from __future__ import annotations

import random
from typing import Any

import pytest

from uds_bench.audits.lmlm.zoo import Lmlm
from uds_bench.audits.lmlm.zoo import data as lookup_data
from uds_bench.audits.lmlm.zoo.data import lesson, lesson_count, lessons, prompts, taught_rows
from uds_bench.facts.lookup_prompts import WORDINGS
from uds_bench.facts.topology import DOMAINS, TOPOLOGIES, embedded
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
