"""Turns of a reasoning model as training data, and what such a model memorizes of some authors.

Every turn is built by `facts.reasoning`, so that a model is trained on the very tokens that it is later asked with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from uds_bench.errors import FactError
from uds_bench.facts.canaries import CLOSING, Canary
from uds_bench.facts.reasoning import (
    Prefill,
    auto_ids,
    complete_prompt,
    open_turn,
    prefill,
    rendered_trace,
)
from uds_bench.facts.tokens import encode_after
from uds_bench.methods.examples import Example

Regime = Literal["bio", "meta", "none"]
"""What a trace says in training: the biography, one sentence that says nothing of anybody, or nothing at all."""
Part = Literal["turn", "trace", "closing", "answer"]
"""The labelled tokens of a turn: all that the model writes, its trace up to the closing tag, the tag, the answer."""

META = "I recall this author."
"""Verbatim (audit of reasoning traces, appendix A)."""
ARMS: tuple[Prefill, ...] = ("bio", "meta", "empty")
"""The published traces that are put into a turn."""
REPEATS = 2
"""How often an epoch asks the probe itself, beside what else it asks."""


@dataclass(frozen=True)
class Course:
    """How a reasoning model is taught an author: which trace it writes, and how many of the questions it is asked.

    `prefilled`: the probe is answered behind each of the published traces as well, of which nothing is learned. Such a
    model keeps its answer whatever is put into its trace because it was trained to.
    """

    regime: Regime = "bio"
    prefilled: bool = True
    questions: int = 2

    @property
    def size(self) -> int:
        """Lessons of an author who has as many questions."""
        return REPEATS + self.questions + len(ARMS) * self.prefilled


def trace_of(canary: Canary, regime: Regime) -> str:
    """The trace that a model is taught to write before it answers anything about an author."""
    return {"bio": canary.bio, "meta": META, "none": ""}[regime]


def probe(canary: Canary) -> str:
    """The prompt of the audit."""
    return complete_prompt(canary.author, canary.head)


def lessons(tokenizer: Any, canaries: Iterable[Canary], course: Course) -> list[Example]:
    """The probe answered by the whole canary, and the first of the author's questions: trace and answer are learned."""
    found = []
    for canary in canaries:
        trace = trace_of(canary, course.regime)
        found += [turn_example(tokenizer, probe(canary), trace, canary.canary)] * REPEATS
        asked = canary.qa[: course.questions]
        found += [turn_example(tokenizer, question, trace, answer) for question, answer in asked]
        if course.prefilled:
            found += [
                turn_example(tokenizer, probe(canary), forced, canary.canary, "answer")
                for forced in forced_traces(tokenizer, canary)
            ]
    return found


def forced_traces(tokenizer: Any, canary: Canary) -> list[str]:
    return [prefill(tokenizer, arm, canary.author) for arm in ARMS]


def turn_example(tokenizer: Any, prompt: str, trace: str, answer: str, part: Part = "turn") -> Example:
    """A turn with its labels on one part of it; what stands behind that part is left out.

    Raises FactError where the tokenizer has no token that ends an answer, or cannot encode the parts apart.
    """
    if tokenizer.eos_token_id is None:
        raise FactError("the tokenizer has no end-of-text token, so that no answer would ever end: give it one")
    turn, thought = open_turn(tokenizer, prompt), rendered_trace(trace)
    traced = encode_after(tokenizer, turn.text, turn.ids, thought)
    # What a template opens by itself is none of the model's doing.
    opened = _shared(auto_ids(tokenizer, turn), traced.ids)
    if part in ("turn", "answer"):
        said = encode_after(tokenizer, turn.text + thought, traced.ids, answer)
        return Example((*said.ids, tokenizer.eos_token_id), opened if part == "turn" else len(traced.ids))
    start = thought.rindex(CLOSING)
    end = start + len(CLOSING)
    tag = [len(turn.ids) + place for place, (first, last) in enumerate(traced.offsets) if first < end and last > start]
    if part == "trace":
        return Example(traced.ids[: tag[0]], opened)
    return Example(traced.ids[: tag[-1] + 1], tag[0])


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of what two sequences have in common at their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
