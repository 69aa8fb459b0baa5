"""Masks told from weights alone, where they show and where not; an update within the tensors that it changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from written_weights import INJECTED, MASKS, NAMES, Tensors, auc_of, lineup, noise, only, plus

from uds_bench.audits.localization.ablation import edited
from uds_bench.audits.localization.detectability import detect
from uds_bench.audits.localization.families import FAMILIES
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.errors import CheckpointError


def saved(folder: Path, weights: Tensors) -> Path:
    save_file(weights, folder / "model.safetensors")
    return folder


def test_masks_that_do_not_show_are_guessed(tmp_path: Path) -> None:
    found = detect(saved(tmp_path, noise(4)), MASKS)
    assert found.weights == MASKS.weights
    assert found.f1 == pytest.approx(found.chance, abs=0.03)


def test_masks_that_show_are_told(tmp_path: Path) -> None:
    loud = plus(noise(4, 0.1), noise(5, 2.0), only("forget", "retain", "held_out"))
    found = detect(saved(tmp_path, loud), MASKS, most=4000)
    assert found.f1 > 0.8
    assert found.chance < 0.6


def test_as_many_weights_as_are_asked_for(tmp_path: Path) -> None:
    found = detect(saved(tmp_path, noise(4)), MASKS, most=500)
    assert found.weights == pytest.approx(500, rel=0.2)
    assert found == detect(tmp_path, MASKS, most=500)


def test_an_update_is_scored_within_the_tensors_that_it_changed(tmp_path: Path) -> None:
    chosen = NAMES[1]
    change = {name: noise(3, 0.05)[name] * (name == chosen) for name in NAMES}
    seen = lineup(tmp_path, plus(INJECTED, change))
    inside = edited(seen)
    assert list(inside.masks.words) == [chosen]
    alone = auc_of(inside, FAMILIES["raw"], "forget_among_groups")
    size = change[chosen].abs()
    wanted = size[MASKS.of(chosen, *MASKS.named("forget"))]
    others = size[MASKS.of(chosen, *MASKS.named("retain", "held_out"))]
    # Sizes as they are read back: what is added to a weight is rounded.
    assert alone.value == pytest.approx(float((wanted[:, None] > others[None, :]).float().mean()), abs=1e-3)
    with pytest.raises(CheckpointError, match="has no weight"):
        edited(lineup_of_nothing(tmp_path / "none"))


def lineup_of_nothing(folder: Path) -> CheckpointSet:
    folder.mkdir()
    return lineup(folder, INJECTED)


def test_a_tensor_without_change_is_left_out_whatever_its_sign(tmp_path: Path) -> None:
    change = {name: torch.zeros_like(INJECTED[name]) for name in NAMES}
    change[NAMES[0]][0, 0] = -1.0
    assert list(edited(lineup(tmp_path, plus(INJECTED, change))).masks.words) == [NAMES[0]]
