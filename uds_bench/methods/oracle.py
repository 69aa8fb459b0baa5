"""OracleGrad: any objective, restricted to the weights that are known to hold the facts (Lacuna, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from uds_bench.checkpoints.masks import Masks
from uds_bench.methods.injection import check_fit


@contextmanager
def within(model: Any, masks: Masks, *groups: str) -> Iterator[None]:
    """While it is open, training changes weights of these groups' masks and leaves every other one bit by bit.

    Gradients are masked before they are clipped or reach an optimizer, and what weight decay does elsewhere is undone
    at the end. Published: GradDiff, with the forget groups. Raises CheckpointError where the masks are not the model's.
    """
    parameters = dict(model.named_parameters())
    check_fit(masks, {name: tuple(p.shape) for name, p in parameters.items()})
    kept, hooks = {}, []
    for name, parameter in parameters.items():
        inside = masks.of(name, *groups).to(parameter.device) if name in masks.words else None
        parameter.requires_grad_(inside is not None and bool(inside.any()))
        if inside is not None and parameter.requires_grad:
            kept[name] = inside, parameter.detach().clone()
            hooks.append(parameter.register_hook(_masked(inside)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        with torch.no_grad():
            for name, (inside, before) in kept.items():
                parameters[name].copy_(torch.where(inside, parameters[name], before))


def _masked(inside: torch.Tensor) -> Any:
    return lambda grad: grad * inside
