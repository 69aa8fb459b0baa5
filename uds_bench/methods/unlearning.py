"""Unlearning: a method's terms on batches of forget and retain answers, for so many steps, on any causal model."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

import torch

from uds_bench.methods.data import REFUSALS, Data
from uds_bench.methods.examples import Batch, forever
from uds_bench.methods.method import Method
from uds_bench.methods.terms import METHODS
from uds_bench.methods.training import Optimisation, train

__all__ = ["REFUSALS", "Data", "Method", "unlearn"]


def unlearn(model: Any, data: Data, method: Method, on_step: Callable[[int, float], None] | None = None) -> list[float]:
    """Change `model` in place by the method and return the losses, one per step ([] for identity).

    All weights are trained, or those of the adapter where the model has one (`lora.with_lora`). AdamW at a constant
    rate, no weight decay, gradients clipped to length 1; the order of batches follows `method.seed`.

    Raises FloatingPointError where the training diverges, FactError and ValueError where the data lack what the
    method needs.
    """
    if method.name == "identity":
        return []
    recipe = METHODS[method.name]
    terms = recipe.begin(model, method)
    retain_term = terms.retain if method.alpha else None

    def loss(current: Any, batch: tuple[Batch, Batch | None]) -> torch.Tensor:
        forget, retain = batch
        value = method.gamma * terms.forget(current, forget)
        if retain_term is None or retain is None:
            return value
        return value + method.alpha * retain_term(current, retain)

    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(method.seed)
    forget = forever(recipe.items(data), method.batch_size, generator, recipe.collate)
    retain = forever(data.retain, method.batch_size, generator) if retain_term else repeat(None)
    batches = ((f.to(device), None if r is None else r.to(device)) for f, r in zip(forget, retain, strict=False))
    return train(model, batches, loss, Optimisation(method.lr), method.steps, on_step)
