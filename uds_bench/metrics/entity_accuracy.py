"""Entity accuracy: how often a model, decoding greedily, says the whole entity."""

from __future__ import annotations

import re

from uds_bench.facts import question_prompt
from uds_bench.inference.generation import generate_greedily
from uds_bench.metrics.metric import FactValue, Measured, Metric, Subject
from uds_bench.storage import content_key

SLACK = 16
"""Tokens that a free answer may run beyond the length of the true one before the entity counts as not said."""


def says(text: str, entity: str) -> bool:
    """Whether the entity stands in the text as whole words, whatever the case, spacing and edge punctuation."""
    words = re.findall(r"\w+", entity.casefold())
    found = re.findall(r"\w+", text.casefold())
    if not words:
        return entity.strip() in text
    return any(found[i : i + len(words)] == words for i in range(len(found) - len(words) + 1))


def _compute(subject: Subject, variant: str) -> Measured:
    facts = subject.facts
    if variant == "prefixed":
        right = subject.reading().correct
        values = [FactValue(f.id, float(r)) for f, r in zip(facts, right, strict=True)]
        return Measured(values, {"rendered": subject.rendered()})
    prompts = [question_prompt(fact.question) for fact in facts]
    answers = generate_greedily(subject.checkpoint, prompts, [fact.answer for fact in facts], SLACK)
    return Measured(
        [
            FactValue(fact.id, float(says(answer, fact.entity)), None, {"answer": answer})
            for fact, answer in zip(facts, answers, strict=True)
        ],
        {"rendered": content_key(prompts)},
    )


METRIC = Metric(
    name="entity_accuracy",
    version=1,
    direction="knowledge",
    limits=(0.0, 1.0),
    needs=frozenset({"full", "generations"}),
    # prefixed: after the fact's prefix, every entity token is the greedy one, so greedy decoding says the entity;
    # free: the entity stands in the greedy answer to the bare question.
    variants=("prefixed", "free"),
    source="ours; UDS guide, section 5.2, for refusals that still hold the entity",
    compute=_compute,
)
