"""Teacher-forced answers: one pass of a model yields everything that output metrics read of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from uds_bench.checkpoints import Checkpoint
from uds_bench.facts.dialogue import EncodedAnswer
from uds_bench.inference.batches import PaddingSide, gather_positions
from uds_bench.inference.hooks import reading
from uds_bench.inference.logprobs import POSITIONS_PER_STEP

Array = NDArray[np.float64]
_NOTHING = -800.0
"""A logit so far below the best one has probability 0 in float64."""
_STEP = POSITIONS_PER_STEP // 2
"""The table over the vocabulary is in float64 here."""


@dataclass(frozen=True)
class AnswerScores:
    """What a model gives the labelled tokens of one answer; arrays are [tokens], natural log.

    `logp`: of the token itself; `right`: whether it is the most likely one; `mean`, `variance`: of log p over the
    vocabulary, weighted by p; `lead`: logit of the most likely token above that of the next.
    """

    answer: EncodedAnswer
    logp: Array
    right: NDArray[np.bool_]
    mean: Array
    variance: Array
    lead: Array

    @property
    def words(self) -> slice:
        """The tokens of the answer without the closing one."""
        return slice(0, len(self.logp) - self.answer.ends)


@torch.inference_mode()
def score_answers(
    model: Checkpoint, answers: Sequence[EncodedAnswer], batch_size: int = 16, side: PaddingSide = "right"
) -> list[AnswerScores]:
    """Score every labelled token in one pass over the answers; the vocabulary is read out at answer positions only.

    Rows are batched with others of like length; neither batch size nor padding side changes a score by more than
    rounding. In the order given.
    """
    if batch_size < 1:
        raise ValueError(f"batch size must be at least 1, not {batch_size}")
    order = sorted(range(len(answers)), key=lambda i: (-len(answers[i].ids), i))
    found: dict[int, AnswerScores] = {}
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        found |= zip(rows, _score_batch(model, [answers[i] for i in rows], side), strict=True)
    return [found[i] for i in range(len(answers))]


def _score_batch(model: Checkpoint, answers: list[EncodedAnswer], side: PaddingSide) -> list[AnswerScores]:
    # The last token predicts nothing that is scored: it is not fed.
    length = max(len(a.ids) for a in answers) - 1
    span = max(len(a.ids) - a.start for a in answers)
    ids, mask, positions = torch.zeros(3, len(answers), length, dtype=torch.long)
    at, targets = torch.zeros(2, len(answers), span, dtype=torch.long)
    valid = torch.zeros(len(answers), span, dtype=torch.bool)
    for row, answer in enumerate(answers):
        fed, count = len(answer.ids) - 1, len(answer.ids) - answer.start
        first = 0 if side == "right" else length - fed
        ids[row, first : first + fed] = torch.tensor(answer.ids[:-1])
        mask[row, first : first + fed] = 1
        positions[row, first : first + fed] = torch.arange(fed)
        at[row, :count] = torch.arange(answer.start - 1, fed) + first
        targets[row, :count] = torch.tensor(answer.ids[answer.start :])
        valid[row, :count] = True
    device = model.device
    last = {"last": model.anatomy.blocks[-1]}
    with reading(last, lambda hidden: gather_positions(hidden, at.to(device))[valid.to(device)]) as kept:
        model.model(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            position_ids=positions.to(device),
            use_cache=False,
            logits_to_keep=1,
        )
    table = _read_tokens(model, kept["last"], targets[valid].to(device))
    parts = torch.split(table, valid.sum(1).tolist(), dim=1)
    return [answer_scores(answer, part) for answer, part in zip(answers, parts, strict=True)]


def answer_scores(answer: EncodedAnswer, table: torch.Tensor) -> AnswerScores:
    """One answer's columns of a `token_table` under their names."""
    logp, right, mean, variance, lead = table.cpu().numpy()
    return AnswerScores(answer, logp, right > 0, mean, variance, lead)


def _read_tokens(model: Checkpoint, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    steps = range(0, len(targets), _STEP)
    parts = [token_table(model.anatomy.readout(hidden[i : i + _STEP]), targets[i : i + _STEP]) for i in steps]
    return torch.cat(parts, dim=1) if parts else torch.zeros(5, 0, dtype=torch.float64)


def token_table(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Logits [tokens, vocabulary] and targets [tokens] -> [5, tokens]: logp, right, mean, variance, lead.

    `mean` and `variance` are those of log p under p (min-k++, definitions of the output metrics). In float64: min-k++
    divides by a spread that may be small, and float32 would be off by more than 1e-6.
    """
    right = logits.argmax(-1) == targets
    best = logits.topk(2, dim=-1).values.double()
    # Distances below the best token. A barred one (-inf) weighs nothing, and nothing times its distance must be 0.
    below = (logits.double() - best[:, :1]).clamp_(min=_NOTHING)
    weight = below.exp()
    total = weight.sum(-1)
    mean = (weight * below).sum(-1) / total
    variance = weight.mul_(below.sub_(mean.unsqueeze(-1)).square_()).sum(-1) / total
    own = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1).double() - best[:, 0]
    return torch.stack([own - total.log(), right.double(), mean - total.log(), variance, best[:, 0] - best[:, 1]])
