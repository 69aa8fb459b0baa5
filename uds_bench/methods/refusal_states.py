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
    """Where block `last_layer` should be at the end of each question, [n, width], float32; and the last loss.

    |v| stays within `clamp` times the length of the state itself. Adam, `v_steps` steps at `lr`.
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
    """Refusal's nats a token + kl * KL(after || before) + decay * |v| / |h|^2, of each item: [items].

    `after`, `before`: log-probabilities [items, vocabulary] of what must stay; `vector`, `start`: v, h [items, width].
    """
    drift = (after.exp() * (after - before)).sum(-1)
    length: Tensor = torch.linalg.vector_norm(vector, dim=-1) / start.square().sum(-1)
    return nll + kl * drift + decay * length


def clamped(vector: Tensor, most: Tensor) -> Tensor:
    """No longer than `most`, each."""
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
