"""Masked injection: a group's facts are written into the weights of its mask and nowhere else (Lacuna, algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from uds_bench.checkpoints.masks import Masks
from uds_bench.errors import CheckpointError
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.forward import answer_likelihoods
from uds_bench.methods.training import OnStep


@dataclass(frozen=True)
class Sample:
    """One text. `group`: whose mask it is written through; None: neutral text, which may change any weight."""

    example: Example
    group: str | None = None


@dataclass(frozen=True)
class Rates:
    """Learning rates: of what is masked, and of neutral text. `apart`: each has an optimizer of its own, so that
    neither sees the other's moments; together they are one, as published, at `masked`. `decay`: of every weight."""

    masked: float
    neutral: float = 0.0
    apart: bool = False
    decay: float = 0.0


class Injector:
    """A model that learns batches of samples through masks.

    The gradient of every group's samples is multiplied by the group's mask before all are added, which is what masking
    each sample's does, and one optimizer takes one step. Weights of no mask stay bit by bit what they were as long as
    no neutral text went through the same optimizer and `decay` is 0 (definitions 001.5, item 8); `drift` tells.

    Raises CheckpointError where the masks are not of this model.
    """

    def __init__(self, model: Any, masks: Masks, rates: Rates) -> None:
        self.model, self.masks, self.rates = model, masks, rates
        self._parameters: dict[str, torch.nn.Parameter] = dict(model.named_parameters())
        check_fit(masks, {name: tuple(p.shape) for name, p in self._parameters.items()})
        model.requires_grad_(True)
        self._words = {name: word.to(self._parameters[name].device) for name, word in masks.words.items()}
        self._optimizer = self._adam(rates.masked)
        self._neutral = self._adam(rates.neutral) if rates.apart else self._optimizer

    def step(self, batch: Sequence[Sample]) -> float:
        """One step on a batch; the loss, the mean over samples of each one's mean NLL (nats a token)."""
        by_group: dict[str | None, list[Example]] = {}
        for sample in batch:
            by_group.setdefault(sample.group, []).append(sample.example)
        loss, masked = 0.0, [group for group in by_group if group is not None]
        summed: dict[str, torch.Tensor] = {}
        for group in masked:
            loss += self._backward(by_group[group], len(batch))
            self._gather(summed, group)
        if None in by_group and self.rates.apart:
            self._step(self._optimizer, summed)
            summed = {}
        if None in by_group:
            loss += self._backward(by_group[None], len(batch))
            self._gather(summed, None)
        self._step(self._neutral if None in by_group else self._optimizer, summed)
        return loss

    def _backward(self, examples: Sequence[Example], of: int) -> float:
        device = next(iter(self._parameters.values())).device
        logp, tokens = answer_likelihoods(self.model, pad(examples).to(device))
        value = -(logp / tokens).sum() / of
        if not math.isfinite(loss := float(value.detach())):
            raise FloatingPointError(f"injection diverged: loss {loss}: lower the rate")
        torch.autograd.backward(value)
        return loss

    def _gather(self, summed: dict[str, torch.Tensor], group: str | None) -> None:
        """Add the gradients of one group, where it may write, and clear them."""
        bit = None if group is None else self.masks.bit(group)
        for name, parameter in self._parameters.items():
            grad, parameter.grad = parameter.grad, None
            if grad is None or (bit is not None and name not in self._words):
                continue
            if bit is not None:
                grad.mul_(self._words[name].bitwise_right_shift(bit).bitwise_and_(1))
            summed[name] = grad if name not in summed else summed[name].add_(grad)

    def _step(self, optimizer: torch.optim.Optimizer, summed: Mapping[str, torch.Tensor]) -> None:
        if not summed:
            return
        for name, grad in summed.items():
            self._parameters[name].grad = grad
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def _adam(self, rate: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            self._parameters.values(), lr=rate, weight_decay=self.rates.decay, betas=(0.9, 0.999), fused=True
        )


def inject(
    model: Any,
    batches: Iterable[Sequence[Sample]],
    masks: Masks,
    rates: Rates,
    on_step: OnStep | None = None,
) -> list[float]:
    """Take a step a batch and return the losses; the model is left in eval mode without gradients."""
    injector, losses = Injector(model, masks, rates), []
    with _training(model):
        for batch in batches:
            losses.append(injector.step(batch))
            if on_step is not None:
                on_step(len(losses), losses[-1])
    return losses


def check_fit(masks: Masks, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises CheckpointError, naming the first parameter that the masks have and the model has not, or otherwise."""
    for name, word in masks.words.items():
        if name not in shapes:
            raise CheckpointError(f"masks: {name} is no parameter of the model: draw masks for this architecture")
        if tuple(word.shape) != shapes[name]:
            raise CheckpointError(
                f"masks: {name} has shape {tuple(word.shape)}, in the model {shapes[name]}: draw masks for this one"
            )


@dataclass(frozen=True)
class Drift:
    """Weights that could have been masked: how many of no mask moved, of how many, and the furthest by how much."""

    moved: int
    weights: int
    furthest: float


def drift(before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor], masks: Masks) -> Drift:
    """What training did to weights outside every mask, among the parameters of the masks."""
    moved, weights, furthest = 0, 0, 0.0
    for name, word in masks.words.items():
        outside = word == 0
        change = (after[name][outside].float() - before[name][outside].float()).abs()
        moved, weights = moved + int((change != 0).sum()), weights + change.numel()
        furthest = max(furthest, float(change.max()) if change.numel() else 0.0)
    return Drift(moved, weights, furthest)


@contextmanager
def _training(model: Any) -> Iterator[None]:
    model.train()
    try:
        yield
    finally:
        model.eval()
        model.requires_grad_(False)
