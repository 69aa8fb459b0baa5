"""The state from which a model refuses to answer: AlphaEdit's v, found by descent (Meng et al. 2023, MEMIT).

A vector is added to a block's output at the last token of the question, where the answer begins, until the refusal is
likely. What the papers leave open is settled so: the question stands alone, without drawn texts before it; what must
not be said otherwise for the vector (the published "{subject} is a") is the first word of the answer to a question that
is kept; there is no early end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from uds_bench.checkpoints import Anatomy
from uds_bench.inference.hooks import reading, replacing
from uds_bench.methods.examples import Batch, Example, pad, unanswered
from uds_bench.methods.forward import labelled
from uds_bench.methods.method import AlphaEdit
from uds_bench.methods.objectives import answer_logprobs


@dataclass(frozen=True)
class Questions:
    """A batch of n refusals and of as many kept questions behind them; `places` [2n]: the last token of each."""

    batch: Batch
    places: Tensor

    @property
    def count(self) -> int:
        """How many refusals there are; as many kept questions follow."""
        return len(self.places) // 2


def questions(refusals: Sequence[Example], kept: Sequence[Example], device: torch.device) -> Questions:
    """Refused and kept questions as one batch, with the place of each one's last token."""
    both = [*refusals, *map(unanswered, kept)]
    return Questions(pad(both).to(device), torch.tensor([e.prompt_length - 1 for e in both], device=device))


def refusal_states(model: Any, anatomy: Anatomy, asked: Questions, method: AlphaEdit) -> tuple[Tensor, float]:
    """Where block `last_layer` should be at the end of each question for the model to refuse, found by Adam.

    The vector that is added stays within `clamp` times the length of the state itself.

    Args:
        model: A causal language model of transformers.
        anatomy: Its parts.
        asked: Refusals and as many kept questions, [n] each.
        method: `last_layer`, `loss_layer`, `v_steps` at `lr`, `kl`, `weight_decay` and `clamp` are read.

    Returns:
        [n, width], float32; and the mean `value_loss` at the last step, in nats, lower is refused more surely.

    Source: MEMIT, Meng et al. 2023.
    """
    block, n = anatomy.blocks[method.last_layer], asked.count
    rows = torch.arange(2 * n, device=asked.places.device)

    def at_places(hidden: Tensor) -> Tensor:
        return hidden[rows, asked.places]

    with torch.no_grad(), reading({"state": block}, at_places) as kept:
        _, before = _said(model, anatomy, asked, method, lambda hidden: hidden)
    start = kept["state"][:n].float()
    vector = torch.zeros_like(start, requires_grad=True)

    def shifted(hidden: Tensor) -> Tensor:
        moved = hidden.clone()
        moved[rows, asked.places] += vector.repeat(2, 1).to(hidden.dtype)
        return moved

    optimizer, loss = torch.optim.Adam([vector], lr=method.lr), float("nan")
    for _ in range(method.v_steps):
        with torch.enable_grad():
            nll, after = _said(model, anatomy, asked, method, shifted)
            each = value_loss(nll, after, before, vector, start, method.kl, method.weight_decay)
            (vector.grad,) = torch.autograd.grad(each.sum(), [vector])
        loss = float(each.detach().mean())
        optimizer.step()
        with torch.no_grad():
            vector.copy_(clamped(vector, method.clamp * start.norm(dim=-1, keepdim=True)))
    return (start + vector).detach(), loss


def value_loss(
    nll: Tensor, after: Tensor, before: Tensor, vector: Tensor, start: Tensor, kl: float, decay: float
) -> Tensor:
    """Refusal's nats a token + kl * KL(after || before) + decay * |v| / |h|^2, of each item.

    Args:
        nll: Of the refusal, nats a token, [items].
        after: Log-probabilities of what must stay with v added, [items, vocabulary].
        before: The same without it, [items, vocabulary].
        vector: v, [items, width].
        start: h, the state to which it is added, [items, width].
        kl: Weight of the drift.
        decay: Weight of the length.

    Returns:
        [items], 0 or more; lower is refused more surely at less cost.

    Source: MEMIT, Meng et al. 2023, as its code weighs the length.

    Example:
        >>> same, v, h = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 2.0]])
        >>> value_loss(torch.tensor([1.0]), same, same, v, h, kl=0.1, decay=0.5)  # 1 + 0 + 0.5 * 5 / 5
        tensor([1.5000])
    """
    drift = (after.exp() * (after - before)).sum(-1)
    length: Tensor = torch.linalg.vector_norm(vector, dim=-1) / start.square().sum(-1)
    return nll + kl * drift + decay * length


def clamped(vector: Tensor, most: Tensor) -> Tensor:
    """Vectors, each shortened to a length where it is longer.

    Args:
        vector: [items, width].
        most: Of each, [items, 1], or one length for all.

    Returns:
        [items, width].

    Example:
        >>> clamped(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), torch.tensor(1.0))
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    length = torch.linalg.vector_norm(vector, dim=-1, keepdim=True)
    return torch.where(length > most, vector * most / length, vector)


def _said(
    model: Any, anatomy: Anatomy, asked: Questions, method: AlphaEdit, edit: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """Of each refusal the loss a token, of each kept question the log-probabilities of the next token."""
    n, batch = asked.count, asked.batch
    at, targets = labelled(batch.labels[:n])
    reader = anatomy.blocks[method.loss_layer]
    with replacing(anatomy.blocks[method.last_layer], edit), reading({"read": reader}, lambda hidden: hidden) as kept:
        model(**batch.inputs(), use_cache=False, logits_to_keep=1)
    hidden = kept["read"]
    answers = hidden[:n].gather(1, at.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
    logp, tokens = answer_logprobs(anatomy.readout(answers), targets)
    ends = hidden[torch.arange(n, 2 * n, device=hidden.device), asked.places[n:]]
    return -logp / tokens, torch.log_softmax(anatomy.readout(ends).float(), dim=-1)
