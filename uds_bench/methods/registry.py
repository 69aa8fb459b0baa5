"""Every method by name: how it is run, and what it reads of settings and data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import repeat
from typing import Any

import torch

from uds_bench.methods import terms
from uds_bench.methods.alphaedit import alphaedit
from uds_bench.methods.data import Data
from uds_bench.methods.examples import Batch, forever, pad, pad_pairs
from uds_bench.methods.memflex import leave_diverging
from uds_bench.methods.method import AlphaEdit, MemFlex, Method, MethodName, Rmu
from uds_bench.methods.training import OnStep, Optimisation, train

Run = Callable[[Any, Data, Method, OnStep | None], list[float]]
"""Changes a model in place and returns the losses, one a step."""


@dataclass(frozen=True)
class MethodRecipe:
    """`settings`: those that it reads beside steps, lr, batch_size and seed; `adapters`: it can train one alone;
    `localizes`: it reads retain answers whatever their weight; `remembers`: it reads the model as it was, of which it
    keeps a copy where no adapter is trained."""

    run: Run
    settings: tuple[str, ...] = ("gamma", "alpha")
    adapters: bool = True
    localizes: bool = False
    remembers: bool = False

    def needs_retain(self, method: Method) -> bool:
        """Whether the method reads what is to be kept."""
        return self.localizes or ("alpha" in self.settings and method.alpha > 0)


def trained(
    items: Callable[[Data], Sequence[Any]],
    begin: Callable[[Any, Method], terms.Terms],
    collate: Callable[[Sequence[Any]], Batch] = pad,
) -> Run:
    """Descent on a method's terms. `items`: what the forget batches are drawn from; `collate` makes one of some items.

    All weights are trained, or those that take gradients where some do, as with an adapter (`lora.with_lora`). AdamW
    at a constant rate, no weight decay, gradients clipped to length 1; the order of batches follows the seed.
    """

    def run(model: Any, data: Data, method: Method, on_step: OnStep | None) -> list[float]:
        found = begin(model, method)
        retain_term = found.retain if method.alpha else None

        def loss(current: Any, batch: tuple[Batch, Batch | None]) -> torch.Tensor:
            forget, retain = batch
            value = method.gamma * found.forget(current, forget)
            if retain_term is None or retain is None:
                return value
            return value + method.alpha * retain_term(current, retain)

        device = next(model.parameters()).device
        generator = torch.Generator().manual_seed(method.seed)
        forget = forever(items(data), method.batch_size, generator, collate)
        retain = forever(data.retain, method.batch_size, generator) if retain_term else repeat(None)
        batches = ((f.to(device), None if r is None else r.to(device)) for f, r in zip(forget, retain, strict=False))
        return train(model, batches, loss, Optimisation(method.lr), method.steps, on_step)

    return run


def _memflex(model: Any, data: Data, method: Method, on_step: OnStep | None) -> list[float]:
    leave_diverging(model, data, method)
    return _grad_diff(model, data, method, on_step)


def _own(kind: type[Method]) -> tuple[str, ...]:
    """The settings that a kind of method has beside the common ones."""
    return tuple(one.name for one in fields(kind) if one.kw_only)


_grad_diff = trained(lambda data: data.forget, terms.grad_diff)
_beta = ("gamma", "alpha", "beta")

METHODS: dict[MethodName, MethodRecipe] = {
    "grad_ascent": MethodRecipe(trained(lambda data: data.forget, terms.grad_ascent), ("gamma",)),
    "grad_diff": MethodRecipe(_grad_diff),
    "npo": MethodRecipe(trained(lambda data: data.forget, terms.npo), _beta, remembers=True),
    "simnpo": MethodRecipe(trained(lambda data: data.forget, terms.simnpo), (*_beta, "delta")),
    "idk_nll": MethodRecipe(trained(lambda data: data.refusals, terms.idk_nll)),
    "idk_dpo": MethodRecipe(
        trained(lambda data: data.preferring(data.refusals), terms.dpo, pad_pairs), _beta, remembers=True
    ),
    "alt_po": MethodRecipe(
        trained(lambda data: data.preferring(data.alternates), terms.dpo, pad_pairs), _beta, remembers=True
    ),
    "rmu": MethodRecipe(trained(lambda data: data.forget, terms.rmu), ("gamma", "alpha", *_own(Rmu)), remembers=True),
    "undial": MethodRecipe(trained(lambda data: data.forget, terms.undial), _beta, remembers=True),
    "memflex": MethodRecipe(_memflex, ("gamma", "alpha", *_own(MemFlex)), localizes=True),
    "alphaedit": MethodRecipe(alphaedit, _own(AlphaEdit), adapters=False, localizes=True),
}
"""Adding one that trains: its objective, its terms, a line here and its name in `method`; another: its own `run`."""


def unlearn(model: Any, data: Data, method: Method, on_step: OnStep | None = None) -> list[float]:
    """Change a model in place by a method.

    Args:
        model: A causal language model of transformers; it is left in eval mode and without gradients.
        data: What is to be forgotten and kept.
        method: Its name and settings.
        on_step: Called after each step with its number, from 1, and its loss.

    Returns:
        The losses that the method minimises, [steps]; empty for identity, which changes nothing.

    Raises:
        FloatingPointError: The training diverges.
        FactError: The data lack what the method needs.
        ValueError: There is nothing to draw batches from.
        ConfigurationError: The model lacks a layer that the method names.
        CheckpointError: The weights cannot be changed in that way.
    """
    if method.name == "identity":
        return []
    return METHODS[method.name].run(model, data, method, on_step)
