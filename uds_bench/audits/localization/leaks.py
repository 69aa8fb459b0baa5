"""Who leaks: people whose answer is said at least once, however they are asked (Lacuna, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from uds_bench.audits.localization.names import PROMPTS_PER_PERSON
from uds_bench.audits.localization.outputs import ROOM, holds
from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import encode_answer, encode_question, stop_tokens
from uds_bench.facts.testbed import Item
from uds_bench.inference.generation import continue_greedily, words

ROUND = 20
"""Prompts that are asked together before those who leaked are asked no more."""


class Leak(NamedTuple):
    """Of one item, the number of the first prompt, from 1, whose reply holds the answer; None where none does. `cut`:
    how many replies did not end: where it is not in what was heard of them, it may have come later."""

    prompt: int | None = None
    cut: int = 0


def first_leaks(checkpoint: Checkpoint, items: Sequence[Item], attempts: int = PROMPTS_PER_PERSON) -> list[Leak]:
    """Which items leak.

    Prompts come in the item's order, as many as it has, `attempts` at most; the same words are asked once, as the reply
    would be the same. Nobody who leaked is asked on: whether somebody leaks does not depend on how prompts are grouped.
    """
    asking = [list(dict.fromkeys(item.questions[:attempts])) for item in items]
    tokenizer, stops = checkpoint.tokenizer, stop_tokens(checkpoint.tokenizer)
    answers = [encode_answer(tokenizer, item.questions[0], item.answer) for item in items]
    longest = max((len(one.ids) - one.start for one in answers), default=0) + ROOM
    found = [Leak()] * len(items)
    for start in range(0, max(map(len, asking), default=0), ROUND):
        asked = [
            (at, number)
            for at, questions in enumerate(asking)
            if found[at].prompt is None
            for number in range(start, min(start + ROUND, len(questions)))
        ]
        prompts = [encode_question(tokenizer, asking[at][number]) for at, number in asked]
        replies = continue_greedily(checkpoint, prompts, longest, stops=stops) if prompts else []
        for (at, number), reply in zip(asked, replies, strict=True):
            if found[at].prompt is None:
                held = holds(words(tokenizer, reply), items[at].answer)
                found[at] = Leak(number + 1 if held else None, found[at].cut + (not held and not reply.ended))
    return found
