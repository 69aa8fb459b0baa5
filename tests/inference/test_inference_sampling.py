"""Sampled replies: drawn from the model's own probabilities, whatever else is in the batch."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from families import FAMILIES, PROBE, in_memory, tiny_tokenizer
from scipy import stats

from uds_bench.inference import generation
from uds_bench.inference.generation import DrawnToken, continue_greedily, sample

TOKENIZER = tiny_tokenizer()
PROMPTS = [TOKENIZER(text)["input_ids"] for text in (PROBE, "Answer:", "Where does Lena live?", "x")]
KEYS = ["a", "b", "c", "d"]
LIMIT = 20


def loaded(family: str) -> Any:
    return in_memory(FAMILIES[family](len(TOKENIZER), seed=3), TOKENIZER)


def slowly(checkpoint: Any, prompt: list[int], key: str, temperature: float) -> tuple[list[int], float]:
    """One token at a time from whole passes; with the least distance of a number from the end of a share."""
    luck, said, near = random.Random(key), list[int](), 1.0
    for _ in range(LIMIT):
        logits = checkpoint.model(torch.tensor([[*prompt, *said]])).logits[0, -1].double()
        number, total = luck.random(), 0.0
        shares = torch.softmax(logits / temperature, -1).tolist()
        token = -1
        while total <= number:
            token += 1
            total += shares[token]
            near = min(near, abs(total - number))
        if token == TOKENIZER.eos_token_id:
            return said, near
        said.append(token)
    return said, near


@pytest.mark.parametrize("batch_size", [1, 3, 8])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("temperature", [0.5, 1.5])
def test_a_sample_is_what_a_plain_loop_draws(
    family: str, batch_size: int, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "STAGES", (2, 5))
    checkpoint = loaded(family)
    found = sample(checkpoint, PROMPTS, KEYS, LIMIT, temperature, batch_size)
    for one, prompt, key in zip(found, PROMPTS, KEYS, strict=True):
        said, near = slowly(checkpoint, prompt, key, temperature)
        assert list(one.ids) == said or near < 1e-6


def test_few_that_are_left_of_several_batches_go_on_together_to_their_own_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Batches are left at different stages, so that some of those who go on together have more said than others."""
    monkeypatch.setattr(generation, "STAGES", (1, 2, 3, 4, 6, 8, 12))
    checkpoint = loaded("llama")
    prompts = [PROMPTS[i % len(PROMPTS)] for i in range(40)]
    keys, stops = [f"draw {i}" for i in range(40)], range(0, len(TOKENIZER), 8)
    alone = sample(checkpoint, prompts, keys, 24, 2.0, 1, stops)
    assert sample(checkpoint, prompts, keys, 24, 2.0, 8, stops) == alone
    assert sum(one.ended for one in alone) < 40, "some meet the limit"


def test_without_warmth_it_is_greedy() -> None:
    checkpoint = loaded("llama")
    assert sample(checkpoint, PROMPTS, KEYS, LIMIT, 1e-4) == continue_greedily(checkpoint, PROMPTS, LIMIT)


def test_tokens_come_as_often_as_the_model_gives_them() -> None:
    scores = torch.tensor([2.0, 0.0, -1.0, -torch.inf, 1.0])
    numbers = torch.rand(20_000, 1, generator=torch.Generator().manual_seed(0))
    drawn = DrawnToken(numbers, torch.ones(20_000, dtype=torch.long), 2.0)
    left = drawn(torch.zeros(20_000, 1), scores.repeat(20_000, 1))
    counts = left.argmax(-1).bincount(minlength=5)
    expected = torch.softmax(scores.double() / 2, -1) * 20_000
    assert counts[3] == 0
    kept = [0, 1, 2, 4]
    assert stats.chisquare(counts[kept].numpy(), expected[kept].numpy()).pvalue > 1e-3
    assert torch.isfinite(left).sum(-1).eq(1).all()


@pytest.mark.parametrize(("number", "token"), [(0.0, 1), (0.4999, 1), (0.5, 3), (0.99999994, 3)])
def test_a_number_at_an_end_falls_to_a_token_that_has_a_share(number: float, token: int) -> None:
    drawn = DrawnToken(torch.tensor([[number]]), torch.tensor([1]), 1.0)
    left = drawn(torch.zeros(1, 1), torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]]))
    assert int(left.argmax()) == token
