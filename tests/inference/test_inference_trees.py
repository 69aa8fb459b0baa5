"""Answers to one prompt fed as a tree: its shape, and its scores against one unpadded pass for each answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, WINDOW, in_memory
from hypothesis import given
from hypothesis import strategies as st
from references.depth_cases import VOCABULARY, Case
from test_inference_answers import TOLERANCE, agree, plain_rows

from uds_bench.facts import EncodedAnswer
from uds_bench.inference.answers import AnswerScores, score_answers
from uds_bench.inference.trees import answer_tree, pays, same_prompt, tree_batches, tree_mask

SHORT_SIGHTED = {"gemma2", "gemma3", "gemma3_multimodal", "mistral", "olmo3", "phi3"}
"""Families with a window of attention, here of `WINDOW` tokens, which no mask of another shape narrows."""
ARRAYS = ("logp", "mean", "variance", "lead")


def tokens(count: int, seed: int) -> tuple[int, ...]:
    return tuple(torch.randint(3, VOCABULARY, (count,), generator=torch.Generator().manual_seed(seed)).tolist())


def answer(prompt: tuple[int, ...], words: tuple[int, ...], ends: bool = True) -> EncodedAnswer:
    return EncodedAnswer((*prompt, *words, *([2] if ends else [])), len(prompt), ends, "")


def answers() -> list[EncodedAnswer]:
    """Three prompts with several answers and two with one, their answers mixed; some begin alike, two are the same."""
    first, second, third, fourth, fifth = (tokens(n, n) for n in (5, 9, 7, 6, 8))
    words = tokens(12, 0)
    return [
        answer(first, words[:7]),
        answer(second, words[:1]),
        answer(third, tokens(3, 1)),
        answer(first, (*words[:4], *tokens(5, 2))),
        answer(fourth, words[:5]),
        answer(second, words, ends=False),
        answer(first, words[:7]),
        answer(second, ()),
        answer(fifth, tokens(10, 3)),
        answer(first, words[:2]),
        answer(third, tokens(6, 4)),
        answer(first, tokens(2, 5)),
    ]


def far_sighted(family: str) -> Any:
    """The model with the same weights that sees all of every text here."""
    model = FAMILIES[family](VOCABULARY)
    config, weights = model.config, model.state_dict()
    if family in SHORT_SIGHTED:
        config.get_text_config().sliding_window = 64
    wide = type(model)(config)
    wide.load_state_dict(weights)
    return in_memory(wide.eval())


@contextmanager
def fed(model: Any) -> Iterator[list[tuple[int, bool]]]:
    """While open, of each pass how many tokens it was fed, padding included, and whether as trees."""
    found: list[tuple[int, bool]] = []

    def hook(_module: Any, _args: Any, kwargs: dict[str, Any]) -> None:
        found.append((kwargs["input_ids"].numel(), kwargs["attention_mask"].dim() == 4))

    handle = model.model.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield found
    finally:
        handle.remove()


def apart(model: Any, items: list[EncodedAnswer]) -> list[AnswerScores]:
    return [score for item in items for score in score_answers(model, [item])]


def same(found: list[AnswerScores], wanted: list[AnswerScores]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one.answer == other.answer
        for name in ARRAYS:
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=TOLERANCE)
        assert one.right.tolist() == other.right.tolist()


# ---- the tree

some_answers = st.lists(
    st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.integers(0, 5)).map(
        lambda drawn: EncodedAnswer(tuple(drawn[0]), 1 + drawn[1] % len(drawn[0]), True, "")
    ),
    min_size=1,
    max_size=6,
)


@given(some_answers, st.integers(0, 3))
def test_every_answer_lies_in_its_tree_and_nothing_twice(items: list[EncodedAnswer], first: int) -> None:
    tree = answer_tree(items, range(len(items)))
    beginnings = {item.ids[:n] for item in items for n in range(1, len(item.ids))}
    assert len(tree.tokens) == len(tree.positions) == len(beginnings)
    assert len(set(zip(tree.predicting, tree.targets, strict=True))) == len(tree.targets)
    length = first + len(tree.tokens) + 1
    mask = tree_mask([tree], [first], length, torch.float32)
    assert mask.shape == (1, 1, length, length)
    seen = [[i for i in range(length) if row[i] == 0] for row in mask[0, 0].tolist()]
    assert mask[mask != 0].eq(torch.finfo(torch.float32).min).all()
    for item, path, scored in zip(items, tree.paths, tree.scored, strict=True):
        assert [tree.tokens[place] for place in path] == list(item.ids[:-1])
        assert [tree.positions[place] for place in path] == list(range(len(path)))
        for n, place in enumerate(path):
            assert seen[first + place] == sorted(first + before for before in path[: n + 1])
        assert [tree.targets[pair] for pair in scored] == list(item.ids[item.start :])
        assert [tree.predicting[pair] for pair in scored] == list(path[item.start - 1 :])[: len(scored)]
    assert all(seen[i] == [i] for i in (*range(first), length - 1))


@given(some_answers, st.integers(1, 4))
def test_groups_have_one_prompt_and_batches_are_bounded(items: list[EncodedAnswer], most: int) -> None:
    groups = same_prompt(items, most)
    for group in groups:
        assert 1 < len(group) <= most
        assert len({items[i].ids[: items[i].start] for i in group}) == 1
    grouped = [i for group in groups for i in group]
    assert len(grouped) == len(set(grouped))
    limit = most * max(len(item.ids) for item in items)
    batches = tree_batches([answer_tree(items, group) for group in groups], most, limit)
    assert sorted(row for batch in batches for tree in batch for row in tree.rows) == sorted(grouped)
    for batch in batches:
        assert len(batch) <= most
        assert len(batch) * max(len(tree.tokens) for tree in batch) <= limit


def test_long_answers_that_share_little_are_no_tree() -> None:
    def of(prompt: int, words: int, count: int = 5) -> bool:
        items = [answer(tokens(prompt, 0), tokens(words, 1 + seed)) for seed in range(count)]
        return pays(answer_tree(items, range(count)))

    assert of(20, 20)
    assert of(300, 30)
    assert of(20, 20, count=2)
    assert not of(30, 300)
    assert not of(300, 300)
    assert not of(20, 20, count=1)
    assert not of(1, 100, count=2)
    model, items = Case("llama").full, [answer(tokens(1, 0), tokens(60, 1 + seed)) for seed in range(3)]
    with fed(model) as passes:
        score_answers(model, items)
    assert [as_tree for _, as_tree in passes] == [False]


# ---- its scores


@cache
def scored_apart(family: str) -> tuple[Any, list[EncodedAnswer], list[AnswerScores]]:
    """Each answer alone, which is the plain pass."""
    model, items = far_sighted(family), answers()
    alone = apart(model, items)
    for found, item in zip(alone, items, strict=True):
        assert agree(found, item, plain_rows(model.model, item)) == 0
    return model, items, alone


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_batch_size_and_side_is_the_plain_pass(family: str, side: Any) -> None:
    """On every family that sees all of the text, trees are fed and score as each answer alone."""
    model, items, alone = scored_apart(family)
    # What padding on the left could break, it breaks where a batch is full, uneven, or of one.
    for size in range(1, len(items) + 1) if side == "right" else (1, 3, 5, len(items)):
        with fed(model) as passes:
            same(score_answers(model, items, size, side), alone)
        # Two passes decide; then the trees come first.
        assert [as_tree for _, as_tree in passes[:3]] == ([False, True, True] if size > 1 else [False] * 3)
        longest = max(len(item.ids) for item in items)
        assert all(count <= size * longest for count, _ in passes[2:])


def test_families_with_a_narrow_window_are_fed_each_answer_apart(case: Case) -> None:
    model, items = case.full, answers()
    assert min(len(item.ids) for item in items) > WINDOW
    with fed(model) as passes:
        found = score_answers(model, items)
    same(found, apart(model, items))
    trees = [as_tree for _, as_tree in passes[2:]]
    assert any(trees) == (case.family not in SHORT_SIGHTED)
    for score, item in zip(found, items, strict=True):
        assert agree(score, item, plain_rows(model.model, item)) == 0


def test_what_is_shared_is_fed_once() -> None:
    model, prompt = Case("llama").full, tokens(20, 0)
    items = [answer(prompt, tokens(4, seed)) for seed in range(5)]
    with fed(model) as passes:
        score_answers(model, items)
    # All five answers but their closing tokens, which predict nothing.
    assert passes[2:] == [(20 + 5 * 4, True)]


def test_no_more_tokens_at_once_than_without_sharing() -> None:
    model = Case("llama").full
    items = [answer(tokens(5, 100 + prompt), tokens(6, 4 * prompt + n)) for prompt in range(6) for n in range(4)]
    with fed(model) as passes:
        same(score_answers(model, items, 4), apart(model, items))
    # A tree has 5 + 4 * 6 tokens, an answer 12 with its prompt.
    assert passes[2:8] == [(29, True)] * 6


def test_a_model_that_refuses_the_mask_or_rounds_coarsely_is_fed_each_answer_apart() -> None:
    items = answers()
    refusing = in_memory(FAMILIES["llama"](VOCABULARY))

    def refuse(_module: Any, _args: Any, kwargs: dict[str, Any]) -> None:
        if kwargs["attention_mask"].dim() == 4:
            raise TypeError("a mask has two dimensions")

    expected = score_answers(refusing, items)
    with fed(refusing) as passes:
        handle = refusing.model.register_forward_pre_hook(refuse, with_kwargs=True)
        same(score_answers(refusing, items), expected)
        handle.remove()
    assert [as_tree for _, as_tree in passes] == [False, True, False]
    coarse = in_memory(FAMILIES["llama"](VOCABULARY).bfloat16())
    with fed(coarse) as passes:
        score_answers(coarse, items)
    assert [as_tree for _, as_tree in passes] == [False]


def test_a_broken_model_is_fed_each_answer_apart_and_shows() -> None:
    broken = in_memory(FAMILIES["llama"](VOCABULARY))
    broken.model.model.layers[1].mlp.up_proj.weight.data[0, 0] = float("nan")
    with fed(broken) as passes:
        found = score_answers(broken, answers())
    assert [as_tree for _, as_tree in passes] == [False, True, False]
    assert all(np.isnan(score.logp).all() for score in found)


def test_answers_without_a_token_agree_to_nothing() -> None:
    model, prompt = Case("llama").full, tokens(5, 0)
    empty = [answer(prompt, (), ends=False)] * 2
    assert [score.logp.size for score in score_answers(model, empty)] == [0, 0]
