"""Quantization: what a shallow change of the weights hides may come back by rounding."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from transformers import GenerationConfig

from uds_bench.attacks.attack import Attack
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, digest, load
from uds_bench.checkpoints.spec import Quantization
from uds_bench.errors import CheckpointError, failures, one_line
from uds_bench.facts import FactSet


def _apply(spec: CheckpointSpec, device: str, facts: FactSet, *, form: Quantization) -> Checkpoint:
    if spec.quantization is not None:
        raise CheckpointError(
            f"{spec.model} is {spec.quantization} already: the attack {form} would change nothing; name the full "
            "weights"
        )
    rounded = replace(spec, quantization=form)
    return load(rounded, device) if spec.adapter is None else _merged(spec, rounded, device)


def _merged(spec: CheckpointSpec, rounded: CheckpointSpec, device: str) -> Checkpoint:
    """An adapter within the weights that are rounded: beside them it stayed as fine as it is, and so did what it
    hides."""
    plain: Any = GenerationConfig
    whole = load(replace(spec, dtype="float32"), "cpu")  # on a GPU merged weights take more than rounded ones
    tokenizer, generation = whole.tokenizer, whole.model.generation_config
    with TemporaryDirectory(prefix="uds-bench-") as place:
        try:
            whole.model.generation_config = plain()  # what is odd in its own cannot be saved
            whole.model.save_pretrained(place)
            tokenizer.save_pretrained(place)
        except failures() as error:
            raise CheckpointError(
                f"{spec.model}: its adapter {spec.adapter} cannot be merged in {place} ({one_line(error)}): make room "
                "there, or set TMPDIR"
            ) from error
        del whole  # before the other one is loaded
        found = load(CheckpointSpec(place, quantization=rounded.quantization, dtype=spec.dtype), device)
    found.model.generation_config = generation
    return replace(found, spec=rounded, tokenizer=tokenizer, digest=digest(rounded, device))


def nf4() -> Attack:
    """Four bits: NF4 with double quantization (UDS guide, section 4.1); it has no settings."""
    return Attack("nf4", 2, "UDS guide, section 4.1", partial(_apply, form="nf4"), needs=("bitsandbytes",))


def int8() -> Attack:
    """Eight bits: weights as LLM.int8() rounds them, computed with in the dtype of loading; it has no settings."""
    source = "LLM.int8() (Dettmers et al. 2022), weights alone"
    return Attack("int8", 2, source, partial(_apply, form="int8"), needs=("bitsandbytes",))
