"""Quantization: what a shallow change of the weights hides may come back by rounding."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from uds_bench.attacks.attack import Attack
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.checkpoints.spec import Quantization
from uds_bench.errors import CheckpointError
from uds_bench.facts import FactSet


def _apply(spec: CheckpointSpec, device: str, facts: FactSet, *, form: Quantization) -> Checkpoint:
    if spec.quantization is not None:
        raise CheckpointError(
            f"{spec.model} is {spec.quantization} already: the attack {form} would change nothing; name the full "
            "weights"
        )
    return load(replace(spec, quantization=form), device)


def nf4() -> Attack:
    """Four bits: NF4 with double quantization (UDS guide, section 4.1); it has no settings."""
    return Attack("nf4", 1, "UDS guide, section 4.1", partial(_apply, form="nf4"), needs=("bitsandbytes",))


def int8() -> Attack:
    """Eight bits: weights as LLM.int8() rounds them, computed with in the dtype of loading; it has no settings."""
    source = "LLM.int8() (Dettmers et al. 2022), weights alone"
    return Attack("int8", 1, source, partial(_apply, form="int8"), needs=("bitsandbytes",))
