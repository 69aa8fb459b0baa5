"""MemFlex: which matrices to unlearn in (Tian et al. 2024, "To Forget or Not?"; Lacuna, section 4.1 and table 5).

The gradients are those of random answers, as the paper's are: of an answer that is known by heart next to nothing is
left. What the text leaves open is settled so: a module is one weight matrix of attention or feed-forward, in any
block; its gradient is the mean over questions, and over `copies` answers to each that are drawn from the same split,
of that of the mean loss a token; its magnitude is the mean of |g| over the matrix, its direction the whole matrix as
one vector. Both bounds are strict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from uds_bench.checkpoints.mask_draws import maskable
from uds_bench.errors import CheckpointError, ConfigurationError, FactError
from uds_bench.methods.data import Data
from uds_bench.methods.examples import Example, answered, pad
from uds_bench.methods.forward import answer_likelihoods
from uds_bench.methods.method import MemFlex, Method

Gradients = Mapping[str, Tensor]
TOGETHER = 8
"""Questions in one pass."""


def leave_diverging(model: Any, data: Data, method: Method) -> None:
    """From now on only the matrices that MemFlex chooses take gradients; of those that did, where some did.

    Raises ConfigurationError where it chooses none, FactError where a split has fewer than two answers to draw from.
    """
    assert isinstance(method, MemFlex)  # Method("memflex") is refused
    names = {name for name, p in model.named_parameters() if p.requires_grad} or set(maskable(model, 0))
    matrices = {name: p for name, p in model.named_parameters() if name in names.intersection(maskable(model, 0))}
    model.eval()
    model.requires_grad_(False)
    for parameter in matrices.values():
        parameter.requires_grad_(True)
    forget, retain = (
        _mean_gradients(model, matrices, relabelled(split, method.copies, method.seed))
        for split in (data.forget, data.retain)
    )
    chosen = diverging(forget, retain, method.gradient_threshold, method.similarity_threshold)
    for name, parameter in matrices.items():
        parameter.requires_grad_(name in chosen)


def diverging(forget: Gradients, retain: Gradients, gradient: float, similarity: float) -> list[str]:
    """The matrices whose forget gradient is longer than `gradient` a weight and less like the retain one than
    `similarity`, a cosine in [-1, 1]; a gradient of zeros is like none (0).

    Raises ConfigurationError where there is none, CheckpointError where a gradient is not finite.
    """
    sizes = {name: float(g.abs().mean()) for name, g in forget.items()}
    likeness = {name: _cosine(g, retain[name]) for name, g in forget.items()}
    for name in forget:
        if not (forget[name].isfinite().all() and retain[name].isfinite().all()):
            raise CheckpointError(f"method memflex: the gradient of {name} is not finite: check the weights")
    found = [name for name in forget if sizes[name] > gradient and likeness[name] < similarity]
    if not found:
        raise ConfigurationError(
            f"method memflex: none of {len(forget)} matrices has a forget gradient above {gradient:g} (largest "
            f"{max(sizes.values(), default=0):.2g}) that is less like its retain gradient than {similarity:g} (least "
            f"{min(likeness.values(), default=1):.2f}): take another gradient_threshold or similarity_threshold"
        )
    return found


def _mean_gradients(model: Any, matrices: Mapping[str, torch.nn.Parameter], examples: Sequence[Example]) -> Gradients:
    """Of each matrix, float32: the gradient of the mean over examples of the mean loss (nats) a token."""
    summed = {name: torch.zeros_like(p, dtype=torch.float32) for name, p in matrices.items()}
    ranked = sorted(examples, key=len)
    for start in range(0, len(ranked), TOGETHER):
        logp, tokens = answer_likelihoods(model, pad(ranked[start : start + TOGETHER]).to(model.device))
        loss = -(logp / tokens).sum() / len(ranked)
        found = torch.autograd.grad(loss, list(matrices.values()), materialize_grads=True)
        for total, gradient in zip(summed.values(), found, strict=True):
            total += gradient
    return summed


def relabelled(examples: Sequence[Example], copies: int, seed: int) -> list[Example]:
    """Each question `copies` times, with an answer drawn from those to the others."""
    if len(examples) < 2:
        raise FactError(f"method memflex draws other answers from {len(examples)}: give two to forget and two to keep")
    return list(_relabelled(examples, copies, torch.Generator().manual_seed(seed)))


def _relabelled(examples: Sequence[Example], copies: int, generator: torch.Generator) -> Iterator[Example]:
    for place, example in enumerate(examples):
        for step in torch.randint(1, len(examples), (copies,), generator=generator).tolist():
            yield answered(example, examples[(place + step) % len(examples)])


def _cosine(a: Tensor, b: Tensor) -> float:
    lengths = float(a.norm() * b.norm())
    return float((a * b).sum()) / lengths if lengths else 0.0
