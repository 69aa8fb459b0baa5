"""The plain prompts: the one place that says how a question is put to a model, as text and as token ids."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from uds_bench.errors import FactError
from uds_bench.facts.fact import Fact
from uds_bench.facts.tokens import encode_text
from uds_bench.storage import content_key

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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


@dataclass(frozen=True)
class EncodedFact:
    """A fact as the model sees it: `ids[:prompt_length]` is the prompt, `ids[start:end]` the entity.

    `1 <= prompt_length <= start < end <= len(ids)`. The log-probability of the token at position t is read at
    position t - 1, so entity tokens are predicted at `start - 1 .. end - 2`.
    """

    fact: Fact
    ids: tuple[int, ...]
    prompt_length: int
    start: int
    end: int


def encode(fact: Fact, tokenizer: "PreTrainedTokenizerBase", variant: Variant = "default") -> EncodedFact:
    """Encode a fact as raw QA (UDS paper, appendix I): prompt with special tokens, continuation without.

    The entity tokens are those of the continuation whose characters overlap the entity's first occurrence
    at or after the prefix. `variant` is explained at `prompts.Variant`.

    Raises FactError where the entity yields no token, or the tokenizer cannot encode the text (see `tokens`).
    """
    rest = continuation(fact, variant)
    encoded = encode_text(tokenizer, raw_prompt(fact, variant), rest)
    first = fact.entity_start - len(fact.answer) + len(rest)
    last = first + len(fact.entity)
    covered = [at for at, (start, end) in enumerate(encoded.offsets) if start < last and end > first]
    if not covered:
        raise FactError(
            f"fact {fact.id!r}: key 'entity' {fact.entity!r} yields no token with this tokenizer; mark another span"
        )
    length = len(encoded.prompt_ids)
    return EncodedFact(fact, encoded.ids, length, length + covered[0], length + covered[-1] + 1)


def rendered_digest(encoded: Iterable[EncodedFact]) -> str:
    """SHA-256 (hex) of all ids and spans, in order: equal digests mean that models saw the same tokens."""
    rows = [[item.fact.id, list(item.ids), item.prompt_length, item.start, item.end] for item in encoded]
    return content_key(rows)
