"""Sampled answers to encoded prompts: the same ones on every processor, whatever else is in the batch."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from transformers import LogitsProcessor, LogitsProcessorList

from uds_bench.checkpoints import Checkpoint
from uds_bench.inference.generation import BATCH, Continuation, continue_greedily


def sample(
    model: Checkpoint,
    prompts: Sequence[Sequence[int]],
    keys: Sequence[str],
    limit: int,
    temperature: float,
    batch_size: int = BATCH,
    stops: Sequence[int] = (),
) -> list[Continuation]:
    """A continuation of each prompt, drawn token by token from the model's own probabilities.

    Args:
        model: The checkpoint.
        prompts: Token ids, [prompts].
        keys: What each is drawn by, [prompts]: the same key draws the same numbers.
        limit: New tokens, at most.
        temperature: What logits are divided by, above 0; 1 is the model's own distribution.
        batch_size: Prompts that go through it at a time.
        stops: Tokens that end a continuation, beside the end of text.

    Returns:
        As `continue_greedily`, [prompts].
    """
    luck = torch.tensor([[drawn.random() for _ in range(limit)] for drawn in map(random.Random, keys)])

    def processing(mask: torch.Tensor, rows: Sequence[int]) -> LogitsProcessorList:
        said = mask.sum(1) - torch.tensor([len(prompts[i]) for i in rows], device=mask.device)
        return LogitsProcessorList([DrawnToken(luck[list(rows)].to(mask.device), mask.shape[1] - said, temperature)])

    return continue_greedily(model, prompts, limit, batch_size, stops, processing)


class DrawnToken(LogitsProcessor):
    """Leaves one token of each row: that in whose share of the probabilities, in order of ids, the row's number lies.

    `luck`: numbers of 0 to 1, [rows, tokens to come]; `starts`: the column of each row's first new token.
    """

    def __init__(self, luck: torch.Tensor, starts: torch.Tensor, temperature: float) -> None:
        self.luck, self.starts, self.temperature = luck, starts, temperature

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores under which the token that was drawn is the likeliest: see transformers' logits processors."""
        shares = (scores.double() / self.temperature).softmax(-1).cumsum(-1)
        number = self.luck.gather(1, (input_ids.shape[1] - self.starts).unsqueeze(1)).double()
        # A sum that rounding leaves below 1 is made 1, and a token of no share is never the first to reach a number.
        chosen = torch.searchsorted(shares, number * shares[:, -1:], right=True).clamp(max=scores.shape[1] - 1)
        return torch.full_like(scores, -torch.inf).scatter(1, chosen, 0.0)
