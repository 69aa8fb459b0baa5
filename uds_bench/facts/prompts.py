"""The plain prompts: the one place that says how a question is put to a model."""

from typing import Literal

from uds_bench.facts.fact import Fact

Variant = Literal["default", "published"]
"""`default`: the prompt's text followed by the continuation's text is the plain text, `... Answer: {answer}`.
`published`: as in the UDS authors' public code. It differs in two corners: an empty prefix leaves a space
at the end of the prompt (`Answer: `) and none at the start of the continuation, and where an answer goes
on right after its prefix (`... the '` + `Prestigious ...`) a space that the answer does not have is put
before the continuation.
"""


def question_prompt(question: str) -> str:
    r"""`Question: {question}\nAnswer:`, what an output metric puts before `" " + answer`."""
    return f"Question: {question}\nAnswer:"


def raw_prompt(fact: Fact, variant: Variant = "default") -> str:
    r"""`Question: {question}\nAnswer: {prefix}` (UDS paper, appendix I, type 1: raw QA, no chat template)."""
    if fact.prefix or variant == "published":
        return f"{question_prompt(fact.question)} {fact.prefix}"
    return question_prompt(fact.question)


def continuation(fact: Fact, variant: Variant = "default") -> str:
    """The rest of the answer after `raw_prompt`; the entity occurs in it."""
    rest = fact.answer.removeprefix(fact.prefix)
    if variant == "published":
        touching = not raw_prompt(fact, variant)[-1].isspace() and not rest[0].isspace()
    else:
        touching = not fact.prefix
    return f" {rest}" if touching else rest
