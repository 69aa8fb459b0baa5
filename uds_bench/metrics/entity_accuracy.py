"""Entity accuracy: how often a model, decoding greedily, says the whole entity."""

from __future__ import annotations

import re
from typing import Any

from uds_bench.metrics.metric import FactValue, Measured, Metric
from uds_bench.metrics.subject import Subject
from uds_bench.storage import content_key

SLACK = 16
"""Tokens that a free answer may run beyond the length of the true one before the entity counts as not said."""


def says(text: str, entity: str) -> bool:
    """Whether the entity stands in the text as whole words, whatever the case, spacing and edge punctuation.

    Example:
        >>> says("It was NEW  YORK, she said.", "New York"), says("Newark", "New")
        (True, False)
    """
    words = re.findall(r"\w+", entity.casefold())
    found = re.findall(r"\w+", text.casefold())
    if not words:
        return entity.strip() in text
    return any(found[i : i + len(words)] == words for i in range(len(found) - len(words) + 1))


def _compute(subject: Subject, variant: str) -> Measured:
    facts = subject.facts
    if variant == "prefixed":
        right = subject.said()
        values = [FactValue(f.id, float(r)) for f, r in zip(facts, right, strict=True)]
        return Measured(values, {"rendered": subject.target().rendered})
    tokenizer = subject.checkpoint.tokenizer
    answers = [
        opening(tokenizer, said, len(tokenizer(fact.answer, add_special_tokens=False)["input_ids"]) + SLACK)
        for fact, said in zip(facts, subject.generations(), strict=True)
    ]
    return Measured(
        [
            FactValue(fact.id, float(says(answer, fact.entity)), detail={"answer": answer})
            for fact, answer in zip(facts, answers, strict=True)
        ],
        {"rendered": content_key(subject.questions())},
    )


def opening(tokenizer: Any, text: str, tokens: int) -> str:
    """The text up to so many of its tokens: a model that names everything in the end has not answered.

    Args:
        tokenizer: A fast tokenizer, which tells where its tokens stand.
        text: What a model said.
        tokens: How many are kept.

    Returns:
        The text itself where it has no more.
    """
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    offsets = encoded["offset_mapping"]
    return text if len(offsets) <= tokens else text[: offsets[tokens][0]]


# prefixed: after the fact's prefix, every entity token is the greedy one, so greedy decoding says the entity;
# free: the entity stands in the greedy answer to the bare question.
METRIC = Metric(
    "entity_accuracy",
    "knowledge",
    "ours; UDS guide, section 5.2, for refusals that still hold the entity",
    compute=_compute,
    version=2,
    needs=frozenset({"full", "generations"}),
    variants=("prefixed", "free"),
)
