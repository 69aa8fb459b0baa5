"""The one training loop: fine-tuning and every unlearning method run through it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

import torch
from torch.utils.checkpoint import checkpoint
from transformers.modeling_layers import GradientCheckpointingLayer

T = TypeVar("T")
Schedule = Literal["constant", "cosine"]
OnStep = Callable[[int, float], None]
"""Called after each step with its number, from 1, and its loss."""
LARGE = 10_000_000
"""Weights from which on a model is trained in the memory that its weights take, for a third more time."""


@dataclass(frozen=True)
class Optimisation:
    """AdamW settings; `warmup` is a share of the steps."""

    lr: float
    weight_decay: float = 0.0
    clip: float = 1.0
    schedule: Schedule = "constant"
    warmup: float = 0.0

    def factor(self, step: int, steps: int) -> float:
        """Share of `lr` used at a step, counted from 0."""
        warm = max(1, round(self.warmup * steps)) if self.warmup else 0
        if step < warm:
            return (step + 1) / warm
        if self.schedule == "constant":
            return 1.0
        return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def train(
    model: Any,
    batches: Iterable[T],
    loss: Callable[[Any, T], torch.Tensor],
    optimisation: Optimisation,
    steps: int,
    on_step: OnStep | None = None,
    dropout: bool = True,
) -> list[float]:
    """Take some optimiser steps.

    Args:
        model: A causal language model; the weights that take gradients are trained, or all where none does. It is left
            in eval mode and without gradients.
        batches: At least as many as steps.
        loss: Of the model and a batch, a scalar.
        optimisation: Settings of AdamW.
        steps: How many.
        on_step: Called after each step with its number, from 1, and its loss.
        dropout: Whether the model's own settings may leave out by chance what is learned from, as in training. A
            model's author sets them: with as much as all left out it learns nothing.

    Returns:
        The loss before each step, [steps], in the unit of `loss`.

    Raises:
        FloatingPointError: A loss or a gradient is not finite: a model trained past it would be worthless.
        ValueError: There are fewer batches than steps.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        parameters = list(model.parameters())
        for parameter in parameters:
            parameter.requires_grad_(True)
    model.train(dropout)
    optimizer = torch.optim.AdamW(
        parameters, lr=optimisation.lr, weight_decay=optimisation.weight_decay, betas=(0.9, 0.999), fused=True
    )
    losses: list[float] = []
    with _computed_anew(model):
        for step, batch in zip(range(steps), batches, strict=False):
            for group in optimizer.param_groups:
                group["lr"] = optimisation.lr * optimisation.factor(step, steps)
            value = loss(model, batch)
            losses.append(float(value.detach()))
            if not math.isfinite(losses[-1]):
                raise FloatingPointError(f"training diverged: loss {losses[-1]} at step {step + 1} of {steps}")
            optimizer.zero_grad(set_to_none=True)
            torch.autograd.backward(value)
            norm = float(torch.nn.utils.clip_grad_norm_(parameters, optimisation.clip))
            if not math.isfinite(norm):
                raise FloatingPointError(f"training diverged: gradient norm {norm} at step {step + 1} of {steps}")
            optimizer.step()
            if on_step is not None:
                on_step(step + 1, losses[-1])
    if len(losses) < steps:
        raise ValueError(f"training data ran out after {len(losses)} of {steps} steps")
    model.eval()
    model.requires_grad_(False)
    return losses


@contextmanager
def _computed_anew(model: Any) -> Iterator[None]:
    """While open, what a large model's blocks hold is computed anew as gradients need it.

    Kept, it is more than the weights take, and grows with the batch. The gradients are the same. transformers does so
    in training mode alone.
    """
    is_large = sum(one.numel() for one in model.parameters()) >= LARGE
    blocks = [one for one in model.modules() if is_large and isinstance(one, GradientCheckpointingLayer)]
    before = [(block, block.forward, "forward" in vars(block)) for block in blocks]
    for block in blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    try:
        yield
    finally:
        for block, forward, is_own in before:
            del block.forward
            if is_own:
                block.forward = forward
