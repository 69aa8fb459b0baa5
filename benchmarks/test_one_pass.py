"""What prob, EM, ES and the four MIA scores of one checkpoint cost, in plain forward passes over the same batches.

As `test_patching`: processor seconds of one thread, medians of rounds in which all ways take turns, ratios only.
"""

from __future__ import annotations

import random
import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from families import tiny_tokenizer
from test_patching import one_thread, take_turns

from uds_bench.checkpoints import find_anatomy
from uds_bench.facts import Fact, FactSet, encode_answer
from uds_bench.metrics import METRICS
from uds_bench.metrics.subject import ReferenceModels, Subject

__all__ = ["one_thread"]

METRIC_NAMES = ("prob", "em", "es", "mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus")
PASSES_GOAL = 1.3
"""All seven cost at most so many plain passes,"""
SAVING_GOAL = 4.0
"""and a pass for each at least so many times as much."""
BATCH = 16
SIZES = {"small": (4, 64, 1_000, 16), "large": (16, 512, 32_000, 48)}
"""layers, width, vocabulary, facts in both splits"""


class Workload:
    """A random Llama, and forget and holdout facts whose answers are about half of what the model reads."""

    def __init__(self, layers: int, width: int, vocabulary: int, facts: int) -> None:
        config = transformers.LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=11 * width // 4,
            num_hidden_layers=layers,
            num_attention_heads=8,
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            built: Any = transformers.LlamaForCausalLM
            model = built(config).eval().requires_grad_(False)
        self.checkpoint: Any = SimpleNamespace(
            model=model, anatomy=find_anatomy(model), tokenizer=tiny_tokenizer(), device=torch.device("cpu")
        )
        self.facts = FactSet(_fact(i, ("forget", "holdout")[i % 2]) for i in range(facts))
        self.batches = [batch for split in ("forget", "holdout") for batch in self._batches(split)]

    def _batches(self, split: Any) -> list[dict[str, torch.Tensor]]:
        tokenizer = self.checkpoint.tokenizer
        rows = [encode_answer(tokenizer, f.question, f.answer).ids for f in self.facts.split(split)]
        rows.sort(key=len, reverse=True)
        batches = []
        for start in range(0, len(rows), BATCH):
            some = rows[start : start + BATCH]
            ids = torch.zeros(len(some), len(some[0]), dtype=torch.long)
            mask = torch.zeros_like(ids)
            for i, row in enumerate(some):
                ids[i, : len(row)] = torch.tensor(row)
                mask[i, : len(row)] = 1
            batches.append({"input_ids": ids, "attention_mask": mask})
        return batches

    def plain(self) -> None:
        """One pass as a user calls it."""
        with torch.inference_mode():
            for batch in self.batches:
                self.checkpoint.model(**batch)

    def metrics(self, shared: bool = True) -> list[Any]:
        """From the facts' text to values and intervals; a subject of its own for each metric if nothing is shared."""
        references = ReferenceModels(lambda _: self.checkpoint, {}, self.facts, batch_size=BATCH)
        subject = Subject(self.checkpoint, references)
        found = []
        for name in METRIC_NAMES:
            if not shared:
                subject = Subject(self.checkpoint, references)
            found.append(METRICS[name].compute(subject, METRICS[name].variants[0]))
        return found


def _fact(index: int, split: Any) -> Fact:
    draw = random.Random(index)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 7))) for _ in range(11)]
    question, answer = " ".join(words[:5]) + "?", " ".join(words[5:]) + "."
    return Fact(f"{index}", f"{split}-{index // 6}", split, question, answer, "", words[-1])


def compare(benchmark: Any, size: str, rounds: int) -> dict[str, float]:
    work = Workload(*SIZES[size])
    ways = {"plain": work.plain, "shared": work.metrics, "apart": lambda: work.metrics(shared=False)}
    assert all(v.value is not None for measured in work.metrics() for v in measured.values)
    seconds = take_turns(ways, rounds)
    ratios = {
        "shared_in_plain_passes": seconds["shared"] / seconds["plain"],
        "apart_over_shared": seconds["apart"] / seconds["shared"],
    }
    tokens = sum(int(batch["attention_mask"].sum()) for batch in work.batches)
    benchmark.group = f"one pass, {size}: {tokens} tokens"
    benchmark.extra_info.update(ratios)
    benchmark.pedantic(work.metrics, rounds=1)
    return ratios


@pytest.mark.benchmark(timer=time.process_time)
def test_one_pass_ratios_on_a_small_model(benchmark: Any) -> None:
    """Runs everywhere; so small a model is mostly overhead, so its ratios are recorded and not judged."""
    compare(benchmark, "small", rounds=3)


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_one_pass_goals(benchmark: Any) -> None:
    ratios = compare(benchmark, "large", rounds=3)
    assert ratios["shared_in_plain_passes"] <= PASSES_GOAL
    assert ratios["apart_over_shared"] >= SAVING_GOAL
