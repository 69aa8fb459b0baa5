"""Log-probabilities of given tokens from hidden states, never holding the vocabulary at more positions than needed."""

from __future__ import annotations

from collections.abc import Callable

import torch

POSITIONS_PER_STEP = 256
"""In float32; of 16 bits twice as many, in the same memory."""
NUMBERS_PER_STEP = 2**20
"""Logits widened to float32 at once on a CPU: larger pieces of memory go back to the system each time, which takes
longer than the sums do (1024 positions of 32,000 tokens in bf16: 147 ms at once, 33 ms so)."""
NUMBERS_PER_LAUNCH = 2**23
"""The same on a GPU, whose memory is kept: there each piece costs what three launches do, and fewer are faster."""

Readout = Callable[[torch.Tensor], torch.Tensor]


def token_logprobs(readout: Readout, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Natural log p(target) at each position, in float32 whatever the model's precision.

    The vocabulary is read out in steps, as its [positions, vocabulary] table is the largest tensor of a pass.

    Args:
        readout: Logits [positions, vocabulary] of hidden states [positions, width], such as `Anatomy.readout`.
        hidden: Block outputs before the final norm, [..., width].
        targets: Token ids, [...].

    Returns:
        [...] in nats, at most 0; higher is more knowledge.

    Example:
        >>> hidden = torch.tensor([[0.9, 0.1]]).log()  # here the states are the logits themselves
        >>> token_logprobs(lambda states: states, hidden, torch.tensor([1]))
        tensor([-2.3026])
    """
    flat, wanted = hidden.reshape(-1, hidden.shape[-1]), targets.reshape(-1)
    step = POSITIONS_PER_STEP * 4 // hidden.itemsize
    parts = [_logprobs(readout(flat[i : i + step]), wanted[i : i + step]) for i in range(0, flat.shape[0], step)]
    return torch.cat(parts).reshape(targets.shape)


def _logprobs(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    numbers = NUMBERS_PER_STEP if logits.device.type == "cpu" else NUMBERS_PER_LAUNCH
    rows = max(1, numbers // logits.shape[-1])
    parts = [
        some.float().log_softmax(-1).gather(-1, wanted.unsqueeze(-1)).squeeze(-1)
        for some, wanted in zip(torch.split(logits, rows), torch.split(targets, rows), strict=True)
    ]
    return torch.cat(parts)


def greedy_tokens(readout: Readout, hidden: torch.Tensor) -> torch.Tensor:
    """The most likely next token at each position.

    Args:
        readout: Logits [positions, vocabulary] of hidden states [positions, width], such as `Anatomy.readout`.
        hidden: Block outputs before the final norm, [..., width].

    Returns:
        Token ids, [...]; of tokens alike, the first; -1 where a logit is NaN.

    Example:
        >>> greedy_tokens(lambda states: states, torch.tensor([[0.9, 0.1], [0.2, 0.8]]))
        tensor([0, 1])
    """
    flat = hidden.reshape(-1, hidden.shape[-1])
    step = POSITIONS_PER_STEP * 4 // hidden.itemsize
    parts = [readout(flat[i : i + step]).max(-1) for i in range(0, flat.shape[0], step)]
    chosen = [one.indices.masked_fill(one.values.isnan(), -1) for one in parts]
    return torch.cat(chosen).reshape(hidden.shape[:-1])
