"""Small checkpoints on disk into which groups were written through masks, and updates of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from uds_bench.audits.localization.auc import Auc, exact_auc
from uds_bench.audits.localization.composite import sides
from uds_bench.audits.localization.families import Family, Part
from uds_bench.audits.localization.names import Target
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.sweep import sweep
from uds_bench.checkpoints.mask_draws import draw_weights
from uds_bench.checkpoints.masks import MaskGroup, Masks

NAMES = [f"model.layers.{at}.{part}" for at in (0, 1) for part in ("self_attn.q_proj.weight", "mlp.up_proj.weight")]
SHAPES: dict[str, tuple[int, ...]] = dict.fromkeys(NAMES, (60, 50))
GROUPS = (MaskGroup("f", "forget"), MaskGroup("g", "forget"), MaskGroup("r", "retain"), MaskGroup("h", "held_out"))
MASKS = draw_weights(SHAPES, GROUPS, 0.1, seed=0)
Tensors = dict[str, torch.Tensor]


def noise(seed: int, scale: float = 1.0) -> Tensors:
    generator = torch.Generator().manual_seed(seed)
    return {name: scale * torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}


def plus(one: Tensors, other: Tensors, where: Callable[[str], torch.Tensor] | None = None) -> Tensors:
    return {name: one[name] + other[name] * (1 if where is None else where(name)) for name in one}


def only(*roles: Any) -> Callable[[str], torch.Tensor]:
    return lambda name: MASKS.of(name, *MASKS.named(*roles))


BEFORE = noise(1)
INJECTED = plus(BEFORE, noise(2, 0.1), only("forget", "retain", "held_out"))


def lineup(folder: Path, unlearned: Tensors, masks: Masks = MASKS, **more: Tensors) -> CheckpointSet:
    folders: dict[Part, Path] = {}
    parts: dict[Any, Tensors] = {"pretrained": BEFORE, "injected": INJECTED, "unlearned": unlearned, **more}
    for part, weights in parts.items():
        (folder / part).mkdir()
        save_file({name: w.contiguous() for name, w in weights.items()}, folder / part / "model.safetensors")
        folders[part] = folder / part
    return CheckpointSet(folders, masks)


def auc_of(seen: CheckpointSet, family: Family, target: Target) -> Auc:
    """As an update is told: by one read of its files."""
    return sweep(seen, [family]).auc(family.name, target)


def read_alone(seen: CheckpointSet, family: Family, target: Target) -> Auc:
    """The same, of all scores side by side."""
    scores = seen.scores(family)
    both = {name: sides(seen.masks, name, target) for name in scores}
    return exact_auc(*([scores[name][both[name][side]] for name in scores] for side in range(2)))
