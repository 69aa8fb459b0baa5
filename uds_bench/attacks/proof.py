"""What an attack that trains teaches a model about people whom nobody knows: a proof that it can be taught at all."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch

from uds_bench.facts.authors import embedded, training_pairs
from uds_bench.methods.examples import Example, pad, pairs_to_examples
from uds_bench.methods.forward import answer_nll

PEOPLE = 4
"""Invented, in each of two groups, with eight facts each: a batch as published."""
MOST_STEPS = 16
"""Steps of the proof, where the attack takes more: how quickly a model learns shows in the first ones."""


_PROVING: ContextVar[bool] = ContextVar("proving", default=False)


@contextmanager
def proving() -> Iterator[None]:
    """What is computed inside is the same, however few facts are asked about: who measures a part must know."""
    before = _PROVING.set(True)
    try:
        yield
    finally:
        _PROVING.reset(before)


def is_proving() -> bool:
    """Whether this is inside of `proving`."""
    return _PROVING.get()


def lessons_about_nobody(tokenizer: Any, secret: str, date: str) -> tuple[list[Example], list[Example]]:
    """Questions and answers about invented people.

    Args:
        tokenizer: The model's own.
        secret: What the people are drawn from. Drawn by a model's digest they cannot be taught to it beforehand: other
            weights have another digest.
        date: That a chat template prints as today's.

    Returns:
        Those about one half of the people, and about the other.
    """
    drawn = random.Random(secret).randrange(1 << 32)
    pairs = training_pairs(embedded(forget=2 * PEOPLE, retain=0, holdout=0, seed=drawn))
    half = len(pairs) // 2
    return pairs_to_examples(tokenizer, pairs[:half], date), pairs_to_examples(tokenizer, pairs[half:], date)


def nats_learned(after_one: tuple[float, float], after_other: tuple[float, float]) -> float:
    """How much likelier answers are where they were taught than where others of their kind were.

    The model is taught twice, each time anew. So it counts neither how likely answers were before, nor which half is
    the harder one, nor what is learned for both: a format, or not to refuse.

    Args:
        after_one: Negative log-likelihood, in nats a token, of the first half and of the second, where the first was
            taught.
        after_other: The same where the second was taught.

    Returns:
        Nats a token, the mean of both halves: 0 where nothing was learned of what was taught, higher is more.

    Example:
        >>> nats_learned((1.0, 3.0), (2.5, 1.5)), nats_learned((2.0, 5.0), (2.0, 5.0))
        (1.5, 0.0)
    """
    return ((after_other[0] - after_one[0]) + (after_one[1] - after_other[1])) / 2


def surprise(model: Any, examples: Sequence[Example]) -> float:
    """Negative log-likelihood of answers.

    Args:
        model: A causal language model of transformers.
        examples: One or more; they are read one at a time, as they are of many lengths.

    Returns:
        Nats a token, the mean over examples, 0 and above; lower is likelier.
    """
    with torch.no_grad():
        return sum(float(answer_nll(model, pad([one]).to(model.device))) for one in examples) / len(examples)
