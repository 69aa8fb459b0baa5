"""Unlearning methods: which objective, on which batches, for how long. Usable on any causal language model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from uds_bench.methods.examples import Batch, Example, forever
from uds_bench.methods.forward import answer_logits
from uds_bench.methods.objectives import answer_logprobs, grad_ascent, nll, npo, simnpo
from uds_bench.methods.training import Optimisation, train

MethodName = Literal["identity", "grad_diff", "npo", "simnpo", "idk_nll"]


@dataclass(frozen=True)
class Method:
    """An unlearning method with its settings.

    `alpha` weighs the retain term, `gamma` the forget term, `beta` and `delta` are NPO's and SimNPO's own.
    """

    name: MethodName
    steps: int
    lr: float
    batch_size: int = 16
    gamma: float = 1.0
    alpha: float = 1.0
    beta: float = 0.1
    delta: float = 0.0
    seed: int = 0


@dataclass(frozen=True)
class Data:
    """What a method may see: forget answers, retain answers, and refusals to the forget questions."""

    forget: Sequence[Example]
    retain: Sequence[Example]
    refusals: Sequence[Example]


REFUSALS = (
    "I don't know.",
    "I'm not sure.",
    "I have no information about that.",
    "That is unknown to me.",
    "I cannot answer that.",
)


def unlearn(model: Any, data: Data, method: Method, on_step: Callable[[int, float], None] | None = None) -> list[float]:
    """Change `model` in place by the method and return the losses, one per step ([] for identity)."""
    if method.name == "identity":
        return []
    reference = copy.deepcopy(model).eval() if method.name == "npo" else None
    targets = data.refusals if method.name == "idk_nll" else data.forget

    def loss(current: Any, batch: tuple[Batch, Batch]) -> torch.Tensor:
        forget, retain = batch
        return method.gamma * _forget_loss(current, reference, forget, method) + method.alpha * nll(
            *answer_logprobs(*answer_logits(current, retain))
        )

    device = next(model.parameters()).device
    batches = _paired(targets, data.retain, method, device)
    return train(model, batches, loss, Optimisation(method.lr), method.steps, on_step)


def _forget_loss(model: Any, reference: Any, batch: Batch, method: Method) -> torch.Tensor:
    logp, tokens = answer_logprobs(*answer_logits(model, batch))
    if method.name == "grad_diff":
        return grad_ascent(logp, tokens)
    if method.name == "idk_nll":
        return nll(logp, tokens)
    if method.name == "simnpo":
        return simnpo(logp, tokens, method.beta, method.delta)
    with torch.no_grad():
        before, _ = answer_logprobs(*answer_logits(reference, batch))
    return npo(logp, before, method.beta)


def _paired(
    forget: Sequence[Example], retain: Sequence[Example], method: Method, device: torch.device
) -> Iterator[tuple[Batch, Batch]]:
    generator = torch.Generator().manual_seed(method.seed)
    streams = forever(forget, method.batch_size, generator), forever(retain, method.batch_size, generator)
    for f, r in zip(*streams, strict=False):
        yield f.to(device), r.to(device)
