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
    """Log-probability of each answer, summed over its tokens, and their number.

    Args:
        logits: Each the prediction of the token at its own place in `targets`, [items, answer, vocabulary].
        targets: Token ids, -100 where nothing is scored, [items, answer] (`forward.answer_logits`).

    Returns:
        [items] in nats, at most 0, higher is likelier; and [items], tokens.

    Example:
        >>> logits = torch.tensor([[[0.9, 0.1], [0.5, 0.5]]]).log()
        >>> answer_logprobs(logits, torch.tensor([[1, -100]]))
        (tensor([-2.3026]), tensor([1]))
    """
    scored = targets != IGNORED
    logp = torch.log_softmax(_single(logits), dim=-1)
    picked = logp.gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    # Masked, not multiplied: an infinite log-probability at an unscored position would turn into NaN.
    return picked.masked_fill(~scored, 0.0).sum(-1), scored.sum(-1)


def nll(logp: Tensor, tokens: Tensor) -> Tensor:
    """Mean negative log-likelihood a token, over all tokens of the batch.

    Args:
        logp: Of each answer, summed over its tokens, in nats, [items].
        tokens: Of each answer, [items].

    Returns:
        A scalar in nats a token, 0 or more; lower is likelier. Of refusals it is IdkNLL.

    Source: Maini et al. 2024 (TOFU), for refusals.

    Example:
        >>> nll(torch.tensor([-2.0, -4.0]), torch.tensor([2, 1]))
        tensor(2.)
    """
    return -logp.sum() / tokens.sum()


def grad_ascent(logp: Tensor, tokens: Tensor) -> Tensor:
    """GradAscent: the likelihood of the forget answers is pushed down without bound.

    Args:
        logp: Of each answer, summed over its tokens, in nats, [items].
        tokens: Of each answer, [items].

    Returns:
        A scalar in nats a token, at most 0; lower is less likely.

    Source: Jang et al. 2023.

    Example:
        >>> grad_ascent(torch.tensor([-2.0, -4.0]), torch.tensor([2, 1]))
        tensor(-2.)
    """
    return -nll(logp, tokens)


def npo(logp: Tensor, reference: Tensor, beta: float) -> Tensor:
    """NPO: -(2/beta) log sigma(-beta (log pi - log ref)), mean over items.

    Fades as pi falls below the reference; every answer starts with the same pull, however likely it is.

    Args:
        logp: log pi of each answer, summed over its tokens, in nats, [items].
        reference: log ref, the same under the frozen model, [items].
        beta: How sharply it fades, above 0, in 1 / nats.

    Returns:
        A scalar above 0; lower is less likely. (2/beta) log 2 where nothing has changed yet.

    Source: Zhang et al. 2024.

    Example:
        >>> logp = torch.tensor([-3.0])
        >>> npo(logp, logp, beta=2.0), npo(logp - 4, logp, beta=2.0)
        (tensor(0.6931), tensor(0.0003))
    """
    return -(2 / beta) * logsigmoid(-beta * (logp - reference)).mean()


def simnpo(logp: Tensor, tokens: Tensor, beta: float, delta: float = 0.0) -> Tensor:
    """SimNPO: -(2/beta) log sigma(-(beta/|y|) log pi - delta), mean over items; it has no reference model.

    Its gradient is that of mean log pi / |y| weighted by 2p / (e^-delta + p), p = pi^(beta/|y|).

    Args:
        logp: log pi of each answer, summed over its tokens, in nats, [items].
        tokens: |y| of each answer, [items].
        beta: How sharply it fades, above 0, in 1 / nats.
        delta: Margin; the larger, the further an answer is pushed down.

    Returns:
        A scalar above 0; lower is less likely.

    Source: Fan et al. 2024; Lacuna, section 3.

    Example:
        >>> logp, tokens = torch.tensor([-1.0]), torch.tensor([2])
        >>> simnpo(logp, tokens, beta=2.0), simnpo(8 * logp, tokens, beta=2.0)
        (tensor(0.3133), tensor(0.0003))
    """
    return -(2 / beta) * logsigmoid(-beta * logp / tokens - delta).mean()


def dpo(
    preferred: Tensor, rejected: Tensor, preferred_reference: Tensor, rejected_reference: Tensor, beta: float
) -> Tensor:
    """DPO: -(2/beta) log sigma(beta ((log pi - log ref)(preferred) - (log pi - log ref)(rejected))), mean over items.

    IdkDPO prefers a refusal, AltPO another answer of the full model's own, and both reject the truth. Scaled as NPO,
    which is what is left without the preferred answer.

    Args:
        preferred: log pi of the answers that are preferred, summed over their tokens, in nats, [items].
        rejected: The same of those that are rejected, [items].
        preferred_reference: log ref of the former, under the frozen model, [items].
        rejected_reference: The same of the latter, [items].
        beta: How sharply it fades, above 0, in 1 / nats.

    Returns:
        A scalar above 0; lower is a clearer preference. (2/beta) log 2 where nothing has changed yet.

    Source: IdkDPO: Maini et al. 2024 (TOFU); AltPO: Mekala et al. 2025.

    Example:
        >>> before, refusal, truth = torch.tensor([-3.0]), torch.tensor([-1.0]), torch.tensor([-5.0])
        >>> dpo(before, before, before, before, beta=2.0), dpo(refusal, truth, before, before, beta=2.0)
        (tensor(0.6931), tensor(0.0003))
    """
    margin = (preferred - preferred_reference) - (rejected - rejected_reference)
    return -(2 / beta) * logsigmoid(beta * margin).mean()


def undial(logits: Tensor, teacher: Tensor, targets: Tensor, beta: float) -> Tensor:
    """UNDIAL: cross-entropy against softmax(teacher - beta * onehot(true token)), mean over tokens.

    Its minimum is the adjusted teacher: unlike ascent it ends.

    Args:
        logits: Of the model, [items, answer, vocabulary].
        teacher: Of the frozen model, [items, answer, vocabulary].
        targets: Token ids, -100 where nothing is scored, [items, answer].
        beta: By how much the true token's logit is lowered, in nats.

    Returns:
        A scalar in nats a token, at least the adjusted teacher's entropy; lower is nearer to it.

    Source: Dong et al. 2025.

    Example:
        >>> teacher, true = torch.tensor([[[2.0, 0.0]]]), torch.tensor([[0]])
        >>> undial(teacher, teacher, true, beta=2.0), undial(torch.zeros(1, 1, 2), teacher, true, beta=2.0)
        (tensor(1.1269), tensor(0.6931))
    """
    scored = targets != IGNORED
    adjusted = _single(teacher.detach()[scored])
    true = targets[scored].unsqueeze(-1)
    wanted = adjusted.scatter_add(-1, true, torch.full_like(true, -beta, dtype=adjusted.dtype)).softmax(-1)
    return torch.nn.functional.cross_entropy(_single(logits[scored]), wanted)


def steering(hidden: Tensor, wanted: Tensor, scored: Tensor) -> Tensor:
    """Squared distance of hidden states from where they are wanted, mean over scored tokens.

    RMU wants forget states at c * u, a long random vector, and retain states where the frozen model has them.

    Args:
        hidden: [items, answer, width].
        wanted: Of that shape, or [width].
        scored: True where a token counts, [items, answer].

    Returns:
        A scalar, 0 or more, in squared units of a state; lower is nearer.

    Source: Li et al. 2024.

    Example:
        >>> steering(torch.tensor([[[1.0, 2.0], [9.0, 9.0]]]), torch.zeros(2), torch.tensor([[True, False]]))
        tensor(5.)
    """
    return (_single(hidden) - _single(wanted)).square().sum(-1)[scored].mean()


def _single(values: Tensor) -> Tensor:
    """At least single precision: sums over a vocabulary or a width lose their small terms in half."""
    return values.to(torch.promote_types(values.dtype, torch.float32))
