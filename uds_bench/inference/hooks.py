"""Reading and replacing what flows through a decoder's blocks, by forward hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from uds_bench.checkpoints import block_hidden

Keep = Callable[[torch.Tensor], torch.Tensor]


@contextmanager
def reading(modules: dict[str, nn.Module], keep: Keep) -> Iterator[dict[str, torch.Tensor]]:
    """While open, the output of each module's latest forward is kept.

    Args:
        modules: By names of the caller's choice; what each gives is hidden states, or a tuple that begins with them.
        keep: Called with the hidden states, [batch, tokens, width]; gives what is to be kept of them.

    Yields:
        What was kept by name, each as `keep` gave it; empty before a forward.

    Example:
        >>> layer = nn.ReLU()
        >>> with reading({"layer": layer}, lambda hidden: hidden[:, -1]) as kept:
        ...     _ = layer(torch.tensor([[[-1.0], [2.0]]]))
        >>> kept
        {'layer': tensor([[2.]])}
    """
    kept: dict[str, torch.Tensor] = {}

    def reader(name: str) -> Callable[..., None]:
        def hook(_module: nn.Module, _args: Any, output: Any) -> None:
            kept[name] = keep(block_hidden(output))

        return hook

    with ExitStack() as stack:
        for name, module in modules.items():
            stack.callback(module.register_forward_hook(reader(name)).remove)
        yield kept


@contextmanager
def reading_inputs(modules: dict[str, nn.Module], keep: Keep) -> Iterator[dict[str, torch.Tensor]]:
    """As `reading`, of the hidden state that enters each module.

    Args:
        modules: By names of the caller's choice; each is called with hidden states first, or as `hidden_states`.
        keep: Called with the hidden states, [batch, tokens, width]; gives what is to be kept of them.

    Yields:
        What was kept by name, each as `keep` gave it; empty before a forward.

    Example:
        >>> layer = nn.ReLU()
        >>> with reading_inputs({"layer": layer}, lambda hidden: hidden[:, 0]) as kept:
        ...     _ = layer(torch.tensor([[[-1.0], [2.0]]]))
        >>> kept
        {'layer': tensor([[-1.]])}
    """
    kept: dict[str, torch.Tensor] = {}

    def reader(name: str) -> Callable[..., None]:
        def hook(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            kept[name] = keep(args[0] if args else kwargs["hidden_states"])

        return hook

    with ExitStack() as stack:
        for name, module in modules.items():
            stack.callback(module.register_forward_pre_hook(reader(name), with_kwargs=True).remove)
        yield kept


@contextmanager
def replacing(module: nn.Module, edit: Keep) -> Iterator[None]:
    """While open, the module's output is `edit(output)`."""

    def hook(_module: nn.Module, _args: Any, output: Any) -> Any:
        edited = edit(block_hidden(output))
        return (edited, *output[1:]) if isinstance(output, tuple) else edited

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
