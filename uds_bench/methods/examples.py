"""Question/answer pairs as token ids with labels on the answer only, and padded batches of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from uds_bench.facts import encode_answer
from uds_bench.facts.chat import DATE

IGNORED = -100
LOOK_AHEAD = 4
"""Batches that are dealt out together: more would save little padding and make every epoch's batches alike."""


@dataclass(frozen=True)
class Example:
    """`ids` of prompt and answer; labels are the ids from `prompt_length` on, those before are not scored.

    Nor are those in `unscored` (first place, place after the last): they are read and not to be learned.
    """

    ids: tuple[int, ...]
    prompt_length: int
    unscored: tuple[int, int] = (0, 0)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Pair:
    """Two answers to one question: one to be preferred to the other."""

    preferred: Example
    rejected: Example

    def __len__(self) -> int:
        return max(len(self.preferred), len(self.rejected))


@dataclass(frozen=True)
class Batch:
    """Right-padded `ids`, `mask`, `labels`, each [items, length]; labels are -100 where nothing is scored."""

    ids: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor

    def inputs(self) -> dict[str, torch.Tensor]:
        """What the model is called with."""
        return {"input_ids": self.ids, "attention_mask": self.mask}

    def to(self, device: torch.device | str) -> Batch:
        """The batch on a device."""
        return Batch(self.ids.to(device), self.mask.to(device), self.labels.to(device))


def answer_example(tokenizer: Any, question: str, answer: str, date: str = DATE) -> Example:
    """A question and one answer to it, as `facts.encode_answer` puts them; the token that ends an answer is learned."""
    encoded = encode_answer(tokenizer, question, answer, date)
    return Example(encoded.ids, encoded.start)


def answered(example: Example, other: Example) -> Example:
    """The question of one and the answer of another."""
    shift = example.prompt_length - other.prompt_length
    ids = example.ids[: example.prompt_length] + other.ids[other.prompt_length :]
    first, last = other.unscored
    return Example(ids, example.prompt_length, (first + shift, last + shift) if first < last else (0, 0))


def unanswered(example: Example) -> Example:
    """The question alone, without an answer."""
    return Example(example.ids[: example.prompt_length], example.prompt_length)


def pad(examples: Sequence[Example]) -> Batch:
    """Examples as one batch, padded on the right with the id 0; prompts and what is not scored have no label.

    Args:
        examples: One or more.

    Returns:
        A row an example, as long as the longest.

    Example:
        >>> batch = pad([Example((5, 6, 7), prompt_length=2), Example((5, 8), prompt_length=1)])
        >>> batch.ids.tolist(), batch.labels.tolist()
        ([[5, 6, 7], [5, 8, 0]], [[-100, -100, 7], [-100, 8, -100]])
    """
    length = max(map(len, examples))
    ids = torch.zeros(len(examples), length, dtype=torch.long)
    mask = torch.zeros(len(examples), length, dtype=torch.long)
    labels = torch.full((len(examples), length), IGNORED, dtype=torch.long)
    for row, example in enumerate(examples):
        n = len(example)
        ids[row, :n] = torch.tensor(example.ids)
        mask[row, :n] = 1
        labels[row, example.prompt_length : n] = ids[row, example.prompt_length : n]
        labels[row, slice(*example.unscored)] = IGNORED
    return Batch(ids, mask, labels)


def pad_pairs(pairs: Sequence[Pair]) -> Batch:
    """Pairs as one batch.

    Args:
        pairs: n, one or more.

    Returns:
        2n rows: the preferred answers, then the rejected ones in the same order.

    Example:
        >>> pair = Pair(Example((5, 6), prompt_length=1), Example((5, 7), prompt_length=1))
        >>> pad_pairs([pair]).ids.tolist()
        [[5, 6], [5, 7]]
    """
    return pad([*(pair.preferred for pair in pairs), *(pair.rejected for pair in pairs)])


def epochs(examples: Sequence[Example], size: int, count: int, generator: torch.Generator) -> Iterator[Batch]:
    """Passes over examples, each in a new order.

    Args:
        examples: One or more.
        size: Of a batch; the last one of a pass may be smaller.
        count: Passes.
        generator: What orders are drawn from.

    Yields:
        `steps_per` batches.

    Example:
        >>> examples = [Example((5, word), prompt_length=1) for word in (6, 7, 8)]
        >>> [len(batch.ids) for batch in epochs(examples, 3, count=2, generator=torch.Generator())]
        [3, 3]
    """
    for _ in range(count):
        yield from map(pad, _dealt(examples, _drawn(examples, generator), size, generator))


def forever(
    items: Sequence[Any], size: int, generator: torch.Generator, collate: Callable[[Sequence[Any]], Batch] = pad
) -> Iterator[Batch]:
    """Endless passes in batches of one size; what is over sits a pass out, by chance.

    Args:
        items: One or more.
        size: Of a batch; all items where there are fewer.
        generator: What orders are drawn from.
        collate: Makes a batch of some items.

    Yields:
        Batches, without end.

    Raises:
        ValueError: There is no item, or the size is below 1.

    Example:
        >>> examples = [Example((5, word), prompt_length=1) for word in (6, 7, 8)]
        >>> batches = forever(examples, 2, torch.Generator())
        >>> [len(next(batches).ids) for _ in range(3)]
        [2, 2, 2]
    """
    if not items or size < 1:
        raise ValueError(f"cannot draw batches of {size} from {len(items)} examples: give at least one of each")
    size = min(size, len(items))
    while True:
        order = _drawn(items, generator)
        yield from map(collate, _dealt(items, order[: len(order) - len(order) % size], size, generator))


def _drawn(items: Sequence[Any], generator: torch.Generator) -> list[int]:
    return torch.randperm(len(items), generator=generator).tolist()


def _dealt(items: Sequence[Any], order: list[int], size: int, generator: torch.Generator) -> Iterator[list[Any]]:
    """Of every few batches' worth of the order the items are dealt out by length: little of a batch is padding."""
    batches = []
    for start in range(0, len(order), LOOK_AHEAD * size):
        ranked = sorted(order[start : start + LOOK_AHEAD * size], key=lambda row: len(items[row]))
        batches += [ranked[i : i + size] for i in range(0, len(ranked), size)]
    for place in torch.randperm(len(batches), generator=generator).tolist():
        yield [items[row] for row in batches[place]]


def steps_per(examples: int, size: int, count: int) -> int:
    """Steps of some passes over examples in batches.

    Args:
        examples: How many there are.
        size: Of a batch; the last one of a pass may be smaller.
        count: Passes.

    Returns:
        Batches in all.

    Example:
        >>> steps_per(33, size=16, count=2)
        6
    """
    return count * -(-examples // size)


def pairs_to_examples(tokenizer: Any, pairs: Iterable[tuple[str, str]], date: str = DATE) -> list[Example]:
    """Questions and answers, as tokens."""
    return [answer_example(tokenizer, question, answer, date) for question, answer in pairs]
