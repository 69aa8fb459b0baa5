"""Low-rank adapters: unlearning that leaves the full model's weights as they are and trains a few beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from uds_bench.errors import ConfigurationError


@dataclass(frozen=True)
class LoraSettings:
    """`rank` and `scale` (PEFT's alpha) of an adapter on every linear layer of the blocks (Hu et al. 2022)."""

    rank: int = 16
    scale: int = 32

    def __post_init__(self) -> None:
        if self.rank < 1 or self.scale < 1:
            raise ConfigurationError(f"LoRA: rank {self.rank} and scale {self.scale} must both be above 0")


def with_lora(model: Any, settings: LoraSettings, seed: int = 0) -> Any:
    """`model` with a fresh adapter, drawn from `seed`, as a PEFT model; it says what `model` says until trained.

    The adapter is in float32, whatever the model is in. `unlearn` trains it alone, and `save_pretrained` of the result
    saves it alone. `model` itself is changed: its linear layers now carry the adapter.
    """
    from peft import LoraConfig, get_peft_model  # PEFT takes seconds to import

    model.requires_grad_(False)
    config = LoraConfig(r=settings.rank, lora_alpha=settings.scale, target_modules="all-linear", task_type="CAUSAL_LM")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return get_peft_model(model, config)
