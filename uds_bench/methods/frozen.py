"""The model as it was before unlearning began: reference, teacher and anchor of the methods that need one."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch

Frozen = Callable[[], AbstractContextManager[Any]]
"""`with frozen() as model:` gives the model as it was, in eval mode and without gradients."""


def freeze(model: Any) -> Frozen:
    """Keep what `model` is now. One with a LoRA adapter is not copied: without the adapter it is its own past."""
    if hasattr(model, "disable_adapter"):
        return partial(_without_adapter, model)
    return partial(_as_copied, copy.deepcopy(model).eval().requires_grad_(False))


@contextmanager
def _as_copied(model: Any) -> Iterator[Any]:
    with torch.no_grad():
        yield model


@contextmanager
def _without_adapter(model: Any) -> Iterator[Any]:
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), model.disable_adapter():
            yield model
    finally:
        model.train(training)
