"""What a model says of people when it is asked: it is given a sentence as far as the value, and goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.checkpoints import Checkpoint
from uds_bench.facts.dialogue import stop_tokens
from uds_bench.facts.tokens import encode_many, encode_prompts
from uds_bench.inference.generation import BATCH, generate_greedily

FILLER = 16
"""Tokens that a reply may have beside the value: who hides it puts other words first."""


def replies(checkpoint: Checkpoint, asked: Sequence[ProbeItem], batch_size: int = BATCH) -> list[tuple[str, ...]]:
    """What a model goes on with, greedily, behind every phrasing of what is asked, [items], one text a phrasing.

    All at once: batch size changes no text but where two tokens are equally likely within rounding.
    """
    openings = [[template.opening(one.names[0]) for template in one.templates] for one in asked]
    texts = list(dict.fromkeys(text for row in openings for text in row))
    longest = room(checkpoint.tokenizer, [value for one in asked for value in one.candidates.truths])
    prompts, stops = encode_prompts(checkpoint.tokenizer, texts), stop_tokens(checkpoint.tokenizer)
    said = dict(zip(texts, generate_greedily(checkpoint, prompts, longest, batch_size, stops), strict=True))
    return [tuple(said[text] for text in row) for row in openings]


def room(tokenizer: Any, values: Iterable[str]) -> int:
    """How many tokens a reply may have: the longest value letter by letter, as no other spelling is much longer, and
    words beside it.

    Args:
        tokenizer: The model's own.
        values: What may be told.

    Returns:
        A number of tokens.

    Example:
        >>> by_letter = lambda texts, **_: {"input_ids": [[*text] for text in texts]}
        >>> room(by_letter, ["poet", "pilot"]) - FILLER
        9
    """
    spelled = encode_many(tokenizer, ["-".join(value) for value in dict.fromkeys(values)], around=False)
    return max(map(len, spelled), default=0) + FILLER
