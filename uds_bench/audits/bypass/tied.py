"""Whether replies of another engine are those of a model's own weights: each is forced through them, token by token.

A most likely reply must be the weights' own at every token, or as likely within rounding; a drawn one must not be too
unlikely. What is not is asked of the model itself, so that nothing in a file can take the place of what it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from uds_bench.audits.bypass.prompts import Prompt
from uds_bench.audits.bypass.replies import RawReply, Recorded
from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import CheckpointError, FactError
from uds_bench.facts.dialogue import EncodedAnswer
from uds_bench.facts.tokens import Offset, encode_after
from uds_bench.inference.answers import AnswerScores, score_answers

BEHIND = 1.0
"""Nats by which a token may lie behind the most likely one. bfloat16 keeps eight bits, so that logits of 16 to 32 are
0.125 apart: eight such steps. Measured, bfloat16 forced in float32: 0.22 at most in 61,000 tokens of shipped models."""
UNLIKELY = 5.0
"""Standard deviations by which a drawn reply's log p may lie below what its own probabilities let expect."""
ALTERED = 0.05
"""Share of the most likely replies that the weights may not say, before a file is of another model. Honest ones are
those that are read in other tokens than they were said in."""
PASSES = 8
"""How often a text is read in other tokens."""

Say = Callable[[Sequence[Prompt]], Mapping[str, RawReply]]
"""Asks the model itself: replies by the digest of their prompt."""


def tied(
    checkpoint: Checkpoint, asked: Sequence[Prompt], recorded: Recorded, stops: Sequence[int], batch: int, say: Say
) -> tuple[Recorded, int]:
    """Replies with those that the weights do not say asked anew.

    Args:
        checkpoint: The model whose replies they are to be.
        asked: Every prompt that it is asked.
        recorded: What another engine replied.
        stops: The tokens that end a reply.
        batch: Replies that go through it at a time.
        say: Asks the model itself.

    Returns:
        The replies that count, and how many were asked anew.

    Raises:
        CheckpointError: Too many of the most likely ones are another model's.
    """
    read = [one for one in asked if one.digest in recorded.told]
    far = not_said(checkpoint, read, recorded, stops, batch)
    foreign, greedy = ([one for one in some if one.sample is None] for some in (far, read))
    if len(foreign) > ALTERED * len(greedy):
        raise CheckpointError(
            f"{recorded.name}: {len(foreign)} of {len(greedy)} replies of [bypass] replies are not what its weights "
            f"say (the first: {foreign[0].arm} of {foreign[0].canary.id}): ask an engine that serves these weights, in "
            "bfloat16 or better, or take replies out"
        )
    return replace(recorded, told={**recorded.told, **say(far)}), len(far)


def not_said(
    checkpoint: Checkpoint, asked: Sequence[Prompt], recorded: Recorded, stops: Sequence[int], batch: int
) -> list[Prompt]:
    """The prompts whose reply is not one that the weights give, in any tokens and with any of those that end one."""
    left = [found for one in asked for found in _readings(checkpoint.tokenizer, one, recorded.told[one.digest], stops)]
    said: set[str] = set()
    for _ in range(PASSES):
        again = []
        for one, scores in zip(left, score_answers(checkpoint, [each.row for each in left], batch), strict=True):
            drawn = one.prompt.sample is not None
            if may_say(scores, one.prompt.temperature) if drawn else says(scores):
                said.add(one.prompt.digest)
            elif (other := one.otherwise(checkpoint.tokenizer, scores)) is not None:
                again.append(other)
        left = [one for one in again if one.prompt.digest not in said]
    return [one for one in asked if one.digest not in said]


@dataclass(frozen=True)
class _Reading:
    """A reply's text as tokens, with the characters of each; `end`: the token that ends it, or none.

    `joints`: characters before which an engine that took the trace out may have taken line breaks out as well.
    """

    prompt: Prompt
    text: str
    ids: tuple[int, ...]
    offsets: tuple[Offset, ...]
    end: tuple[int, ...]
    joints: tuple[int, ...] = ()

    @property
    def row(self) -> EncodedAnswer:
        """What is scored."""
        return EncodedAnswer((*self.prompt.ids, *self.ids, *self.end), len(self.prompt.ids), bool(self.end), "")

    def otherwise(self, tokenizer: Any, scores: AnswerScores) -> _Reading | None:
        """The same text, where the weights first say another token, in that token and others; None where it is none.

        An engine may say a word in other tokens than those in which its text is read. Of a drawn reply only the line
        breaks at its joints are put back.
        """
        drawn = self.prompt.sample is not None
        behind = (at for at in range(len(self.ids)) if not scores.behind[at] <= BEHIND)
        at = next((at for at in behind if not drawn or self.offsets[at][0] in self.joints), None)
        if at is None:
            return None
        text, joints, start = self.text, self.joints, self.offsets[at][0]
        before, own = (list(self.ids[:at]), int(scores.best[at]))
        head, longer = (tokenizer.decode(ids, skip_special_tokens=False) for ids in (before, [*before, own]))
        piece = longer[len(head) :]
        if start in joints and piece.isspace() and not text.startswith(piece, start):
            text = text[:start] + piece + text[start:]
            joints = tuple(place + len(piece) for place in joints if place >= start)
        if not piece or not longer.startswith(head) or not text.startswith(piece, start):
            return None
        over = start + len(piece)
        prompt = self.prompt.turn.text + self.prompt.given + text[:over]
        try:
            rest = encode_after(tokenizer, prompt, (*self.prompt.ids, *before, own), text[over:])
        except FactError:
            return None
        offsets = (*self.offsets[:at], (start, over), *((over + low, over + high) for low, high in rest.offsets))
        return replace(self, text=text, ids=(*before, own, *rest.continuation_ids), offsets=offsets, joints=joints)


def _readings(tokenizer: Any, prompt: Prompt, told: RawReply, stops: Sequence[int]) -> Iterator[_Reading]:
    """A reply with each token that may have ended it; none where it is no text of that tokenizer.

    A reply that was cut has the tokens of the limit, or half of them where they are read in longer ones.
    """
    text = told.whole(prompt)
    try:
        found = encode_after(tokenizer, prompt.turn.text + prompt.given, prompt.ids, text)
    except FactError:
        return
    ids = found.continuation_ids
    if told.ended or 2 * len(ids) >= prompt.asking.limit:
        for end in [(stop,) for stop in stops] if told.ended else [()]:
            yield _Reading(prompt, text, ids, found.offsets, end, told.joints(prompt))


def says(scores: AnswerScores) -> bool:
    """Whether each token is the most likely one, within `BEHIND`.

    Args:
        scores: Of a reply's tokens, [tokens].

    Returns:
        False also where a number is none.

    Source: DiFR, inference verification despite nondeterminism (Karvonen et al., 2025), at temperature 0; bound ours.

    Example:
        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> says(SimpleNamespace(behind=np.array([0.0, 0.2]))), says(SimpleNamespace(behind=np.array([0.0, 0.2, 3.0])))
        (True, False)
    """
    return bool((scores.behind <= BEHIND).all())


def may_say(scores: AnswerScores, temperature: float) -> bool:
    """Whether a reply may well be drawn: its log p lies at most `UNLIKELY` deviations below the expected.

    Args:
        scores: Of a reply's tokens, [tokens].
        temperature: It was drawn at. Below 1 a reply is likelier than expected here; above 1 nothing is held.

    Returns:
        False also where a number is none.

    Source: ours.

    Example:
        One token of probability 0.01 among others that are as likely as expected, then four:

        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> def drawn(*logp):
        ...     return SimpleNamespace(logp=np.array(logp), mean=np.full(9, -0.7), variance=np.full(9, 0.5))
        >>> once, often = drawn(*[-0.7] * 8, -4.6), drawn(*[-0.7] * 5, *[-4.6] * 4)
        >>> may_say(once, 1.0), may_say(often, 1.0)
        (True, False)
    """
    if temperature > 1:
        return True
    short = float((scores.mean - scores.logp).sum())
    return short <= UNLIKELY * math.sqrt(float(scores.variance.sum())) + BEHIND
