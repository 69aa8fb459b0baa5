"""What masks cost a step of training: against the same step without them, in the same process.

Times are processor seconds of one thread, taken in turns; ratios of medians. No number of seconds is asserted.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import transformers
from test_patching import one_thread, take_turns

from uds_bench.checkpoints.mask_draws import draw_weights, maskable
from uds_bench.checkpoints.masks import MaskGroup
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.forward import answer_likelihoods
from uds_bench.methods.injection import InjectedExample, Injector, Rates

__all__ = ["one_thread"]

GOAL = 1.1
"""A step through masks takes at most so many times as long as without."""
GROUPS = tuple(MaskGroup(f"g{at}", "forget" if at < 3 else "retain") for at in range(6))
SHARE, RATE = 0.05, 1e-5


@dataclass(frozen=True)
class Size:
    """A model, and of each of half the groups and of neutral text so many samples of so many tokens."""

    layers: int
    width: int
    vocabulary: int
    samples: int = 4
    tokens: int = 64

    def model(self) -> Any:
        torch.manual_seed(0)
        built: Any = transformers.LlamaForCausalLM
        return built(
            transformers.LlamaConfig(
                vocab_size=self.vocabulary,
                hidden_size=self.width,
                intermediate_size=11 * self.width // 4,
                num_hidden_layers=self.layers,
                num_attention_heads=4,
                max_position_embeddings=256,
            )
        )

    def batch(self) -> list[InjectedExample]:
        """As in continued pretraining, every token but the first is learned."""
        groups = [*(group.name for group in GROUPS[::2]), None] * self.samples
        ids = torch.randint(3, self.vocabulary, (len(groups), self.tokens), generator=torch.Generator().manual_seed(0))
        return [InjectedExample(Example(tuple(row.tolist()), 1), group) for row, group in zip(ids, groups, strict=True)]


SIZES = {"small": Size(layers=4, width=64, vocabulary=1_000), "large": Size(layers=8, width=256, vocabulary=8_000)}


def masked(size: Size) -> Callable[[], Any]:
    model = size.model()
    injector, batch = Injector(model, draw_weights(maskable(model), GROUPS, SHARE, seed=0), Rates(RATE)), size.batch()
    return lambda: injector.step(batch)


def at_once(size: Size) -> Callable[[], Any]:
    """Without masks there is no need to read group by group: the whole batch is one pass."""
    model = size.model()
    masks = draw_weights(maskable(model), GROUPS, SHARE, seed=0)
    injector, batch = Injector(model, masks, Rates(RATE)), [InjectedExample(sample.example) for sample in size.batch()]
    return lambda: injector.step(batch)


def group_by_group(size: Size) -> Callable[[], Any]:
    """The same passes as with masks; gradients add up as they come."""
    model, batch = size.model().train(), size.batch()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0, fused=True)

    def step() -> None:
        for group in dict.fromkeys(sample.group for sample in batch):
            logp, tokens = answer_likelihoods(model, pad([s.example for s in batch if s.group == group]))
            torch.autograd.backward(-(logp / tokens).sum() / len(batch))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def compare(benchmark: Any, size: str, rounds: int) -> dict[str, float]:
    ways = {way.__name__: way(SIZES[size]) for way in (masked, at_once, group_by_group)}
    for way in ways.values():
        way()  # moments are made in the first step
    seconds = take_turns(ways, rounds)
    ratios = {f"masked_over_{name}": seconds["masked"] / seconds[name] for name in ways if name != "masked"}
    benchmark.group = f"masked step, {SIZES[size]}"
    benchmark.extra_info.update(ratios)
    benchmark.pedantic(ways["masked"], rounds=1)
    return ratios


@pytest.mark.benchmark(timer=time.process_time)
def test_ratios_on_a_small_model(benchmark: Any) -> None:
    """Runs everywhere; so small a model is mostly overhead, so its ratios are recorded and not judged."""
    compare(benchmark, "small", rounds=3)


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_mask_cost_goal(benchmark: Any) -> None:
    ratios = compare(benchmark, "large", rounds=9)
    assert ratios["masked_over_at_once"] <= GOAL
    assert ratios["masked_over_group_by_group"] <= GOAL
