"""What unlearning costs, as a share of training the retain model anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from uds_bench.methods.examples import Example

BACKWARD = 2
"""A backward pass costs about two forward passes (Kaplan et al. 2020, section 2.1)."""
RETRAINING_EPOCHS = 5
"""As TOFU's retain models are fine-tuned (Maini et al. 2024)."""


@dataclass
class TokenCost:
    """Tokens that went through a model: `trained` forward and backward, `read` forward only (reference, sampling).

    Padding is not counted.
    """

    trained: int = 0
    read: int = 0

    @property
    def passes(self) -> int:
        """The same in forward passes of one token."""
        return (1 + BACKWARD) * self.trained + self.read


@contextmanager
def counting(model: Any, cost: TokenCost) -> Iterator[None]:
    """While open, every pass through `model`, or through a copy that is made of it meanwhile, is added to `cost`."""

    def count(_module: Any, _args: Any, inputs: dict[str, Any]) -> None:
        mask = inputs.get("attention_mask")
        tokens = inputs["input_ids"].numel() if mask is None else int(mask.sum())
        if torch.is_grad_enabled():
            cost.trained += tokens
        else:
            cost.read += tokens

    handle = model.register_forward_pre_hook(count, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def retraining(retain: Sequence[Example], epochs: int = RETRAINING_EPOCHS) -> TokenCost:
    """What it costs to fine-tune a model on the retain answers: the price that unlearning saves.

    Args:
        retain: Questions and answers in tokens.
        epochs: Passes over them.

    Returns:
        Tokens that are trained on.

    Example:
        >>> retraining([Example((1, 2, 3), prompt_length=1), Example((1, 2), prompt_length=1)], epochs=2).trained
        10
    """
    return TokenCost(trained=epochs * sum(map(len, retain)))
