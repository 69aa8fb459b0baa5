"""How each method that trains judges a batch: its forget term and its retain term, from before the first step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from uds_bench.checkpoints import find_anatomy
from uds_bench.errors import ConfigurationError
from uds_bench.methods import objectives
from uds_bench.methods.examples import Batch
from uds_bench.methods.forward import answer_likelihoods, answer_logits, answer_nll, answer_states
from uds_bench.methods.method import Method, Rmu

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


Loss = Callable[[Any, Batch], Tensor]


@dataclass(frozen=True)
class Terms:
    """What is minimised on a batch of forget items, and on one of retain answers (None: nothing): in all methods but
    RMU these are learned on."""

    forget: Loss
    retain: Loss | None = answer_nll


def grad_ascent(_model: Any, _method: Method) -> Terms:
    """GradAscent: the forget answers become unlikely, and nothing is kept."""
    return Terms(lambda model, batch: objectives.grad_ascent(*answer_likelihoods(model, batch)), None)


def grad_diff(_model: Any, _method: Method) -> Terms:
    """GradDiff: the forget answers become unlikely, beside the retain answers' loss."""
    return Terms(lambda model, batch: objectives.grad_ascent(*answer_likelihoods(model, batch)))


def idk_nll(_model: Any, _method: Method) -> Terms:
    """IdkNLL: refusals are learned in the place of answers."""
    return Terms(answer_nll)


def simnpo(_model: Any, method: Method) -> Terms:
    """SimNPO: NPO by length, without a reference model."""
    return Terms(lambda model, batch: objectives.simnpo(*answer_likelihoods(model, batch), method.beta, method.delta))


def _beside(
    model: Any, read: Callable[[Any, Batch], tuple[Tensor, Tensor]], loss: Callable[[Tensor, Tensor, Tensor], Tensor]
) -> Terms:
    """`loss` of what is read of a batch now, and of the first of what was read of it before the first step."""
    frozen = freeze(model)

    def forget(current: Any, batch: Batch) -> Tensor:
        with frozen() as reference:
            before, _ = read(reference, batch)
        return loss(*read(current, batch), before)

    return Terms(forget)


def npo(model: Any, method: Method) -> Terms:
    """NPO: the forget answers become less likely than the model before has them."""
    return _beside(model, answer_likelihoods, lambda now, _, before: objectives.npo(now, before, method.beta))


def dpo(model: Any, method: Method) -> Terms:
    """IdkDPO and AltPO: another answer is preferred to the one to be forgotten."""

    def loss(now: Tensor, _: Tensor, before: Tensor) -> Tensor:
        # Preferred and rejected answers go through the model together (`examples.pad_pairs`).
        half = len(now) // 2
        return objectives.dpo(now[:half], now[half:], before[:half], before[half:], method.beta)

    return _beside(model, answer_likelihoods, loss)


def undial(model: Any, method: Method) -> Terms:
    """UNDIAL: the model's own logits are learned, those of the answer lowered."""

    def loss(logits: Tensor, targets: Tensor, wanted: Tensor) -> Tensor:
        return objectives.undial(logits, wanted, targets, method.beta)

    return _beside(model, answer_logits, loss)


def rmu(model: Any, method: Method) -> Terms:
    """RMU: states of the forget answers are steered to a random direction. Raises for a layer that is none."""
    assert isinstance(method, Rmu)  # Method("rmu") is refused
    count = len(find_anatomy(model).blocks)
    if method.layer >= count:
        raise ConfigurationError(
            f"method rmu: layer = {method.layer}, but the model has {count} blocks: choose from 0 to {count - 1}"
        )
    frozen = freeze(model)
    width = model.get_input_embeddings().weight.shape[1]
    drawn = torch.rand(width, generator=torch.Generator().manual_seed(method.seed))
    target = (method.scale * drawn / drawn.norm()).to(model.device)

    def states(current: Any, batch: Batch) -> tuple[Tensor, Tensor]:
        return answer_states(current, find_anatomy(current).blocks[method.layer], batch)

    def forget(current: Any, batch: Batch) -> Tensor:
        hidden, scored = states(current, batch)
        return objectives.steering(hidden, target, scored)

    def retain(current: Any, batch: Batch) -> Tensor:
        with frozen() as anchor:
            wanted, _ = states(anchor, batch)
        hidden, scored = states(current, batch)
        return objectives.steering(hidden, wanted, scored)

    return Terms(forget, retain)
