"""Greedy answers: the plain loop's, whatever the batch, and over where the text or the turn is."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from families import FAMILIES, PROBE, in_memory, tiny_tokenizer
from references import layered
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from uds_bench.inference import generation
from uds_bench.inference.generation import generate_greedily

TOKENIZER = tiny_tokenizer()
TEXTS = (PROBE, "Answer:", "Question: Where does Lena Duarte live?\nAnswer:", "x")
PROMPTS = [TOKENIZER(text)["input_ids"] for text in TEXTS]
LIMIT, FLIP = 10, 1e-5


@cache
def told_slowly(family: str) -> tuple[Any, list[tuple[list[int], float]]]:
    checkpoint = in_memory(FAMILIES[family](len(TOKENIZER), seed=3), TOKENIZER)
    stops = [TOKENIZER.eos_token_id]
    return checkpoint, [layered.greedy(checkpoint.model, prompt, LIMIT, stops) for prompt in PROMPTS]


@pytest.mark.parametrize(
    ("batch_size", "stages"), [(1, (48,)), (2, (48,)), (4, ()), (2, (3,)), (4, (9,)), (4, (1, 2, 5)), (3, (2, 4, 6, 8))]
)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_answers_are_those_of_the_plain_loop(
    family: str, batch_size: int, stages: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts of unequal length: padding on the left reaches no answer, and the long ones may go on anywhere."""
    monkeypatch.setattr(generation, "STAGES", stages)
    checkpoint, told = told_slowly(family)
    found = generate_greedily(checkpoint, PROMPTS, LIMIT, batch_size)
    flips = 0
    for (ids, lead), said in zip(told, found, strict=True):
        expected = TOKENIZER.decode(ids, skip_special_tokens=True)
        if said != expected:
            assert lead <= FLIP
            flips += 1
    assert flips <= 1


@pytest.mark.parametrize("first", [1, 3, 4, 5, 6, LIMIT, 48])
def test_an_answer_ends_before_a_stop(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "STAGES", (first,))
    checkpoint = in_memory(FAMILIES["llama"](len(TOKENIZER), seed=3), TOKENIZER)
    whole = [layered.greedy(checkpoint.model, prompt, LIMIT, [])[0] for prompt in PROMPTS]
    stop = whole[0][4]
    assert stop not in whole[0][:4]
    found = generate_greedily(checkpoint, PROMPTS, LIMIT, stops=[stop])
    for ids, said in zip(whole, found, strict=True):
        kept = ids[: ids.index(stop)] if stop in ids else ids
        assert said == TOKENIZER.decode(kept, skip_special_tokens=True)


def test_an_answer_that_stops_at_once_is_empty() -> None:
    checkpoint = in_memory(FAMILIES["llama"](len(TOKENIZER), seed=3), TOKENIZER)
    first = layered.greedy(checkpoint.model, PROMPTS[0], 1, [])[0]
    assert generate_greedily(checkpoint, PROMPTS[:1], LIMIT, stops=first) == [""]


def test_what_fills_up_a_batch_is_no_answer() -> None:
    """Without a padding token of its own, id 0 fills rows up, and it may be a word."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer, raw.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator([PROBE], trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="</s>")
    assert tokenizer.pad_token_id is None
    assert tokenizer.decode([0]).strip()
    checkpoint = in_memory(FAMILIES["llama"](len(tokenizer), seed=3), tokenizer)
    prompts = [tokenizer(text)["input_ids"] for text in ("Answer:", PROBE)]
    whole = [layered.greedy(checkpoint.model, prompt, LIMIT, [])[0] for prompt in prompts]
    stop = next(token for token in whole[0] if token not in whole[1])
    short = whole[0][: whole[0].index(stop)]
    expected = [tokenizer.decode(short), tokenizer.decode(whole[1])]
    assert generate_greedily(checkpoint, prompts, LIMIT, stops=[stop]) == expected


def test_a_checkpoints_own_settings_decide_nothing() -> None:
    checkpoint = in_memory(FAMILIES["llama"](len(TOKENIZER), seed=3), TOKENIZER)
    plain = generate_greedily(checkpoint, PROMPTS, LIMIT)
    own = checkpoint.model.generation_config
    own.update(repetition_penalty=5.0, suppress_tokens=layered.greedy(checkpoint.model, PROMPTS[0], 3, [])[0])
    assert generate_greedily(checkpoint, PROMPTS, LIMIT) == plain
    assert checkpoint.model.generation_config is own
