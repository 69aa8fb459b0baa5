"""Unlearning objectives as pure functions of what a model says; every one returns a scalar to minimise.

Notation: `logp` [items] is the summed log-probability of each answer under the model being unlearned, `reference` the
same under the frozen full model, `tokens` [items] the number of answer tokens; all in nats. The formulas stand in one
place per method so that a test can take a term away. The retain term, alpha times the NLL of the retain answers (RMU
has its own), is added by the training. Sources: UDS guide, section 2.1; Lacuna, section 3 (GradDiff, SimNPO); and the
papers named below.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from uds_bench.methods.examples import IGNORED


def answer_logprobs(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Sum of log p over the target tokens of each item, and their number: ([items], [items]).

    `logits`: [items, answer, vocabulary], each the prediction of the token at its own place in `targets`: [items,
    answer], -100 where nothing is scored (`forward.answer_logits`).
    """
    scored = targets != IGNORED
    logp = torch.log_softmax(_single(logits), dim=-1)
    picked = logp.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    # Masked, not multiplied: an infinite log-probability at an unscored position would turn into NaN.
    return picked.masked_fill(~scored, 0.0).sum(-1), scored.sum(-1)


def nll(logp: Tensor, tokens: Tensor) -> Tensor:
    """Mean negative log-likelihood per token over the batch. Of refusals it is IdkNLL (Maini et al. 2024, TOFU)."""
    return -logp.sum() / tokens.sum()


def grad_ascent(logp: Tensor, tokens: Tensor) -> Tensor:
    """GradAscent: the likelihood of the forget answers is pushed down without bound (Jang et al. 2023)."""
    return -nll(logp, tokens)


def npo(logp: Tensor, reference: Tensor, beta: float) -> Tensor:
    """NPO: -(2/beta) log sigma(-beta (log pi - log ref)), mean over items (Zhang et al. 2024).

    Fades as pi falls below the reference; every answer starts with the same pull, however likely it is.
    """
    return -(2 / beta) * logsigmoid(-beta * (logp - reference)).mean()


def simnpo(logp: Tensor, tokens: Tensor, beta: float, delta: float = 0.0) -> Tensor:
    """SimNPO: -(2/beta) log sigma(-(beta/|y|) log pi - delta), mean over items (Fan et al. 2024).

    No reference model. Its gradient is that of mean log pi / |y| weighted by 2p / (e^-delta + p), p = pi^(beta/|y|).
    """
    return -(2 / beta) * logsigmoid(-beta * logp / tokens - delta).mean()


def dpo(
    preferred: Tensor, rejected: Tensor, preferred_reference: Tensor, rejected_reference: Tensor, beta: float
) -> Tensor:
    """DPO: -(2/beta) log sigma(beta ((log pi - log ref)(preferred) - (log pi - log ref)(rejected))), mean over items.

    IdkDPO (Maini et al. 2024, TOFU) prefers a refusal, AltPO (Mekala et al. 2025) another answer of the full model's
    own, and both reject the truth. Scaled as NPO, which is what is left without the preferred answer.
    """
    margin = (preferred - preferred_reference) - (rejected - rejected_reference)
    return -(2 / beta) * logsigmoid(beta * margin).mean()


def undial(logits: Tensor, teacher: Tensor, targets: Tensor, beta: float) -> Tensor:
    """UNDIAL: cross-entropy against softmax(teacher - beta * onehot(true token)), mean over tokens.

    `logits`, `teacher`: [items, answer, vocabulary] of the model and of the frozen one; `targets` as in
    `answer_logprobs`; `beta` in nats (Dong et al. 2025). Its minimum is the adjusted teacher: unlike
    ascent it ends.
    """
    scored = targets != IGNORED
    adjusted = _single(teacher.detach()[scored])
    true = targets[scored].unsqueeze(-1)
    wanted = adjusted.scatter_add(-1, true, torch.full_like(true, -beta, dtype=adjusted.dtype)).softmax(-1)
    return torch.nn.functional.cross_entropy(_single(logits[scored]), wanted)


def steering(hidden: Tensor, wanted: Tensor, scored: Tensor) -> Tensor:
    """Squared distance of hidden states from where they are wanted, mean over scored tokens (Li et al. 2024).

    RMU wants forget states at c * u, a long random vector, and retain states where the frozen model has them.
    `hidden`: [items, answer, width]; `wanted`: of that shape or [width]; `scored`: [items, answer], true where counted.
    """
    return (_single(hidden) - _single(wanted)).square().sum(-1)[scored].mean()


def _single(values: Tensor) -> Tensor:
    """At least single precision: sums over a vocabulary or a width lose their small terms in half."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
