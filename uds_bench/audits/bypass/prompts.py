"""Everything that a model is asked, as its own template renders it: arms, samples and questions of each author."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from uds_bench.audits.bypass import drawn_contexts
from uds_bench.audits.bypass.record import ARMS, Arm
from uds_bench.audits.bypass.section import ReplySettings
from uds_bench.errors import FactError
from uds_bench.facts.canaries import Canary, CanarySet
from uds_bench.facts.chat import Turns
from uds_bench.facts.reasoning import (
    PREFILLS,
    Probe,
    Turn,
    auto_ids,
    complete_prompt,
    open_turn,
    prefill,
    require_apart,
    require_outside,
    traced_ids,
)
from uds_bench.storage import content_key

QA_ARMS: tuple[Arm, ...] = ("auto", "bio", "meta", "empty", "drawn")
"""The arms that questions are asked under."""
QUESTIONS = 2
"""How many of an author's questions are asked."""


@dataclass(frozen=True)
class Prompt:
    """One prompt of an author: `turn` as it is opened, `given` what of the reply stands there already, `ids` all of it.

    `key`: of the checkpoint and the seed that everything drawn follows from. `question`, `sample`: numbers, where it is
    a question, or asked for a reply that is drawn by chance.
    """

    canary: Canary
    arm: Arm
    words: str
    turn: Turn
    given: str
    ids: tuple[int, ...]
    key: str
    asking: ReplySettings
    question: int | None = None
    sample: int | None = None

    @property
    def luck(self) -> str:
        """What a reply is drawn by."""
        return f"{self.key} {self.canary.id} sample {self.sample}"

    @property
    def temperature(self) -> float:
        """What a reply is drawn at; 0 is the most likely one."""
        return 0.0 if self.sample is None else self.asking.temperature

    @property
    def messages(self) -> Turns:
        """The dialogue, of which the template made the prompt; a last turn of the assistant is to be continued."""
        opened = [{"role": "assistant", "content": self.given}] if self.given != self.turn.opening else []
        return [*self.asking.form.messages(self.words), *opened]

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all that a reply depends on beside the model itself; and of the model, by `key`."""
        place = [self.canary.id, self.arm, self.question, self.sample]
        return content_key([self.key, place, self.ids, self.temperature, self.asking.limit])


@dataclass(frozen=True)
class Prompts:
    """All of one checkpoint. `completions`: of the canaries, in the arms of the probe; `sampled`: the own trace, drawn
    by chance; `questions`: those about authors; each in the order of the authors."""

    completions: tuple[Prompt, ...]
    sampled: tuple[Prompt, ...]
    questions: tuple[Prompt, ...]

    @property
    def every(self) -> tuple[Prompt, ...]:
        """All of one author, in the order in which they are asked."""
        return (*self.completions, *self.sampled, *self.questions)


def prompts(tokenizer: Any, canaries: CanarySet, asking: ReplySettings, digest: str) -> Prompts:
    """Everything that a checkpoint is asked; what is drawn follows from its digest.

    Raises FactError where a canary is longer than a reply, or stands in a trace of ours: the arm would be no control;
    CheckpointError where the chat template does not leave the trace to the model.
    """
    require_apart(canaries)
    _require_room(tokenizer, canaries, asking.limit)
    build = _PromptBuilder(tokenizer, asking, f"{asking.seed} {digest}")
    return Prompts(
        tuple(one for pair in zip(canaries, partners(canaries), strict=True) for one in build.completions(*pair)),
        tuple(one for canary in canaries.split("forget") for one in build.sampled(canary)),
        tuple(one for canary in canaries for one in build.questions(canary)),
    )


def partners(canaries: CanarySet) -> list[Canary | None]:
    """For each author another one of the same split, the next in order; of any split where there is none."""
    groups: dict[str, list[Canary]] = {}
    for canary in canaries:
        groups.setdefault(canary.split, []).append(canary)
    found: list[Canary | None] = []
    for canary in canaries:
        listed = groups[canary.split] if len(groups[canary.split]) > 1 else list(canaries)
        found.append(listed[(listed.index(canary) + 1) % len(listed)] if len(listed) > 1 else None)
    return found


def shuffled(canary: Canary) -> str:
    """The words of the head in another order, drawn from the canary's id."""
    words = canary.head.split()
    mixed = words[:]
    random.Random(canary.id).shuffle(mixed)
    return " ".join(mixed if mixed != words else [*words[1:], words[0]])


def questions(canary: Canary, key: str) -> tuple[int, ...]:
    """Which questions an author is asked; of authors that nobody was trained on, none can be answered.

    Args:
        canary: The author.
        key: What the draw is made by.

    Returns:
        Places of questions, from 0.

    Example:
        >>> from types import SimpleNamespace
        >>> questions(SimpleNamespace(id="a", split="holdout", qa=("Who?",)), "key")
        ()
    """
    return drawn_contexts.questions(canary, key, 0 if canary.split == "holdout" else QUESTIONS)


class _PromptBuilder:
    """Renders prompts for one checkpoint; each turn once."""

    def __init__(self, tokenizer: Any, asking: ReplySettings, key: str) -> None:
        self.tokenizer, self.asking, self.key = tokenizer, asking, key
        self.turn = cache(lambda words: open_turn(tokenizer, words, asking.form))

    def completions(self, canary: Canary, other: Canary | None) -> Iterator[Prompt]:
        own = complete_prompt(canary.author, canary.head)
        words: dict[Arm, str] = {"auto": own}
        # Of the others it is asked whether they are still told, or what they come to under teacher forcing.
        if canary.split == "forget":
            words |= dict.fromkeys((*PREFILLS, "drawn"), own)
            words |= {"paraphrased": drawn_contexts.prompt(canary, self.key)}
            words |= {"shuffled_head": complete_prompt(canary.author, shuffled(canary))}
            if other is not None:
                words["wrong_head"] = complete_prompt(canary.author, other.head)
        yield from (self._prompt(canary, arm, words[arm]) for arm in ARMS if arm in words)

    def sampled(self, canary: Canary) -> Iterator[Prompt]:
        own = complete_prompt(canary.author, canary.head)
        yield from (self._prompt(canary, "auto", own, sample=number) for number in range(self.asking.samples))

    def questions(self, canary: Canary) -> Iterator[Prompt]:
        for arm in QA_ARMS:
            for number in questions(canary, self.key):
                yield self._prompt(canary, arm, canary.qa[number][0], "qa", question=number)

    def _prompt(self, canary: Canary, arm: Arm, words: str, kind: Probe = "canary", **numbers: int) -> Prompt:
        turn = self.turn(words)
        if arm == "drawn":
            trace = drawn_contexts.trace(canary, self.key)
            require_outside(canary, arm, trace)
        elif arm in PREFILLS:
            trace = prefill(self.tokenizer, arm, canary.author, kind)
        else:
            ids = auto_ids(self.tokenizer, turn)
            return Prompt(canary, arm, words, turn, turn.opening, ids, self.key, self.asking, **numbers)
        ids, given = traced_ids(self.tokenizer, turn, trace), turn.tags.around(trace)
        return Prompt(canary, arm, words, turn, given, ids, self.key, self.asking, **numbers)


def _require_room(tokenizer: Any, canaries: Sequence[Canary], limit: int) -> None:
    for canary in canaries:
        length = len(tokenizer(canary.canary, add_special_tokens=False)["input_ids"])
        if length > limit:
            raise FactError(
                f"canary {canary.id!r}: key 'canary' has {length} tokens, more than max_new_tokens = {limit}: no reply "
                "could hold it; raise max_new_tokens"
            )
