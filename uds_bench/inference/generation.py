"""Answers to encoded prompts, greedy or sampled, in padded batches."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from uds_bench.checkpoints import Checkpoint
from uds_bench.device import at_a_time
from uds_bench.errors import CheckpointError
from uds_bench.inference.batches import halving, together
from uds_bench.inference.preallocated import preallocated_cache

Processing = Callable[[torch.Tensor, Sequence[int]], LogitsProcessorList]
"""Of a batch's mask, [rows, length], and of which prompts its rows are: what changes the logits."""

BATCH = 128
STAGES = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
"""New tokens after which the answers that have ended leave their batch: few go on and on, and would hold all up."""


NAN = "and what it says is not known: use bfloat16 or float32"
"""What to say of a model that gives such logits."""
POOLED = 4
"""Where at most one row in so many is left of a batch, it waits for what is left of the others."""


@dataclass(frozen=True)
class Continuation:
    """What a model went on with: token ids without the one that ends them, and that one; None at the limit."""

    ids: tuple[int, ...]
    stop: int | None

    @property
    def ended(self) -> bool:
        """Whether the model ended by itself, before the limit."""
        return self.stop is not None


def generate_greedily(
    model: Checkpoint,
    prompts: Sequence[Sequence[int]],
    limit: int,
    batch_size: int = BATCH,
    stops: Sequence[int] = (),
) -> list[str]:
    """The model's greedy continuation of each prompt as text without special tokens; see `continue_greedily`."""
    said = continue_greedily(model, prompts, limit, batch_size, stops)
    return [words(model.tokenizer, each.ids) for each in said]


def words(tokenizer: Any, ids: Sequence[int]) -> str:
    """What was said as text without special tokens."""
    found: str = tokenizer.decode(list(ids), skip_special_tokens=True)
    return found


@torch.inference_mode()
def continue_greedily(
    model: Checkpoint,
    prompts: Sequence[Sequence[int]],
    limit: int,
    batch_size: int = BATCH,
    stops: Sequence[int] = (),
    processing: Processing | None = None,
) -> list[Continuation]:
    """The model's greedy continuation of each prompt, at most `limit` tokens.

    `prompts` are token ids; a continuation ends before the end-of-text token or any of `stops` (`stop_tokens`: a chat
    template's end of turn). Prompts are padded on the left, so that every continuation starts at the same column; those
    of like length stand together, and batch size changes no text but where two tokens are equally likely within
    rounding. `processing` makes what changes the logits before the next token is chosen.
    """
    found: dict[int, Continuation] = {}
    begun: dict[int, tuple[int, ...]] = dict.fromkeys(range(len(prompts)), ())

    def go_on(size: int) -> None:
        while begun:
            left = list(begun)
            lengths = [len(prompts[i]) + len(begun[i]) for i in left]
            groups = [[left[at] for at in group] for group in together(lengths, size)]
            for rows in groups:
                length = min(limit - len(begun[i]) for i in rows)
                texts = [(*prompts[i], *begun[i]) for i in rows]
                new = _go_on(
                    model, rows, *_padded(texts, model.device), length, stops, processing, pooled=len(groups) > 1
                )
                for i, said in new.items():
                    ids = begun[i] + said.ids
                    if said.ended or len(ids) == limit:
                        found[i] = Continuation(ids, said.stop)
                        del begun[i]
                    else:
                        begun[i] = ids

    halving(go_on, at_a_time(batch_size), "prompts")
    return [found[i] for i in range(len(prompts))]


def _padded(rows: Sequence[Sequence[int]], device: torch.device | str) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and their mask, [rows, length], with padding on the left."""
    length = max(map(len, rows))
    ids, mask = torch.zeros(2, len(rows), length, dtype=torch.long)
    for row, tokens in enumerate(rows):
        ids[row, length - len(tokens) :] = torch.tensor(tokens)
        mask[row, length - len(tokens) :] = 1
    return ids.to(device), mask.to(device)


def _go_on(
    model: Checkpoint,
    going: list[int],
    ids: torch.Tensor,
    mask: torch.Tensor,
    limit: int,
    stops: Sequence[int],
    processing: Processing | None,
    pooled: bool,
) -> dict[int, Continuation]:
    """Continuations of a batch by the prompts' numbers, which `going` has row by row.

    `pooled`: there are other batches, and where few rows are left these are given back as they stand, to go on
    together with what is left of the others.
    """
    few = len(going) // POOLED if pooled else 0
    ends = {*stops, model.tokenizer.eos_token_id} - {None}
    padding = model.tokenizer.pad_token_id
    length, cache = ids.shape[1], preallocated_cache(model.model)
    said: dict[int, Continuation] = {}
    # Without a cache of which rows can be chosen, all go on to the end.
    for until in (*(stage for stage in STAGES if stage < limit and cache is not None), limit):
        with _plain_decoding(model.model):
            ids = model.model.generate(
                input_ids=ids,
                attention_mask=mask,
                past_key_values=cache,
                max_length=length + until,
                do_sample=False,
                num_beams=1,
                pad_token_id=0 if padding is None else padding,
                eos_token_id=sorted(ends) or None,
                logits_processor=LogitsProcessorList(
                    [_NoNan(model), *([] if processing is None else processing(mask, going))]
                ),
            )
        # Rows that ended are filled up with the padding token, which is a word where the tokenizer has none of its own.
        said |= {i: _until(ends, row[length:].tolist()) for i, row in zip(going, ids, strict=True)}
        left = [row for row, i in enumerate(going) if not said[i].ended]
        if len(left) <= few or until == limit or cache is None:
            break
        going = [going[row] for row in left]
        chosen = torch.tensor(left, device=model.device)
        ids, mask = ids[chosen], mask[chosen]
        mask = torch.cat([mask, mask.new_ones(len(mask), ids.shape[1] - mask.shape[1])], dim=1)
        cache.batch_select_indices(chosen)
    return said


class _NoNan(LogitsProcessor):
    """Refuses logits that are NaN: what a broken model says is no silence."""

    def __init__(self, model: Checkpoint) -> None:
        self._model = model

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        if scores.isnan().any():
            raise CheckpointError(f"{self._model.spec.model}: its logits are NaN, {NAN}")
        return scores


def _until(ends: Collection[int], tokens: Sequence[int]) -> Continuation:
    ids = tuple(takewhile(lambda token: token not in ends, tokens))
    return Continuation(ids, tokens[len(ids)] if len(ids) < len(tokens) else None)


@contextmanager
def _plain_decoding(model: Any) -> Iterator[None]:
    """A checkpoint's own generation settings (forbidden tokens, penalties) would let a file decide what it says."""
    own = model.generation_config
    plain: Any = GenerationConfig
    model.generation_config = plain()
    try:
        yield
    finally:
        model.generation_config = own


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
