"""NF4 as an attack is loading with NF4, and what is quantized already is refused."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from families import PROBE

from uds_bench.attacks import ATTACKS, find_attack
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.errors import CheckpointError
from uds_bench.facts import FactSet

Family = Callable[[str], CheckpointSpec]


def logits(checkpoint: Checkpoint) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = checkpoint.model(**checkpoint.tokenizer(PROBE, return_tensors="pt")).logits
    return found


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_it_is_loading_with_nf4(name: str, family: Family, forget: FactSet) -> None:
    spec = family(name)
    attacked = find_attack("nf4").apply(spec, "cpu", forget)
    assert attacked.spec == replace(spec, quantization="nf4")
    assert torch.equal(logits(attacked), logits(load(replace(spec, quantization="nf4"))))
    assert not torch.allclose(logits(attacked), logits(load(spec)), atol=1e-3)


@pytest.mark.parametrize("attack", ATTACKS)
def test_quantized_weights_are_refused(attack: str, family: Family, forget: FactSet) -> None:
    quantized = replace(family("llama"), quantization="nf4")
    with pytest.raises(CheckpointError, match=rf"llama is nf4.*{attack}.*full weights") as caught:
        find_attack(attack).apply(quantized, "cpu", forget)
    assert "\n" not in str(caught.value)
