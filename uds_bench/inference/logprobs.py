"""Log-probabilities of given tokens from hidden states, never holding the vocabulary at more positions than needed."""

from __future__ import annotations

from collections.abc import Callable

import torch

POSITIONS_PER_STEP = 256

Readout = Callable[[torch.Tensor], torch.Tensor]


def token_logprobs(readout: Readout, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Natural log p(target) at each position, in float32 whatever the model's precision.

    `hidden`: [..., width] before the final norm; `targets`: [...]; returns [...], at most 0, higher is more knowledge.
    The vocabulary is read out in steps, as its [positions, vocabulary] table is the largest tensor of a pass.
    """
    flat, wanted = hidden.reshape(-1, hidden.shape[-1]), targets.reshape(-1)
    parts = [
        _logprobs(readout(flat[i : i + POSITIONS_PER_STEP]), wanted[i : i + POSITIONS_PER_STEP])
        for i in range(0, flat.shape[0], POSITIONS_PER_STEP)
    ]
    return torch.cat(parts).reshape(targets.shape)


def _logprobs(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = logits.float()
    return logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1) - logits.logsumexp(-1)


def greedy_tokens(readout: Readout, hidden: torch.Tensor) -> torch.Tensor:
    """The most likely next token at each position: [..., width] -> [...]."""
    flat = hidden.reshape(-1, hidden.shape[-1])
    parts = [readout(flat[i : i + POSITIONS_PER_STEP]).argmax(-1) for i in range(0, flat.shape[0], POSITIONS_PER_STEP)]
    return torch.cat(parts).reshape(hidden.shape[:-1])
