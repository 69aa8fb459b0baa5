"""Quantization as an attack is loading with it, and what is quantized already is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from families import PROBE, save_adapter

from uds_bench.attacks import find_attack
from uds_bench.audits.depth.section import CHANGES
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.errors import CheckpointError
from uds_bench.facts import FactSet

Family = Callable[[str], CheckpointSpec]


def logits(checkpoint: Checkpoint) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = checkpoint.model(**checkpoint.tokenizer(PROBE, return_tensors="pt")).logits
    return found


@pytest.mark.parametrize(("form", "apart"), [("nf4", 1e-3), ("int8", 1e-4)])
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_it_is_loading_with_it(name: str, form: Any, apart: float, family: Family, forget: FactSet) -> None:
    spec = family(name)
    attacked = find_attack(form).apply(spec, "cpu", forget)
    assert attacked.spec == replace(spec, quantization=form)
    assert torch.equal(logits(attacked), logits(load(replace(spec, quantization=form))))
    assert not torch.allclose(logits(attacked), logits(load(spec)), atol=apart)


@pytest.mark.parametrize("form", ["nf4", "int8"])
def test_an_adapter_is_rounded_within_the_weights(form: Any, family: Family, forget: FactSet, tmp_path: Path) -> None:
    plain = family("llama")
    save_adapter(tmp_path / "adapter", width=load(plain).model.config.hidden_size)
    spec = replace(plain, adapter=str(tmp_path / "adapter"))
    merged = load(spec)
    merged.model.save_pretrained(tmp_path / "merged")
    merged.tokenizer.save_pretrained(tmp_path / "merged")
    attacked, beside = find_attack(form).apply(spec, "cpu", forget), load(replace(spec, quantization=form))
    assert torch.equal(logits(attacked), logits(load(CheckpointSpec(str(tmp_path / "merged"), quantization=form))))
    assert not torch.equal(logits(attacked), logits(beside))
    assert (attacked.spec, attacked.digest) == (beside.spec, beside.digest)


@pytest.mark.parametrize("attack", CHANGES)
def test_quantized_weights_are_refused(attack: str, family: Family, forget: FactSet) -> None:
    quantized = replace(family("llama"), quantization="nf4")
    with pytest.raises(CheckpointError, match=rf"llama is nf4.*{attack}.*full weights") as caught:
        find_attack(attack).apply(quantized, "cpu", forget)
    assert "\n" not in str(caught.value)
