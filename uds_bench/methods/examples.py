"""Question/answer pairs as token ids with labels on the answer only, and padded batches of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from uds_bench.facts import question_prompt

IGNORED = -100
LOOK_AHEAD = 4
"""Batches that are dealt out together: more would save little padding and make every epoch's batches alike."""


@dataclass(frozen=True)
class Example:
    """`ids` of prompt and answer; labels are the ids from `prompt_length` on, those before are not scored."""

    ids: tuple[int, ...]
    prompt_length: int


@dataclass(frozen=True)
class Batch:
    """Right-padded `ids`, `mask`, `labels`, each [items, length]; labels are -100 where nothing is scored."""

    ids: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor

    def inputs(self) -> dict[str, torch.Tensor]:
        return {"input_ids": self.ids, "attention_mask": self.mask}

    def to(self, device: torch.device | str) -> Batch:
        return Batch(self.ids.to(device), self.mask.to(device), self.labels.to(device))


def answer_example(tokenizer: Any, question: str, answer: str) -> Example:
    """`Question: q\\nAnswer:` with special tokens, then the ids of `" " + answer` and the end-of-text token."""
    prompt = tokenizer(question_prompt(question))["input_ids"]
    if tokenizer.bos_token_id is not None and prompt[:1] != [tokenizer.bos_token_id]:
        prompt = [tokenizer.bos_token_id, *prompt]
    rest = tokenizer(" " + answer, add_special_tokens=False)["input_ids"]
    end = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    return Example((*prompt, *rest, *end), len(prompt))


def pad(examples: Sequence[Example], padding: int = 0) -> Batch:
    length = max(len(e.ids) for e in examples)
    ids = torch.full((len(examples), length), padding, dtype=torch.long)
    mask = torch.zeros(len(examples), length, dtype=torch.long)
    labels = torch.full((len(examples), length), IGNORED, dtype=torch.long)
    for row, example in enumerate(examples):
        n = len(example.ids)
        ids[row, :n] = torch.tensor(example.ids)
        mask[row, :n] = 1
        labels[row, example.prompt_length : n] = ids[row, example.prompt_length : n]
    return Batch(ids, mask, labels)


def epochs(examples: Sequence[Example], size: int, count: int, generator: torch.Generator) -> Iterator[Batch]:
    """`count` passes over the examples, each in a new order drawn from `generator`."""
    for _ in range(count):
        yield from _dealt(examples, _drawn(examples, generator), size, generator)


def forever(examples: Sequence[Example], size: int, generator: torch.Generator) -> Iterator[Batch]:
    """Endless epochs of batches of exactly min(size, all) examples; what is over sits an epoch out, by chance."""
    if not examples or size < 1:
        raise ValueError(f"cannot draw batches of {size} from {len(examples)} examples: give at least one of each")
    size = min(size, len(examples))
    while True:
        order = _drawn(examples, generator)
        yield from _dealt(examples, order[: len(order) - len(order) % size], size, generator)


def _drawn(examples: Sequence[Example], generator: torch.Generator) -> list[int]:
    return torch.randperm(len(examples), generator=generator).tolist()


def _dealt(examples: Sequence[Example], order: list[int], size: int, generator: torch.Generator) -> Iterator[Batch]:
    """Of every few batches' worth of the order the examples are dealt out by length: little of a batch is padding."""
    batches = []
    for start in range(0, len(order), LOOK_AHEAD * size):
        ranked = sorted(order[start : start + LOOK_AHEAD * size], key=lambda row: len(examples[row].ids))
        batches += [ranked[i : i + size] for i in range(0, len(ranked), size)]
    for place in torch.randperm(len(batches), generator=generator).tolist():
        yield pad([examples[row] for row in batches[place]])


def steps_per(examples: Sequence[Example], size: int, count: int) -> int:
    return count * -(-len(examples) // size)


def pairs_to_examples(tokenizer: Any, pairs: Iterable[tuple[str, str]]) -> list[Example]:
    return [answer_example(tokenizer, question, answer) for question, answer in pairs]
