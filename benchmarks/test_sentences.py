"""What sentences that share their beginnings cost as one tree, and in well-packed batches of sentences of like length.

As `test_patching`: processor seconds of one thread, medians of rounds in which both ways take turns, ratios only. The
time that the tokenizer takes is the same for both and left out.
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

from uds_bench.audits.association.probe_items import ask_about
from uds_bench.checkpoints import find_anatomy
from uds_bench.facts.profiles import people
from uds_bench.facts.properties import PUBLISHED, embedded
from uds_bench.facts.subjects import Person, Statement
from uds_bench.inference.prefix_tree import grow
from uds_bench.inference.sentences import nll_apart, sentence_nll
from uds_bench.zoo.fresh import byte_level_tokenizer

__all__ = ["one_thread"]

LEAST = {torch.float32: 2.5, torch.bfloat16: 3.0}
"""Sentences apart cost at least so many times as much, 2.70 and 4.78 being measured: a guard against getting worse.
What is aimed at is 3.0 in both."""
SIMILAR = 4


class Workload:
    """A random Llama of the zoo's size, and what the audit asks about some people:
    everything of the first properties."""

    def __init__(self, subjects: int, most: int, dtype: torch.dtype = torch.float32) -> None:
        properties = embedded()
        folk = [
            Person(f"q{at}", one.name, "any", tuple(Statement(id, ("X1",)) for id in PUBLISHED[:most]))
            for at, one in enumerate(people(subjects, 0))
        ]
        asked = ask_about(folk, properties, None, most=SIMILAR)
        said = [sentence for one in asked for sentence in one.sentences()]
        tokenizer = byte_level_tokenizer(said[::7], 1024)
        config = transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=96,
            intermediate_size=256,
            num_hidden_layers=4,
            num_attention_heads=4,
            pad_token_id=tokenizer.pad_token_id,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            built: Any = transformers.LlamaForCausalLM
            model = built(config).eval().requires_grad_(False).to(dtype)
        self.model: Any = SimpleNamespace(model=model, anatomy=find_anatomy(model), device=torch.device("cpu"))
        self.ids: list[list[int]] = tokenizer(said)["input_ids"]

    def together(self) -> np.ndarray:
        return sentence_nll(self.model, self.ids)

    def apart(self) -> np.ndarray:
        return nll_apart(self.model, self.ids)


def agree(work: Workload) -> float:
    """The largest gap between both ways, in nats: none to speak of."""
    gap = float(np.abs(work.together() - work.apart()).max())
    assert gap <= 1e-5
    return gap


def compare(benchmark: Any, subjects: int, rounds: int, dtype: torch.dtype = torch.float32) -> float:
    work = Workload(subjects, len(PUBLISHED), dtype)
    gap = agree(work) if dtype == torch.float32 else None
    seconds = take_turns({"together": work.together, "apart": work.apart}, rounds)
    ratio = seconds["apart"] / seconds["together"]
    read, positions = int(grow(work.ids).fed.sum()), sum(len(ids) - 1 for ids in work.ids)
    benchmark.group = f"asked about {len(PUBLISHED)} facts of each of {subjects} people"
    benchmark.extra_info.update(
        sentences=len(work.ids), apart_over_together=ratio, positions_over_read=positions / read, largest_gap_nats=gap
    )
    benchmark.pedantic(work.together, rounds=1)
    return ratio


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_sentences_about_few(benchmark: Any) -> None:
    """Both ways give the same numbers. What they cost is asked where it is judged."""
    benchmark.pedantic(agree, (Workload(subjects=1, most=1),), rounds=1)


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_sentences_goal(benchmark: Any) -> None:
    assert compare(benchmark, subjects=10, rounds=1) >= LEAST[torch.float32]


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_sentences_goal_in_bfloat16(benchmark: Any) -> None:
    assert compare(benchmark, subjects=10, rounds=1, dtype=torch.bfloat16) >= LEAST[torch.bfloat16]
