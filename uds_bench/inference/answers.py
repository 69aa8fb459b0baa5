"""Teacher-forced answers: one pass of a model yields everything that output metrics read of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from uds_bench.checkpoints import Checkpoint
from uds_bench.device import at_a_time
from uds_bench.facts.dialogue import EncodedAnswer
from uds_bench.inference.batches import TOKENS, PaddingSide, halving, is_out_of_memory
from uds_bench.inference.hooks import reading
from uds_bench.inference.logprobs import POSITIONS_PER_STEP
from uds_bench.inference.target import AGREEMENT
from uds_bench.inference.trees import AnswerTree, answer_tree, pays, same_prompt, tree_batches, tree_mask

Array = NDArray[np.float64]
_NOTHING = -800.0
"""A logit so far below the best one has probability 0 in float64."""
_STEP = POSITIONS_PER_STEP // 2
"""The table over the vocabulary is in float64 here."""


@dataclass(frozen=True)
class AnswerScores:
    """What a model gives the labelled tokens of one answer; arrays are [tokens], natural log.

    `logp`: of the token itself; `right`: whether it is the most likely one; `mean`, `variance`: of log p over the
    vocabulary, weighted by p; `lead`: logit of the most likely token above that of the next; `behind`: above its own;
    `best`: the most likely token.
    """

    answer: EncodedAnswer
    logp: Array
    right: NDArray[np.bool_]
    mean: Array
    variance: Array
    lead: Array
    behind: Array
    best: NDArray[np.int64]

    @property
    def words(self) -> slice:
        """The tokens of the answer without the closing one."""
        return slice(0, len(self.logp) - self.answer.ends)


@torch.inference_mode()
def score_answers(
    model: Checkpoint,
    answers: Sequence[EncodedAnswer],
    batch_size: int = 16,
    side: PaddingSide = "right",
    temperature: float = 1.0,
) -> list[AnswerScores]:
    """Score every labelled token in one pass over the answers; the vocabulary is read out at answer positions only.

    Answers to one prompt are fed as a tree, what they share once, where that costs less and the model scores trees as
    it scores each answer apart. Neither batch size nor padding side changes a score by more than rounding.

    Args:
        model: The model that is read.
        answers: Prompts and answers in its own tokens, [answers].
        batch_size: At most as many tokens are fed at once as so many of the longest answer have, or of `TOKENS`.
        side: Where shorter rows are padded.
        temperature: What logits are divided by, above 0.

    Returns:
        One an answer, in the order given.

    Raises:
        ValueError: The batch size is below 1.
        CheckpointError: The memory does not hold a single answer.
    """
    if batch_size < 1:
        raise ValueError(f"batch size must be at least 1, not {batch_size}")
    return halving(
        lambda size: _score_answers(model, answers, size, side, temperature), at_a_time(batch_size), "answers"
    )


def _score_answers(
    model: Checkpoint, answers: Sequence[EncodedAnswer], batch_size: int, side: PaddingSide, temperature: float
) -> list[AnswerScores]:
    trees = [tree for rows in same_prompt(answers, batch_size) if pays(tree := answer_tree(answers, rows))]
    if trees and not _agree(model, answers, (trees[0].rows, trees[-1].rows), side):
        trees = []
    alone = sorted(set(range(len(answers))).difference(*(tree.rows for tree in trees)))
    most = batch_size * min(TOKENS, max((len(answer.ids) for answer in answers), default=0))
    found: dict[int, AnswerScores] = {}
    for some in (trees, [answer_tree(answers, [row]) for row in alone]):
        for batch in tree_batches(some, batch_size, most):
            tables = _score_batch(model, batch, side, temperature)
            found |= {row: answer_scores(answers[row], table) for row, table in tables.items()}
    return [found[row] for row in range(len(answers))]


def _agree(
    model: Checkpoint, answers: Sequence[EncodedAnswer], groups: Sequence[Sequence[int]], side: PaddingSide
) -> bool:
    """Whether trees score as their answers do apart: those of the longest and the shortest answer of each group.

    They do not where attention reaches less far back than the text is long. 16-bit weights need no comparison: a few
    answers that happen to round alike say nothing of the others.
    """
    if model.model.dtype != torch.float32:
        return False
    ends = list(dict.fromkeys((group[0], group[-1]) for group in groups))
    apart = _score_batch(model, [answer_tree(answers, [row]) for rows in ends for row in rows], side)
    try:
        together = _score_batch(model, [answer_tree(answers, rows) for rows in ends], side)
    except Exception as error:  # families refuse a mask of its own shape each in their own words
        if is_out_of_memory(error):
            raise
        return False
    gaps = torch.cat([(apart[row] - together[row]).abs().flatten() for row in apart])
    return len(gaps) > 0 and bool(gaps.max() <= AGREEMENT)


def _score_batch(
    model: Checkpoint, trees: Sequence[AnswerTree], side: PaddingSide, temperature: float = 1.0
) -> dict[int, torch.Tensor]:
    """The `token_table` of each answer."""
    length = max(len(tree.tokens) for tree in trees)
    ids, mask, positions = torch.zeros(3, len(trees), length, dtype=torch.long)
    firsts = [0 if side == "right" else length - len(tree.tokens) for tree in trees]
    at: list[int] = []
    targets: list[int] = []
    sizes: list[int] = []
    for row, (first, tree) in enumerate(zip(firsts, trees, strict=True)):
        fed = slice(first, first + len(tree.tokens))
        ids[row, fed] = torch.tensor(tree.tokens)
        mask[row, fed] = 1
        positions[row, fed] = torch.tensor(tree.positions)
        at += [row * length + first + place for place in tree.predicting]
        targets += tree.targets
        sizes.append(len(tree.targets))
    if any(len(tree.rows) > 1 for tree in trees):
        mask = tree_mask(trees, firsts, length, model.model.dtype)
    device = model.device
    last = {"last": model.anatomy.blocks[-1]}
    chosen = torch.tensor(at, dtype=torch.long, device=device)
    with reading(last, lambda hidden: hidden.flatten(0, 1)[chosen]) as kept:
        model.model(
            input_ids=ids.to(device),
            attention_mask=mask.to(device),
            position_ids=positions.to(device),
            use_cache=False,
            logits_to_keep=1,
        )
    table = _read_tokens(model, kept["last"], torch.tensor(targets, dtype=torch.long, device=device), temperature)
    parts = zip(trees, torch.split(table, sizes, dim=1), strict=True)
    return {
        row: part[:, list(pairs)] for tree, part in parts for row, pairs in zip(tree.rows, tree.scored, strict=True)
    }


def answer_scores(answer: EncodedAnswer, table: torch.Tensor) -> AnswerScores:
    """One answer's columns of a `token_table` under their names.

    Args:
        answer: In tokens.
        table: Its labelled tokens' columns, [7, tokens].

    Returns:
        Its scores, [tokens] each; nats, and logits for lead and behind.

    Example:
        >>> table = token_table(torch.tensor([[0.5, 0.25, 0.25]]).log(), torch.tensor([0]))
        >>> found = answer_scores(EncodedAnswer((7, 0), start=1, ends=False, text=""), table)
        >>> found.logp.round(3).tolist(), found.right.tolist()
        ([-0.693], [True])
    """
    logp, right, mean, variance, lead, behind, likeliest = table.cpu().numpy()
    return AnswerScores(answer, logp, right > 0, mean, variance, lead, behind, likeliest.astype(np.int64))


def _read_tokens(model: Checkpoint, hidden: torch.Tensor, targets: torch.Tensor, temperature: float) -> torch.Tensor:
    steps = range(0, len(targets), _STEP)
    parts = [
        token_table(model.anatomy.readout(hidden[i : i + _STEP]), targets[i : i + _STEP], temperature) for i in steps
    ]
    return torch.cat(parts, dim=1) if parts else torch.zeros(7, 0, dtype=torch.float64)


def token_table(logits: torch.Tensor, targets: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    """What is read of some tokens' logits, in float64.

    Min-k++ divides by a spread that may be small, so that float32 would be off by more than 1e-6.

    Args:
        logits: Where each token is predicted, [tokens, vocabulary].
        targets: The tokens, ids, [tokens].
        temperature: What logits are divided by, above 0.

    Returns:
        [7, tokens]: the fields of `AnswerScores` after `answer`, in their order, `right` as 1 or 0 and `best` as a
        number.

    Source: mean and variance are those of Min-K%++, Zhang et al. 2025.

    Example:
        >>> logits = torch.tensor([[0.5, 0.25, 0.25]]).log()
        >>> [round(one, 3) for one in token_table(logits, torch.tensor([1]))[:, 0].tolist()]
        [-1.386, 0.0, -1.04, 0.12, 0.693, 0.693, 0.0]
    """
    likeliest = logits.argmax(-1)
    right = likeliest == targets
    best = logits.topk(2, dim=-1).values.double()
    # Distances below the best token. A barred one (-inf) weighs nothing, and nothing times its distance must be 0.
    below = (logits.double() - best[:, :1]).div_(temperature).clamp_(min=_NOTHING)
    weight = below.exp()
    total = weight.sum(-1)
    mean = (weight * below).sum(-1) / total
    variance = weight.mul_(below.sub_(mean.unsqueeze(-1)).square_()).sum(-1) / total
    own = (logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1).double() - best[:, 0]) / temperature
    lead = (best[:, 0] - best[:, 1]) / temperature
    return torch.stack(
        [own - total.log(), right.double(), mean - total.log(), variance, lead, -own, likeliest.double()]
    )
