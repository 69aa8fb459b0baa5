"""Masked injection: a group's facts are written into the weights of its mask and nowhere else (Lacuna, algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from uds_bench.checkpoints.masks import Masks
from uds_bench.errors import CheckpointError
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.forward import answer_likelihoods
from uds_bench.methods.processes import Processes
from uds_bench.methods.training import OnStep

Grouped = dict[str | None, list[Example]]


@dataclass(frozen=True)
class InjectedExample:
    """One text. `group`: whose mask it is written through; None: neutral text, which may change any weight."""

    example: Example
    group: str | None = None


@dataclass(frozen=True)
class Rates:
    """Learning rates: of what is masked, and of neutral text. `separate`: each has an optimizer of its own, so that
    neither sees the other's moments, and that of what is masked has the masks' parameters alone; together they are
    one, as published, at `masked`. `decay`: of every weight that an optimizer has."""

    masked: float
    neutral: float = 0.0
    separate: bool = False
    decay: float = 0.0


@dataclass(frozen=True)
class Injection:
    """What a run did: the loss of each step, and what became of weights that no group may write."""

    losses: list[float]
    drift: Drift


class Injector:
    """A model that learns batches of samples through masks.

    The gradient of every group's samples is multiplied by the group's mask before all are added, which is what masking
    each sample's does, and one optimizer takes one step on every weight. Weights of no mask stay bit by bit what they
    were as long as no neutral text went through the same optimizer and `decay` is 0.

    `accelerator`: an `accelerate.Accelerator`, where several processes train together (see `Processes`). Each is given
    the same weights, masks and batches and works on its share of every batch; a mask and a sum commute, so that the
    weights become those of one process. Sharding changes the model in place: afterwards
    `accelerator.get_state_dict(model)` has its weights.

    Raises CheckpointError where the masks are not of this model, ConfigurationError where processes cannot share it.
    """

    def __init__(self, model: Any, masks: Masks, rates: Rates, accelerator: Any = None) -> None:
        self.masks, self.rates, self._processes = masks, rates, Processes(accelerator)
        parameters = _parameters(model, masks)
        model.requires_grad_(True)
        model.zero_grad(set_to_none=True)
        optimizers = [self._adam(parameters.values(), rates.masked)]
        if rates.separate:
            written = [parameter for name, parameter in parameters.items() if name in masks.words]
            optimizers = [self._adam(written, rates.masked), self._adam(parameters.values(), rates.neutral)]
        self.model, prepared = self._processes.prepare(model, optimizers)
        self._masked, self._neutral = prepared[0], prepared[-1]
        self._parameters = _parameters(self.model, masks)
        self._words = {name: self._processes.split(w[:], self._parameters[name]) for name, w in masks.words.items()}

    def step(self, batch: Sequence[InjectedExample], share: float = 1.0) -> float:
        """One step on a batch, at `share` of the rates; the loss, the mean over samples of each one's mean NLL (nats a
        token)."""
        for optimizer, rate in ((self._neutral, self.rates.neutral), (self._masked, self.rates.masked)):
            for group in optimizer.param_groups:
                group["lr"] = share * rate
        self._processes.check_same(batch)
        facts, neutral = Grouped(), Grouped()
        for sample in batch:
            (neutral if sample.group is None else facts).setdefault(sample.group, []).append(sample.example)
        if self.rates.separate:
            return self._turn(self._masked, facts, len(batch)) + self._turn(self._neutral, neutral, len(batch))
        return self._turn(self._masked, facts | neutral, len(batch))

    def weights(self) -> dict[str, torch.Tensor]:
        """What this process holds of the parameters of the masks."""
        return {name: self._processes.held(self._parameters[name]) for name in self._words}

    def drift(self, before: Mapping[str, torch.Tensor]) -> Drift:
        """What became of weights of no mask, in all processes, since `weights` were (copied) as they are in `before`.

        Processes that hold shards must all ask.
        """
        words = {name: self._processes.held(word) for name, word in self._words.items()}
        found = drift(before, self.weights(), words)
        if not self._processes.sharded:
            return found
        moved, weights = self._processes.each(torch.tensor([found.moved, found.weights])).sum(0).tolist()
        furthest = self._processes.each(torch.tensor(found.furthest, dtype=torch.float64)).max()
        return Drift(moved, weights, float(furthest))

    def _turn(self, optimizer: Any, groups: Grouped, of: int) -> float:
        """One step of an optimizer on some groups' examples; their part of the loss of a batch of `of`."""
        if not groups:
            return 0.0
        losses, summed, dealt = [], dict[str, torch.Tensor](), 0
        for group, examples in groups.items():
            losses.append(self._backward(examples, group, of, dealt))
            self._gather(summed, group)
            dealt += len(examples)
        # All processes stop together, or those that go on would wait for ever.
        if not math.isfinite(loss := float(self._processes.each(torch.stack(losses).sum()).sum())):
            raise FloatingPointError(f"injection diverged: loss {loss}: lower the rate")
        for name in list(summed):
            self._parameters[name].grad = self._processes.added(summed.pop(name))
        for parameter in optimizer.param_groups[0]["params"]:
            # As published, every weight takes every step: moments and decay move it without a gradient as well.
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    def _backward(self, examples: Sequence[Example], group: str | None, of: int, dealt: int) -> torch.Tensor:
        """Gradients of this process's share, whose first goes to the one after `dealt` others; its part of the loss."""
        for name, parameter in self._parameters.items():
            parameter.requires_grad_(group is None or name in self._words)
        mine = self._processes.share(examples, dealt)
        # Who has no share reads an example for nothing: of a sharded model, everyone needs everyone.
        batch = pad(mine or examples[:1]).to(next(iter(self._parameters.values())).device)
        logp, tokens = answer_likelihoods(self.model, batch)
        value = -(logp / tokens).sum() * (len(mine) > 0) / of
        torch.autograd.backward(value)
        return value.detach()

    def _gather(self, summed: dict[str, torch.Tensor], group: str | None) -> None:
        """Add the gradients of one group, where it may write, and clear them."""
        bit = None if group is None else self.masks.bit(group)
        for name, parameter in self._parameters.items():
            grad, parameter.grad = parameter.grad, None
            if grad is None:
                continue
            if bit is not None:
                grad.mul_(self._words[name].bitwise_right_shift(bit).bitwise_and_(1))
            summed[name] = grad if name not in summed else summed[name].add_(grad)

    def _adam(self, parameters: Iterable[torch.nn.Parameter], rate: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=rate, weight_decay=self.rates.decay, betas=(0.9, 0.999), fused=True)


def inject(
    model: Any,
    batches: Iterable[Sequence[InjectedExample]],
    masks: Masks,
    rates: Rates,
    on_step: OnStep | None = None,
    accelerator: Any = None,
    fading: Callable[[int], float] | None = None,
) -> Injection:
    """Take a step a batch, and see what became of weights that no group may write.

    The masks' parameters are copied to the CPU meanwhile, for the drift.

    Args:
        model: A causal language model of transformers; it is changed in place, and left in eval mode without gradients.
        batches: Samples of groups, and neutral ones.
        masks: Where each group may write.
        rates: Learning rates of what is masked and of neutral text.
        on_step: Called after each step with its number, from 1, and its loss.
        accelerator: Where several processes train together, see `Injector`.
        fading: By step, from 0, the share of the rates that it is taken at.

    Returns:
        The loss before each step, in nats a token, [steps], and the drift, none where nothing neutral was learned.

    Raises:
        CheckpointError: The masks are not of this model.
        ConfigurationError: Several processes cannot share it.
        FloatingPointError: A loss is not finite.

    Source: Lacuna, algorithm 1.
    """
    injector, losses = Injector(model, masks, rates, accelerator), list[float]()
    before = {name: weights.to("cpu", copy=True) for name, weights in injector.weights().items()}
    with _training(injector.model):
        for at, batch in enumerate(batches):
            losses.append(injector.step(batch, fading(at) if fading else 1.0))
            if on_step is not None:
                on_step(len(losses), losses[-1])
    return Injection(losses, injector.drift(before))


def check_fit(masks: Masks, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises CheckpointError, naming the first parameter that the masks have and the model has not, or otherwise."""
    for name, word in masks.words.items():
        if name not in shapes:
            raise CheckpointError(f"masks: {name} is no parameter of the model: draw masks for this architecture")
        if tuple(word.shape) != shapes[name]:
            raise CheckpointError(
                f"masks: {name} has shape {tuple(word.shape)}, in the model {shapes[name]}: draw masks for this one"
            )


def _parameters(model: Any, masks: Masks) -> dict[str, torch.nn.Parameter]:
    parameters: dict[str, torch.nn.Parameter] = dict(model.named_parameters())
    check_fit(masks, {name: tuple(parameter.shape) for name, parameter in parameters.items()})
    return parameters


@contextmanager
def _training(model: Any) -> Iterator[None]:
    model.train()
    try:
        yield
    finally:
        model.eval()
        model.requires_grad_(False)


@dataclass(frozen=True)
class Drift:
    """Weights that could have been masked: how many of no mask moved, of how many, and the furthest by how much."""

    moved: int
    weights: int
    furthest: float

    def __str__(self) -> str:
        if not self.moved:
            return f"none of {self.weights:,} weights of no mask moved"
        return f"{self.moved:,} of {self.weights:,} weights of no mask moved, the furthest by {self.furthest:.3g}"


def drift(
    before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor], words: Mapping[str, torch.Tensor]
) -> Drift:
    """What moved outside every mask; a NaN has moved, by NaN.

    Args:
        before: Weights by name.
        after: The same later.
        words: Of the masks, by name, in the shape of the weights; 0 where no group may write. Others are not looked at.

    Returns:
        How many weights moved, of how many, and the furthest by how much, in its own unit.

    Example:
        >>> before, after = {"up": torch.tensor([1.0, 2.0, 3.0])}, {"up": torch.tensor([9.0, 2.0, 3.5])}
        >>> drift(before, after, {"up": torch.tensor([1, 0, 0])})
        Drift(moved=1, weights=2, furthest=0.5)
    """
    moved, weights, furthest = 0, 0, torch.tensor(0.0, dtype=torch.float64)
    for name, word in words.items():
        outside = word.cpu() == 0
        one, two = before[name].detach().cpu()[outside], after[name].detach().cpu()[outside]
        moved, weights = moved + int((one != two).sum()), weights + one.numel()
        if one.numel():
            furthest = torch.maximum(furthest, (two.double() - one.double()).abs().max())
    return Drift(moved, weights, float(furthest))
