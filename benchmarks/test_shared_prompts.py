"""What the wrong answers to the zoo's facts cost together, five to a question, and one to a question at a time.

As `test_patching`: processor seconds of one thread, medians of rounds in which both ways take turns, ratios only.
"""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from test_patching import one_thread, take_turns

from uds_bench.audits.depth.zoo.recipes import facts as embedded_facts
from uds_bench.checkpoints import find_anatomy
from uds_bench.facts import base_authors, encode_answer
from uds_bench.inference.answers import score_answers
from uds_bench.zoo.fresh import byte_level_tokenizer

__all__ = ["one_thread"]

SAVING_GOAL = 1.5
"""One at a time costs at least so many times as much."""
AGREEMENT = 1e-5


class Workload:
    """A random Llama of the zoo's size, and the wrong answers to `facts` of its facts."""

    def __init__(self, facts: int) -> None:
        texts = [f"{question} {answer}" for question, answer in base_authors(200)]
        tokenizer = byte_level_tokenizer(texts, vocabulary=1024)
        config = transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=96,
            intermediate_size=256,
            num_hidden_layers=4,
            num_attention_heads=4,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            built: Any = transformers.LlamaForCausalLM
            model = built(config).eval().requires_grad_(False)
        self.model: Any = SimpleNamespace(model=model, anatomy=find_anatomy(model), device=torch.device("cpu"))
        self.answers = [
            [encode_answer(tokenizer, fact.question, answer) for answer in fact.perturbed_answers]
            for fact in list(embedded_facts())[:facts]
        ]

    def together(self) -> list[Any]:
        return score_answers(self.model, [answer for answers in self.answers for answer in answers])

    def apart(self) -> list[Any]:
        """Each call holds one answer to each question: nothing can be shared."""
        calls = [score_answers(self.model, some) for some in zip(*self.answers, strict=True)]
        return [score for scores in zip(*calls, strict=True) for score in scores]


def compare(benchmark: Any, facts: int, rounds: int) -> float:
    work = Workload(facts)
    pairs = list(zip(work.together(), work.apart(), strict=True))
    gap = max(float(np.abs(a.logp - b.logp).max()) for a, b in pairs)
    seconds = take_turns({"together": work.together, "apart": work.apart}, rounds)
    ratio = seconds["apart"] / seconds["together"]
    benchmark.group = f"shared prompts, {len(pairs)} answers"
    benchmark.extra_info.update(apart_over_together=ratio, largest_gap_nats=gap)
    benchmark.pedantic(work.together, rounds=1)
    assert gap <= AGREEMENT
    return ratio


@pytest.mark.benchmark(timer=time.process_time)
def test_shared_prompts_on_few_facts(benchmark: Any) -> None:
    """Runs everywhere; its ratio is recorded and not judged."""
    compare(benchmark, facts=10, rounds=3)


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_shared_prompts_goal(benchmark: Any) -> None:
    assert compare(benchmark, facts=120, rounds=5) >= SAVING_GOAL
