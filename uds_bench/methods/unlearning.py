"""Unlearning by a method's name and settings, on any causal model."""

from __future__ import annotations

from typing import Any

from uds_bench.methods.data import REFUSALS, Data
from uds_bench.methods.method import Method
from uds_bench.methods.recipes import METHODS
from uds_bench.methods.training import OnStep

__all__ = ["REFUSALS", "Data", "Method", "unlearn"]


def unlearn(model: Any, data: Data, method: Method, on_step: OnStep | None = None) -> list[float]:
    """Change `model` in place by the method and return the losses, one per step ([] for identity).

    The model is left in eval mode and without gradients.

    Raises FloatingPointError where the training diverges, FactError and ValueError where the data lack what the
    method needs, ConfigurationError and CheckpointError where the model does.
    """
    if method.name == "identity":
        return []
    return METHODS[method.name].run(model, data, method, on_step)
