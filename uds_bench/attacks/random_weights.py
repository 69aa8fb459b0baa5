"""Random weights: nothing that was ever learned is left, so that what a measurement still finds is its own making."""

from __future__ import annotations

from functools import partial

import torch

from uds_bench.attacks.attack import Attack, load_full
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.facts import FactSet

SPREAD = 0.02
"""Standard deviation of the weights, as most families start from."""


def _apply(spec: CheckpointSpec, device: str, facts: FactSet, *, seed: int) -> Checkpoint:
    checkpoint = load_full(spec, device, "random_weights")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in checkpoint.model.parameters():
            if parameter.dim() > 1:  # norms and biases stay, so that numbers stay in range
                drawn = torch.randn(parameter.shape, generator=generator) * SPREAD
                parameter.copy_(drawn.to(parameter.dtype))
    return checkpoint


def random_weights(seed: int = 0) -> Attack:
    """Every weight matrix drawn anew from `seed`: a control, not an attack that anybody would make."""
    return Attack("random_weights", 1, "a control of ours", partial(_apply, seed=seed), {"seed": seed})
