"""Whether replies of another engine are those of a model's own weights: each is forced through them, token by token.

A most likely reply must be the weights' own at every token, or as likely within rounding; all of them together lie no
further behind than rounding can put them. A drawn one must not be too unlikely, nor all of them together too likely.
What is not is asked of the model itself, so that nothing in a file can take the place of what it says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from uds_bench.audits.bypass.claims import ALTERED, BEHIND, ROUNDING, UNLIKELY
from uds_bench.audits.bypass.prompts import Prompt
from uds_bench.audits.bypass.replies import RawReply, Recorded
from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import CheckpointError, FactError
from uds_bench.facts.dialogue import EncodedAnswer
from uds_bench.facts.tokens import Offset, encode_after
from uds_bench.inference.answers import AnswerScores, score_answers

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
        CheckpointError: Too many of the most likely ones are another model's, or the drawn ones are no draws.
    """
    read = [one for one in asked if one.digest in recorded.replies]
    found = said(checkpoint, read, recorded, stops, batch)
    greedy = [one for one in read if one.sample is None]
    drawn = [one for one in read if one.sample is not None]
    if not are_drawn([found[one.digest] for one in drawn if one.digest in found]):
        raise CheckpointError(
            f"{recorded.name}: the drawn replies of [bypass] replies are not drawn at temperature "
            f"{drawn[0].temperature:g}: together they are likelier than its weights let expect; ask anew with that "
            "temperature, top_p 1 and no top_k, or take replies out"
        )
    behind = [one for one in greedy if one.digest in found and (found[one.digest].behind > 0).any()]
    if are_rounded([found[one.digest] for one in greedy if one.digest in found]):
        behind = []
    far = [*(one for one in read if one.digest not in found), *behind]
    foreign = [one for one in far if one.sample is None]
    if len(foreign) > ALTERED * len(greedy):
        raise CheckpointError(
            f"{recorded.name}: {len(foreign)} of {len(greedy)} replies of [bypass] replies are not what its weights "
            f"say (the first: {foreign[0].arm} of {foreign[0].canary.id}): ask an engine that serves these weights, in "
            "bfloat16 or better, or take replies out"
        )
    return replace(recorded, replies={**recorded.replies, **say(far)}), len(far)


def said(
    checkpoint: Checkpoint, asked: Sequence[Prompt], recorded: Recorded, stops: Sequence[int], batch: int
) -> dict[str, AnswerScores]:
    """The replies that the weights give, in any tokens and with any of those that end one.

    Args:
        checkpoint: The model whose replies they would be.
        asked: Prompts, each greedy or drawn at a temperature.
        recorded: What another engine replied.
        stops: Tokens that end a reply.
        batch: Replies in a pass.

    Returns:
        By the digest of their prompt, what the weights give the tokens of a reply, at the temperature of a drawn one;
        of a reply that is not theirs, nothing.
    """
    found: dict[str, AnswerScores] = {}
    for temperature in dict.fromkeys(one.temperature for one in asked):
        some = [one for one in asked if one.temperature == temperature]
        left = [
            each for one in some for each in _readings(checkpoint.tokenizer, one, recorded.replies[one.digest], stops)
        ]
        for _ in range(PASSES):
            again = []
            rows = score_answers(checkpoint, [one.row for one in left], batch, temperature=temperature or 1.0)
            for one, scores in zip(left, rows, strict=True):
                if says(scores) if one.prompt.sample is None else may_say(scores):
                    found.setdefault(one.prompt.digest, scores)
                elif (other := one.otherwise(checkpoint.tokenizer, scores)) is not None:
                    again.append(other)
            left = [one for one in again if one.prompt.digest not in found]
    return found


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


def are_rounded(replies: Sequence[AnswerScores]) -> bool:
    """Whether the tokens of the most likely replies lie behind the best ones no further, all together, than rounding
    can put them: near ties are common, and rounding turns few of them.

    Args:
        replies: Of each its tokens' scores, [replies].

    Returns:
        False also where a number is none.

    Source: ours. A tie `lead` nats apart is turned with the chance that rounding, normal of `ROUNDING`, exceeds it.

    Example:
        One near tie of a hundred is turned, then four, which lie further apart:

        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> def said(*behind):
        ...     lead = np.full(100, 2.0)
        ...     lead[: len(behind)] = behind
        ...     return SimpleNamespace(lead=lead, behind=np.append(behind, np.zeros(100 - len(behind))))
        >>> are_rounded([said(0.1)]), are_rounded([said(0.9, 0.9, 0.9, 0.9)])
        (True, False)
    """
    lead, behind = (np.concatenate([getattr(one, key) for one in replies] or [[]]) for key in ("lead", "behind"))
    turned = norm.sf(lead / ROUNDING)
    spread = math.sqrt(float((lead**2 * turned * (1 - turned)).sum()))
    return float(behind.sum()) <= float((lead * turned).sum()) + UNLIKELY * spread + BEHIND


def may_say(scores: AnswerScores) -> bool:
    """Whether a reply may well be drawn: its log p lies at most `UNLIKELY` deviations below the expected.

    Args:
        scores: Of its tokens, at the temperature that it was drawn at, [tokens].

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
        >>> may_say(once), may_say(often)
        (True, False)
    """
    short, room = _beside_expected([scores])
    return short <= room


def are_drawn(replies: Sequence[AnswerScores]) -> bool:
    """Whether log p of all drawn replies together lies at most `UNLIKELY` deviations above the expected. Each token's
    is expected from those before it, so that deviations of a whole file add up as those of independent draws do.

    Below it nothing is held of all together: a text that is read in other tokens than it was drawn in is less likely.

    Args:
        replies: Of each its tokens' scores, at the temperature that it was drawn at, [replies].

    Returns:
        False also where a number is none; True of no reply.

    Source: ours; a martingale's sum beside its conditional variance.

    Example:
        Tokens as likely as expected, then the most likely ones throughout:

        >>> import numpy as np
        >>> from types import SimpleNamespace
        >>> def drawn(logp):
        ...     return SimpleNamespace(logp=np.full(400, logp), mean=np.full(400, -0.7), variance=np.full(400, 0.5))
        >>> are_drawn([drawn(-0.7)]), are_drawn([drawn(-0.3)])
        (True, False)
    """
    short, room = _beside_expected(replies)
    return -short <= room


def _beside_expected(replies: Sequence[AnswerScores]) -> tuple[float, float]:
    """How far log p lies below the expected, nats, and how far it may lie beside it."""
    short = sum(float((one.mean - one.logp).sum()) for one in replies)
    return short, UNLIKELY * math.sqrt(sum(float(one.variance.sum()) for one in replies)) + BEHIND
