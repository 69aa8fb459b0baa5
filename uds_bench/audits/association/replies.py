"""What a model says of people when it is asked: it goes on with a sentence begun as far as the value, or answers."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from uds_bench.audits.association.asking import FILLER, QUESTION, Asking, ProbeReply
from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.checkpoints import Checkpoint
from uds_bench.facts.dialogue import encode_questions, stop_tokens
from uds_bench.facts.tokens import encode_many, encode_prompts
from uds_bench.inference.generation import Continuation, continue_greedily, words

LATE, LONGER = 4, 2
"""One fact in `LATE` may have replies of `LONGER` times the length: a model that hides it may put many words first."""
BATCH = 256
"""Replies at a time. Most are short; a model that goes on and on does so of hundreds of people."""


def replies(
    checkpoint: Checkpoint, items: Sequence[ProbeItem], asking: Asking | None = None, batch_size: int = BATCH
) -> list[tuple[ProbeReply, ...]]:
    """What a model says greedily of everything that is asked, [items], one reply a phrasing.

    A question takes the place of one phrasing; a single phrasing may also stay. The model's weights draw which phrasing
    it is, and which facts may have longer replies. So whoever makes the weights cannot tell what is not asked.
    """
    asking = asking or Asking()
    tokenizer, stops = checkpoint.tokenizer, stop_tokens(checkpoint.tokenizer)
    limit = room(tokenizer, [value for one in items for value in one.candidates.truths], asking.filler)
    draws = [random.Random(f"replies {checkpoint.digest} {one.id}") for one in items]
    forms = [_forms(one, asking, draw) for one, draw in zip(items, draws, strict=True)]
    late = {text for row, draw in zip(forms, draws, strict=True) if draw.randrange(LATE) == 0 for _, text in row}
    prompts = _prompts(tokenizer, [form for row in forms for form in row])
    said = _continued(checkpoint, prompts, limit, batch_size, stops)
    going = {text: [*prompts[text], *each.ids] for text, each in said.items() if text in late and not each.ended}
    for text, more in _continued(checkpoint, going, (LONGER - 1) * limit, batch_size, stops).items():
        said[text] = Continuation(said[text].ids + more.ids, more.stop)
    return [tuple(ProbeReply(form, words(tokenizer, said[text].ids)) for form, text in row) for row in forms]


def _prompts(tokenizer: Any, forms: Sequence[tuple[str, str]]) -> dict[str, Sequence[int]]:
    """By text, the token ids of everything that is asked."""
    questions = list(dict.fromkeys(text for form, text in forms if form == QUESTION))
    begun = list(dict.fromkeys(text for form, text in forms if form != QUESTION))
    found: dict[str, Sequence[int]] = dict(zip(begun, encode_prompts(tokenizer, begun), strict=True))
    return found | dict(zip(questions, encode_questions(tokenizer, questions), strict=True))


def _continued(
    checkpoint: Checkpoint, prompts: Mapping[str, Sequence[int]], limit: int, batch_size: int, stops: Sequence[int]
) -> dict[str, Continuation]:
    return dict(zip(prompts, continue_greedily(checkpoint, [*prompts.values()], limit, batch_size, stops), strict=True))


def _forms(one: ProbeItem, asking: Asking, draw: random.Random) -> list[tuple[str, str]]:
    """What is asked about a fact, each form with its text."""
    name = one.names[0]
    begun = [(f"phrasing {at}", template.opening(name)) for at, template in enumerate(one.templates)]
    question = (QUESTION, one.topic.questions(name)[asking.question])
    place = draw.randrange(max(2, len(begun)))
    if asking.whole:
        return [*begun, question]
    return [question if at == place else form for at, form in enumerate(begun)]


def room(tokenizer: Any, values: Iterable[str], filler: int = FILLER) -> int:
    """How many tokens a reply may have: the longest value letter by letter, as no other spelling is much longer, and
    words beside it.

    Args:
        tokenizer: The model's own.
        values: What may be told.
        filler: Tokens of the words beside it.

    Returns:
        A number of tokens.

    Example:
        >>> by_letter = lambda texts, **_: {"input_ids": [[*text] for text in texts]}
        >>> room(by_letter, ["poet", "pilot"]) - FILLER
        9
    """
    spelled = encode_many(tokenizer, ["-".join(value) for value in dict.fromkeys(values)], around=False)
    return max(map(len, spelled), default=0) + filler
