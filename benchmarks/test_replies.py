"""What the replies of a reasoning model under every arm cost together, and one prompt at a time with HF's own loop.

As `test_patching`: processor seconds of one thread, medians of rounds in which both ways take turns, ratios only.
"""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from test_patching import one_thread, take_turns

from uds_bench.checkpoints import find_anatomy
from uds_bench.facts.canaries import embedded_canaries
from uds_bench.facts.dialogue import stop_tokens
from uds_bench.facts.reasoning import PREFILLS, complete_prompt, open_turn, prefill, traced_ids
from uds_bench.inference.generation import continue_greedily
from uds_bench.zoo.fresh import byte_level_tokenizer

__all__ = ["one_thread"]

SAVING_GOAL = 4.0
"""One prompt at a time costs at least so many times as much."""
LENGTH = 60
"""New tokens of every reply: random weights end none."""


class Workload:
    """A random Llama of the zoo's size, and some authors' probes behind every prefill."""

    def __init__(self, authors: int) -> None:
        canaries = embedded_canaries(authors, 1, 1)
        tokenizer = byte_level_tokenizer([canary.bio for canary in embedded_canaries(200, 1, 1, seed=1)], 512)
        config = transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=256,
            num_hidden_layers=3,
            num_attention_heads=4,
            pad_token_id=tokenizer.pad_token_id,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            built: Any = transformers.LlamaForCausalLM
            model = built(config).eval().requires_grad_(False)
        self.model: Any = SimpleNamespace(
            model=model, anatomy=find_anatomy(model), tokenizer=tokenizer, device=torch.device("cpu")
        )
        self.stops = stop_tokens(tokenizer)
        turns = [(canary, open_turn(tokenizer, complete_prompt(canary.author, canary.head))) for canary in canaries]
        self.prompts = [
            traced_ids(tokenizer, turn, prefill(tokenizer, arm, canary.author))
            for arm in PREFILLS
            for canary, turn in turns
        ]

    def together(self) -> list[tuple[int, ...]]:
        return [reply.ids for reply in continue_greedily(self.model, self.prompts, LENGTH, stops=self.stops)]

    def apart(self) -> list[tuple[int, ...]]:
        with torch.inference_mode():
            return [self._one(ids) for ids in self.prompts]

    def _one(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        given = torch.tensor([ids])
        said = self.model.model.generate(
            given,
            attention_mask=torch.ones_like(given),
            max_new_tokens=LENGTH,
            do_sample=False,
            eos_token_id=self.stops,
        )
        return tuple(token for token in said[0, len(ids) :].tolist() if token not in self.stops)


def agree(work: Workload) -> float:
    """The share of replies that are the same both ways: nearly all."""
    same = [a == b for a, b in zip(work.together(), work.apart(), strict=True)]
    assert sum(same) >= 0.95 * len(same), "random weights leave some pairs of tokens a rounding apart"
    return sum(same) / len(same)


def compare(benchmark: Any, authors: int, rounds: int) -> float:
    work = Workload(authors)
    same = agree(work)
    seconds = take_turns({"together": work.together, "apart": work.apart}, rounds)
    ratio = seconds["apart"] / seconds["together"]
    benchmark.group = f"replies under every prefill, {authors} authors"
    benchmark.extra_info.update(apart_over_together=ratio, same=same)
    benchmark.pedantic(work.together, rounds=1)
    return ratio


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_replies_of_few_authors(benchmark: Any) -> None:
    """Both ways say the same. What they cost is asked where it is judged."""
    benchmark.pedantic(agree, (Workload(authors=2),), rounds=1)


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_replies_goal(benchmark: Any) -> None:
    assert compare(benchmark, authors=30, rounds=1) >= SAVING_GOAL
