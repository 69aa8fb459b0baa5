"""Instruction tuning: adapters on the last blocks alone learn to answer questions (Lacuna, section 3.2, table 4).

The recipe of resurfacing attacks too, which teach answers about other people and ask for those that were forgotten.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from uds_bench.checkpoints import find_anatomy
from uds_bench.errors import ConfigurationError
from uds_bench.methods.examples import Batch, Example, epochs, pad, steps_per
from uds_bench.methods.forward import answer_likelihoods, answer_nll
from uds_bench.methods.training import Optimisation, train


@dataclass(frozen=True)
class Instruction:
    """As published but for `lr` and `batch_size`, which the paper does not tell: rank and scale (PEFT's alpha) of
    adapters on the last `layers` blocks; `share` of the examples are learned from, by which the others are spared
    every `every` steps, and the adapter is kept that says these best.
    """

    layers: int = 2
    rank: int = 16
    scale: int = 8
    epochs: int = 10
    lr: float = 3e-4
    batch_size: int = 16
    share: float = 0.7
    every: int = 25

    def __post_init__(self) -> None:
        for key in ("layers", "rank", "scale", "epochs", "batch_size", "every"):
            if getattr(self, key) < 1:
                raise ConfigurationError(f"instruction tuning: {key} = {getattr(self, key)} must be at least 1")
        if not self.lr > 0 or not 0 < self.share < 1:
            raise ConfigurationError(f"instruction tuning: lr = {self.lr:g}, share = {self.share:g}: above 0, below 1")


@dataclass(frozen=True)
class Instructed:
    """`model`: with the adapter added to its weights; `losses`: one a step; `held_out`: NLL of the examples that were
    not learned from, by step; `best`: the step that was kept."""

    model: Any
    losses: list[float]
    held_out: dict[int, float]
    best: int


def instruct(
    model: Any,
    examples: Sequence[Example],
    settings: Instruction,
    seed: int = 0,
    dropout: bool = True,
) -> Instructed:
    """Tune `model`, whose blocks before the last ones stay bit by bit what they are. `dropout`: see `train`.

    Raises ConfigurationError for fewer than two examples: one is learned from and one is not.
    """
    from peft import LoraConfig, get_peft_model  # PEFT takes seconds to import

    learned, spared = _parted(examples, settings.share, seed)
    chosen = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.scale,
        target_modules=_linear(model, settings.layers),
        task_type="CAUSAL_LM",
    )
    model.requires_grad_(False)
    held_out: dict[int, float] = {}
    kept: dict[str, torch.Tensor] = {}

    def look(step: int, _loss: float) -> None:
        if step % settings.every == 0 or step == count:
            held_out[step] = _nll(adapted, spared)
            if not math.isfinite(held_out[step]):
                raise FloatingPointError(f"instruction tuning diverged: spared examples at {held_out[step]}: lower lr")
            if held_out[step] == min(held_out.values()):
                kept.update(_adapter(adapted))

    with torch.random.fork_rng(devices=[model.device] if model.device.type == "cuda" else []):
        torch.manual_seed(seed)
        adapted = get_peft_model(model, chosen)
        batches = epochs(learned, settings.batch_size, settings.epochs, torch.Generator().manual_seed(seed))
        count = steps_per(len(learned), settings.batch_size, settings.epochs)
        moved = (batch.to(model.device) for batch in batches)
        losses = train(adapted, moved, answer_nll, Optimisation(settings.lr), count, look, dropout)
    parameters = dict(adapted.named_parameters())
    with torch.no_grad():
        for name, value in kept.items():
            parameters[name].copy_(value)
    best = min(held_out, key=lambda step: (held_out[step], step))
    return Instructed(adapted.merge_and_unload().requires_grad_(False).eval(), losses, held_out, best)


def _parted(examples: Sequence[Example], share: float, seed: int) -> tuple[list[Example], list[Example]]:
    """At least one on either side."""
    if len(examples) < 2:
        raise ConfigurationError(f"instruction tuning: {len(examples)} examples: give at least two")
    order = torch.randperm(len(examples), generator=torch.Generator().manual_seed(seed)).tolist()
    cut = min(len(examples) - 1, max(1, math.floor(share * len(examples))))
    return [examples[at] for at in order[:cut]], [examples[at] for at in order[cut:]]


def _linear(model: Any, layers: int) -> list[str]:
    """The whole names of the linear maps of the last blocks."""
    blocks = find_anatomy(model).blocks
    if layers > len(blocks):
        raise ConfigurationError(f"instruction tuning: {layers} layers, but the model has {len(blocks)} blocks")
    inside = {id(module) for block in list(blocks)[-layers:] for module in block.modules()}
    # By its weight's rank and not by its class: some families have their own class of linear maps.
    return [
        name
        for name, module in model.named_modules()
        if id(module) in inside and getattr(getattr(module, "weight", None), "ndim", 0) == 2
    ]


def _adapter(model: Any) -> dict[str, torch.Tensor]:
    return {name: copy.deepcopy(p.detach()) for name, p in model.named_parameters() if p.requires_grad}


def _nll(model: Any, examples: Sequence[Example]) -> float:
    """Mean NLL a token, in eval mode."""
    model.eval()
    total, tokens = 0.0, 0
    with torch.no_grad():
        for start in range(0, len(examples), 64):
            batch: Batch = pad(examples[start : start + 64]).to(model.device)
            logp, counts = answer_likelihoods(model, batch)
            total, tokens = total - float(logp.sum()), tokens + int(counts.sum())
    model.train()
    return total / tokens
