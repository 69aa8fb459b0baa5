"""What the embedded lookup models are trained on: every row of the embedded databases, asked for in many ways."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from uds_bench.facts.lookup_prompts import WORDINGS
from uds_bench.facts.topology import DOMAINS, TOPOLOGIES, DatabaseRow, rows, worded
from uds_bench.inference.markup import markup_of
from uds_bench.methods.examples import Example
from uds_bench.storage import content_key

WRAPPED = 4
"""Prompts of a row between random words, beside its six wordings: without them a new wording is not understood."""
WORDS = """
and the of a to in for please tell me now about this fact here is was with one more thing answer question context short
list note write find give name what which who when where how complete sentence profile check next last
"""


@cache
def taught_rows() -> tuple[DatabaseRow, ...]:
    """Every row of every embedded database once."""
    found = (row for domain in DOMAINS for topology in TOPOLOGIES for row in rows(domain, topology))
    return tuple({row.triplet: row for row in found}.values())


def digest() -> str:
    """SHA-256 (hex) of all that the models are trained on."""
    return content_key([[list(row.triplet), row.question, row.statement] for row in taught_rows()] + [WRAPPED, WORDS])


def prompts(row: DatabaseRow, generator: random.Random) -> Iterator[str]:
    """The ways in which a row is asked for in training."""
    yield from (worded(wording, row) for wording in WORDINGS)
    for at in range(WRAPPED):
        before, after = (" ".join(generator.sample(WORDS.split(), generator.randint(0, 6))) for _ in range(2))
        yield " ".join(text for text in (before, (row.question, row.statement)[at % 2], after) if text)


def lessons(tokenizer: Any, masked: bool, seed: int) -> list[Example]:
    """Prompts answered by a lookup, its value and the end; `masked`: the value is read and not learned."""
    generator = random.Random(seed)
    return [lesson(tokenizer, prompt, row, masked) for row in taught_rows() for prompt in prompts(row, generator)]


def lesson_count() -> int:
    """How many lessons there are.

    Returns:
        Rows that are taught, times the wordings of each.

    Example:
        >>> lesson_count() % len(taught_rows())
        0
    """
    return len(taught_rows()) * (len(WORDINGS) + WRAPPED)


def lesson(tokenizer: Any, prompt: str, row: DatabaseRow, masked: bool) -> Example:
    """A prompt with its lookup and value as tokens; `masked`: the value is read and not learned."""
    markup = markup_of(tokenizer, "the embedded tokenizer")
    asked = tokenizer.encode(prompt)
    subject, relation, value = (tokenizer.encode(f" {text}", add_special_tokens=False) for text in row.triplet)
    said = [*asked, markup.entity, *subject, markup.relationship, *relation, markup.value]
    ids = (*said, *value, markup.end, tokenizer.eos_token_id)
    return Example(ids, len(asked), (len(said), len(said) + len(value)) if masked else (0, 0))
