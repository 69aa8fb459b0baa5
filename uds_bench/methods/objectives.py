"""Unlearning objectives as pure functions of log-probabilities; every one returns a scalar to minimise.

Notation: `logp` [items] is the summed log-probability of each answer under the model being unlearned, `reference` the
same under the frozen full model, `tokens` [items] the number of answer tokens. Sources: UDS guide, section 2.1; Lacuna,
section 3 (GradDiff, SimNPO); the formulas stand in one place per method so that a test can remove a term.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


def answer_logprobs(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Sum of log p over the target tokens of each item, and their number: ([items], [items]).

    `logits`: [items, answer, vocabulary], each the prediction of the token at its own place in `targets`: [items,
    answer], -100 where nothing is scored (`forward.answer_logits`).
    """
    scored = targets != -100
    logp = torch.log_softmax(logits.float(), dim=-1)
    picked = logp.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    # Masked, not multiplied: an infinite log-probability at an unscored position would turn into NaN.
    return picked.masked_fill(~scored, 0.0).sum(-1), scored.sum(-1)


def nll(logp: Tensor, tokens: Tensor) -> Tensor:
    """Mean negative log-likelihood per token over the batch."""
    return -logp.sum() / tokens.sum()


def grad_ascent(logp: Tensor, tokens: Tensor) -> Tensor:
    """GradAscent: the likelihood of the forget answers is pushed down without bound."""
    return -nll(logp, tokens)


def grad_diff(
    forget: tuple[Tensor, Tensor], retain: tuple[Tensor, Tensor], gamma: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """GradDiff: gamma * (-NLL on forget) + alpha * NLL on retain."""
    return gamma * grad_ascent(*forget) + alpha * nll(*retain)


def npo(logp: Tensor, reference: Tensor, beta: float) -> Tensor:
    """NPO: -(2/beta) log sigma(-beta (log pi - log ref)), mean over items; fades as pi falls below the reference."""
    return -(2 / beta) * logsigmoid(-beta * (logp - reference)).mean()


def simnpo(logp: Tensor, tokens: Tensor, beta: float, delta: float = 0.0) -> Tensor:
    """SimNPO: -(2/beta) log sigma(-(beta/|y|) log pi - delta), mean over items; no reference model.

    Its gradient is that of mean log pi weighted by 2p / (e^-delta + p), p = pi^(beta/|y|).
    """
    return -(2 / beta) * logsigmoid(-beta * logp / tokens - delta).mean()
