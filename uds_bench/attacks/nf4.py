"""Quantization to 4-bit normal floats: what a shallow change of the weights hides may come back by rounding."""

from __future__ import annotations

from dataclasses import replace

from uds_bench.attacks.attack import Attack
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.errors import CheckpointError
from uds_bench.facts import FactSet


def _apply(spec: CheckpointSpec, device: str, facts: FactSet) -> Checkpoint:
    if spec.quantization is not None:
        raise CheckpointError(
            f"{spec.model} is {spec.quantization} already: the attack nf4 would change nothing; name the full weights"
        )
    return load(replace(spec, quantization="nf4"), device)


def nf4() -> Attack:
    """NF4 with double quantization (UDS guide, section 4.1); it has no settings."""
    return Attack("nf4", 1, "UDS guide, section 4.1", _apply, needs=("bitsandbytes",))
