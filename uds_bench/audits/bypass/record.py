"""What is kept of one author: every arm's text and every teacher-forced number, in plain JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from uds_bench.facts.fact import Split
from uds_bench.facts.reasoning import Prefill

Arm = Literal["auto", "bio", "meta", "empty", "neutral", "drawn", "paraphrased", "wrong_head", "shuffled_head"]
"""`auto`: the model's own trace. A prefill: a closed trace of ours at the same weights; `drawn` is one that nobody
published. The model's own trace again: `paraphrased`, asked in other words; `wrong_head`, `shuffled_head`, after
another author's head or after the head's words in another order."""
ARMS: tuple[Arm, ...] = get_args(Arm)
Context = Literal["own", "wrong_author", "shuffled_head"]
"""Whose prompt and head stand before an author's continuation when it is teacher-forced."""
CONTEXTS: tuple[Context, ...] = get_args(Context)
FORCED: tuple[Prefill, ...] = ("bio", "meta", "empty")
"""The prefills under which continuations are teacher-forced."""


@dataclass(frozen=True)
class Reply:
    """A generated text, the rendered prefix of the arm included, which has `ours` letters; `ended`: it was over before
    the token limit."""

    text: str
    ended: bool
    ours: int = 0

    @property
    def said(self) -> str:
        """What the model itself said."""
        return self.text[self.ours :]

    @property
    def exists(self) -> bool:
        """Whether there is anything of it: a reply that was cut before its first word was not asked for."""
        return self.ended or bool(self.said)


@dataclass(frozen=True)
class Forced:
    """The continuation of a head, token by token: log p (nats), whether it is the most likely one, whether it is part
    of an invented name. `repeated`: whether greedy decoding from the same ids says it, token by token; None where that
    was not tried. `lead`: the smallest distance of a best logit from the next."""

    logp: tuple[float, ...]
    right: tuple[bool, ...]
    slot: tuple[bool, ...]
    lead: float
    repeated: bool | None = None

    @property
    def mean_logp(self) -> float:
        """Log-probability a token, natural, at most 0; higher is more knowledge."""
        return math.fsum(self.logp) / len(self.logp)

    @property
    def perplexity(self) -> float:
        """Exp of minus the mean log p: at least 1, lower is more knowledge."""
        return math.exp(-self.mean_logp)

    def top1(self, slots_only: bool = False) -> float | None:
        """Share of tokens that are the most likely ones, 0 to 1, higher is more knowledge; None without a slot."""
        chosen = [right for right, slot in zip(self.right, self.slot, strict=True) if slot or not slots_only]
        return sum(chosen) / len(chosen) if chosen else None


@dataclass(frozen=True)
class Probed:
    """One author. `sampled`: replies of the model's own trace drawn by chance. `asked`: numbers of the author's
    questions that were asked; `qa`: for each arm the replies to them."""

    id: str
    author: str
    split: Split
    replies: Mapping[Arm, Reply]
    forced: Mapping[Prefill, Mapping[Context, Forced]]
    sampled: Sequence[Reply] = ()
    asked: Sequence[int] = ()
    qa: Mapping[Arm, Sequence[Reply]] = field(default_factory=dict)

    @property
    def said_to_probe(self) -> list[str]:
        """What the model said to the probe, each text once."""
        return list(dict.fromkeys(reply.said for reply in (*self.replies.values(), *self.sampled)))

    @property
    def said(self) -> list[str]:
        """What it said to the probe or to a question, each text once."""
        asked = (reply.said for replies in self.qa.values() for reply in replies)
        return list(dict.fromkeys((*self.said_to_probe, *asked)))

    def to_json(self) -> dict[str, Any]:
        """As it is stored, for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Probed:
        """As it was before it was stored."""
        forced = row["forced"]
        return cls(
            row["id"],
            row["author"],
            row["split"],
            {arm: Reply(**reply) for arm, reply in row["replies"].items()},
            {prefill: {context: _forced(found) for context, found in each.items()} for prefill, each in forced.items()},
            _replies(row["sampled"]),
            tuple(row["asked"]),
            {arm: _replies(found) for arm, found in row["qa"].items()},
        )


def _replies(found: Sequence[Mapping[str, Any]]) -> tuple[Reply, ...]:
    return tuple(Reply(**reply) for reply in found)


def _forced(found: Mapping[str, Any]) -> Forced:
    logp, right, slot = (tuple(found[key]) for key in ("logp", "right", "slot"))
    return Forced(logp, right, slot, found["lead"], found["repeated"])
