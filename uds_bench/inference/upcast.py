"""A model of 16 bits read in float32: its own weights, module by module, so that no second copy of it is held."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn


@contextmanager
def in_float32(model: nn.Module) -> Iterator[None]:
    """While open, each module computes with its own weights in float32, and has them back when it is done.

    Every number of 16 bits is one of float32, so that what is computed is rounded later, and nothing else. A module
    that reads another one's weights without calling it meets two dtypes, and raises RuntimeError.

    Args:
        model: With weights in bfloat16 or float16; it is as before afterwards.

    Example:
        >>> import torch
        >>> linear = nn.Linear(2, 1, bias=False).to(torch.bfloat16)
        >>> with in_float32(linear):
        ...     print(linear(torch.ones(1, 2)).dtype)
        torch.float32
        >>> linear.weight.dtype
        torch.bfloat16
    """
    held: dict[nn.Module, dict[str, nn.Parameter | None]] = {}

    def raise_up(module: nn.Module, _given: Any) -> None:
        held[module] = dict(module._parameters)
        for name, weight in held[module].items():
            if weight is not None and weight.is_floating_point():
                module._parameters[name] = nn.Parameter(weight.float(), requires_grad=False)

    def put_back(module: nn.Module, _given: Any, _output: Any) -> None:
        module._parameters.update(held.pop(module))

    with ExitStack() as stack:
        try:
            for module in model.modules():
                if module._parameters:
                    stack.callback(module.register_forward_pre_hook(raise_up).remove)
                    stack.callback(module.register_forward_hook(put_back, always_call=True).remove)
            yield
        finally:
            for module in list(held):
                put_back(module, None, None)
