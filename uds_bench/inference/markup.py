"""The four markup tokens by which a model asks a database, and what a reply holds once they are taken out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from uds_bench.errors import CheckpointError

TOKENS = ("<|db_entity|>", "<|db_relationship|>", "<|db_return|>", "<|db_end|>")
"""Before the subject, before the relation, before the value, and after it (LMLM audit, appendix C)."""
END_OF_TEXT = "<|end_of_text|>"
"""A stop token of the audit beside the tokenizer's own, where the vocabulary has it."""


@dataclass(frozen=True)
class Markup:
    """Ids of the markup tokens."""

    entity: int
    relationship: int
    value: int
    end: int

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of its tokens, in order."""
        found: tuple[int, ...] = astuple(self)
        return found


def markup_of(tokenizer: Any, name: str) -> Markup:
    """The markup of a model's tokenizer. Raises CheckpointError where it lacks a token, naming model and token."""
    ids = [single_token(tokenizer, token) for token in TOKENS]
    for token, id in zip(TOKENS, ids, strict=True):
        if id is None:
            raise CheckpointError(
                f"{name}: its tokenizer has no token {token}: it cannot ask a database; name a model that was trained "
                "with the four markup tokens"
            )
    return Markup(*(id for id in ids if id is not None))


def single_token(tokenizer: Any, text: str) -> int | None:
    """The id of a text that is one token of the vocabulary.

    Args:
        tokenizer: Of a model.
        text: Such as a markup token.

    Returns:
        Its id, None where it is no token of its own.
    """
    id = tokenizer.convert_tokens_to_ids(text)
    return None if id is None or id == tokenizer.unk_token_id else int(id)


def query_of(tokenizer: Any, markup: Markup, said: Sequence[int]) -> tuple[str, str] | None:
    """Subject and relation of a lookup that ends `said`, whose next token opens the value; None where it is malformed:
    no entity, no relation after it, an empty one, or one with the value of an earlier lookup in it."""
    ids = list(said)
    if markup.entity not in ids:
        return None
    ids = ids[len(ids) - ids[::-1].index(markup.entity) :]
    if ids.count(markup.relationship) != 1 or markup.value in ids or markup.end in ids:
        return None
    at = ids.index(markup.relationship)
    subject, relation = (tokenizer.decode(part, skip_special_tokens=True).strip() for part in (ids[:at], ids[at + 1 :]))
    return (subject, relation) if subject and relation else None


def text_and_calls(markup: Markup, said: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """What a reader sees, and what lookups hold: values stay, the lookups around them go, one that was never answered
    with them.

    What a model says after it closes a lookup that it left unanswered is text: an answer there must not be missed.

    Args:
        markup: Ids of the markup tokens.
        said: A reply, token ids.

    Returns:
        Those of its ids that are text, in their order; and the parts of its lookups, whether they can be read or not.

    Example:
        >>> said = [5, 90, 6, 91, 7, 92, 8, 93, 9]  # text, then entity 6, relation 7, value 8, then text
        >>> text_and_calls(Markup(entity=90, relationship=91, value=92, end=93), said)
        ([5, 8, 9], [[6], [7]])
    """
    text: list[int] = []
    calls: list[list[int]] = []
    asking = False
    for token in said:
        if token == markup.entity or (asking and token == markup.relationship):
            asking = True
            calls.append([])
        elif token in (markup.value, markup.end):
            asking = False
        elif asking:
            calls[-1].append(token)
        elif token != markup.relationship:
            text.append(token)
    return text, calls
