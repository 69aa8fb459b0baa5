"""Attacks by name, and random weights, the control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, save_checkpoint, tiny_tokenizer

from uds_bench.attacks import ATTACKS, NONE, find_attack
from uds_bench.attacks.random_weights import SPREAD, random_weights
from uds_bench.audits.depth.section import Attacks
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.errors import CheckpointError, ConfigurationError
from uds_bench.facts import FactSet


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_has_its_own_name_and_a_source(name: str) -> None:
    attack = find_attack(name)
    assert name in Attacks.model_fields, "a manifest cannot name it"
    assert attack.name == name != NONE
    assert attack.source


def test_an_unknown_attack_is_an_error_that_lists_the_names() -> None:
    with pytest.raises(ConfigurationError, match=r"^there is no attack 'prune': choose from nf4, int8, relearn, .*$"):
        find_attack("prune")


@pytest.mark.parametrize(
    "change", [{"epochs": 2}, {"lr": 1e-4}, {"batch_size": 10}, {"seed": 1}, {"precision": "load"}]
)
def test_every_setting_is_in_the_key_and_in_the_record(change: dict[str, Any]) -> None:
    plain, changed = find_attack("relearn"), find_attack("relearn", **change)
    assert plain.key != changed.key
    assert changed.settings == plain.settings | change


def test_equal_settings_have_one_key_whether_given_or_left_out() -> None:
    assert find_attack("relearn").key == find_attack("relearn", epochs=1, lr=2e-5, batch_size=32, seed=0).key
    assert find_attack("relearn").key != find_attack("nf4").key


def test_a_precision_that_there_is_not_is_refused_in_a_line() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^relearn: precision = 'bf16' is unknown: choose from float32, load$"
    ):
        find_attack("relearn", precision="bf16")


NOBODY = FactSet(())


@pytest.fixture
def spec(tmp_path: Path) -> CheckpointSpec:
    folder = save_checkpoint(tmp_path / "model", FAMILIES["llama"](len(tiny_tokenizer()), seed=3), tiny_tokenizer())
    return CheckpointSpec(str(folder))


def test_matrices_are_drawn_and_the_rest_stays(spec: CheckpointSpec) -> None:
    before = dict(load(spec, "cpu").model.named_parameters())
    after = dict(random_weights().apply(spec, "cpu", NOBODY).model.named_parameters())
    matrices = [name for name in before if before[name].dim() > 1]
    assert matrices
    for name in before:
        assert torch.equal(before[name], after[name]) == (name not in matrices)
    together = torch.cat([after[name].flatten() for name in matrices])
    assert together.std().item() == pytest.approx(SPREAD, rel=0.05)


def test_the_seed_decides(spec: CheckpointSpec) -> None:
    one, same, other = (
        dict(random_weights(seed).apply(spec, "cpu", NOBODY).model.named_parameters()) for seed in (0, 0, 1)
    )
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)
    assert random_weights(0).key != random_weights(1).key


def test_quantized_weights_are_refused(spec: CheckpointSpec) -> None:
    with pytest.raises(CheckpointError, match="random_weights changes full weights"):
        random_weights().apply(CheckpointSpec(spec.model, quantization="nf4"), "cpu", NOBODY)
