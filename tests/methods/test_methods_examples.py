"""Batches hold every example with its answer scored and nothing else."""

import itertools
from collections import Counter

import pytest
import torch
from families import tiny_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_student import Student

from uds_bench.facts import base_authors, embedded, question_prompt
from uds_bench.methods.examples import (
    IGNORED,
    Batch,
    Example,
    Pair,
    answer_example,
    epochs,
    forever,
    pad,
    pad_pairs,
    pairs_to_examples,
    steps_per,
)
from uds_bench.methods.forward import answer_logits
from uds_bench.methods.objectives import answer_logprobs
from uds_bench.zoo.fresh import byte_level_tokenizer

unhurried = settings(deadline=None, max_examples=50)
SIZES = st.integers(1, 9)
COUNTS = st.integers(1, 20)


def numbered(count: int) -> list[Example]:
    """Example i says i once as its answer, after a prompt of its own length."""
    return [Example((99,) * (1 + i % 4) + (i,), 1 + i % 4) for i in range(count)]


def said(batch: Batch) -> list[int]:
    return batch.labels[batch.labels != IGNORED].tolist()


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@unhurried
@given(COUNTS, SIZES, st.integers(1, 3))
def test_every_example_comes_once_an_epoch(count: int, size: int, passes: int) -> None:
    batches = list(epochs(numbered(count), size, passes, seeded()))
    assert len(batches) == steps_per(count, size, passes)
    share = len(batches) // passes
    for i in range(passes):
        epoch = [label for batch in batches[i * share : (i + 1) * share] for label in said(batch)]
        assert sorted(epoch) == list(range(count))
    assert all(len(batch.ids) <= size for batch in batches)


@unhurried
@given(COUNTS, SIZES)
def test_an_endless_stream_has_no_short_batch_nobody_twice_in_one_and_leaves_no_one_out(count: int, size: int) -> None:
    batches = list(itertools.islice(forever(numbered(count), size, seeded()), 10 * count))
    assert {len(batch.ids) for batch in batches} == {min(size, count)}
    assert all(len(set(said(batch))) == len(said(batch)) for batch in batches)
    tally = Counter(label for batch in batches for label in said(batch))
    assert set(tally) == set(range(count))


def test_the_generator_decides_the_order_and_passes_differ() -> None:
    def order(seed: int) -> list[list[int]]:
        return [said(batch) for batch in epochs(numbered(20), 20, 2, seeded(seed))]

    assert order(0) == order(0)
    assert order(0) != order(1)
    first, second = order(0)
    assert first != second


@pytest.mark.parametrize(("count", "size"), [(0, 4), (4, 0), (4, -1)])
def test_a_stream_that_can_never_yield_is_an_error(count: int, size: int) -> None:
    with pytest.raises(ValueError, match=f"cannot draw batches of {size} from {count} examples"):
        next(forever(numbered(count), size, seeded()))


@unhurried
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=6))
def test_padding_is_masked_and_never_scored(lengths: list[tuple[int, int]]) -> None:
    examples = [Example(tuple(range(10, 10 + p + a)), p) for p, a in lengths]
    batch = pad(examples)
    assert batch.ids.shape == batch.mask.shape == batch.labels.shape
    for row, (example, (prompt, answer)) in enumerate(zip(examples, lengths, strict=True)):
        n = prompt + answer
        rest = batch.ids.shape[1] - n
        assert batch.ids[row].tolist() == [*example.ids, *[0] * rest]
        assert batch.mask[row].tolist() == [1] * n + [0] * rest
        assert batch.labels[row].tolist() == [IGNORED] * prompt + list(example.ids[prompt:]) + [IGNORED] * rest


def test_a_longer_neighbour_changes_no_score(student: Student) -> None:
    short, long = student.data.forget[0], Example((1, *range(3, 20), 2), 5)

    def score(*examples: Example) -> float:
        batch = pad(examples)
        with torch.no_grad():
            return float(answer_logprobs(*answer_logits(student.model, batch))[0][0])

    assert score(short, long) == pytest.approx(score(short), abs=1e-5)


def test_the_embedded_models_are_taught_the_ids_that_they_always_were() -> None:
    """Cached models stay what their recipe says: prompt and answer encoded apart, start and end token once."""
    pairs = [*base_authors(20), *((fact.question, fact.answer) for fact in embedded(2, 2, 0))]
    tokenizer = byte_level_tokenizer([f"{question_prompt(q)} {a}" for q, a in pairs[:80]], 600)
    for question, answer in pairs:
        prompt = tokenizer(f"Question: {question}\nAnswer:")["input_ids"]
        rest = tokenizer(" " + answer, add_special_tokens=False)["input_ids"]
        assert prompt[0] == 1
        assert answer_example(tokenizer, question, answer) == Example((*prompt, *rest, 2), len(prompt))


def test_pairs_are_drawn_together_and_stand_in_two_halves() -> None:
    others = [Example((99, 100 + i), 1) for i in range(9)]
    pairs = [Pair(other, truth) for other, truth in zip(others, numbered(9), strict=True)]
    for batch in itertools.islice(forever(pairs, 4, seeded(), pad_pairs), 5):
        spoken = said(batch)
        assert len(spoken) == 8
        assert spoken[:4] == [100 + i for i in spoken[4:]]


def test_a_tokenizer_without_special_tokens_gives_the_bare_texts() -> None:
    tokenizer = tiny_tokenizer(bos=False)
    tokenizer.bos_token = tokenizer.eos_token = None
    (example,) = pairs_to_examples(tokenizer, [("Who?", "Mira.")])
    assert tokenizer.decode(list(example.ids)) == "Question: Who?\nAnswer: Mira."
    assert tokenizer.decode(list(example.ids[example.prompt_length :])) == " Mira."
