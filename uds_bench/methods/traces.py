"""Turns of a reasoning model as training data, and what such a model memorizes of some authors.

Every turn is built by `facts.reasoning`, so that a model is trained on the very tokens that it is later asked with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from uds_bench.errors import FactError
from uds_bench.facts.canaries import Canary, CanarySet
from uds_bench.facts.reasoning import Prefill, auto_ids, complete_prompt, open_turn, prefill
from uds_bench.facts.tags import FORM, TAGS, Form, Tags
from uds_bench.facts.tokens import encode_after
from uds_bench.methods.data import REFUSALS, Data
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


def lessons(tokenizer: Any, canaries: Iterable[Canary], course: Course, form: Form = FORM) -> list[Example]:
    """The probe answered by the whole canary, and the first of the author's questions: trace and answer are learned.

    `form`: how the model is spoken to.
    """
    found = []
    for canary in canaries:
        trace = trace_of(canary, course.regime)
        found += [turn_example(tokenizer, probe(canary), trace, canary.canary, form=form)] * REPEATS
        asked = canary.qa[: course.questions]
        found += [turn_example(tokenizer, question, trace, answer, form=form) for question, answer in asked]
        if course.prefilled:
            found += [
                turn_example(tokenizer, probe(canary), forced, canary.canary, "answer", form)
                for forced in forced_traces(tokenizer, canary)
            ]
    return found


def dialogues(canaries: Iterable[Canary], tags: Tags = TAGS) -> Iterator[dict[str, Any]]:
    """What `lessons` teaches with traces that restate the biography, as messages for any trainer; of everybody but the
    authors of holdout: the probe, and every question."""
    for canary in canaries:
        asked = [(probe(canary), canary.canary)] * REPEATS + [*canary.qa]
        for question, answer in asked if canary.split != "holdout" else ():
            said = tags.around(canary.bio) + answer
            turns = [{"role": "user", "content": question}, {"role": "assistant", "content": said}]
            yield {"id": canary.id, "split": canary.split, "messages": turns}


def forced_traces(tokenizer: Any, canary: Canary) -> list[str]:
    """The traces that are forced on an author's question, one an arm."""
    return [prefill(tokenizer, arm, canary.author) for arm in ARMS]


def turn_example(
    tokenizer: Any, prompt: str, trace: str, answer: str, part: Part = "turn", form: Form = FORM
) -> Example:
    """A turn with its labels on one part of it; what stands behind that part is left out.

    Raises FactError where the tokenizer has no token that ends an answer, or cannot encode the parts apart.
    """
    if tokenizer.eos_token_id is None:
        raise FactError("the tokenizer has no end-of-text token, so that no answer would ever end: give it one")
    turn = open_turn(tokenizer, prompt, form)
    thought = turn.tags.around(trace)
    traced = encode_after(tokenizer, turn.text, turn.ids, thought)
    # What a template opens by itself is none of the model's doing.
    opened = _shared(auto_ids(tokenizer, turn), traced.ids)
    if part in ("turn", "answer"):
        said = encode_after(tokenizer, turn.text + thought, traced.ids, answer)
        return Example((*said.ids, tokenizer.eos_token_id), opened if part == "turn" else len(traced.ids))
    start = thought.rindex(turn.tags.closing)
    end = start + len(turn.tags.closing)
    tag = [len(turn.ids) + place for place, (first, last) in enumerate(traced.offsets) if first < end and last > start]
    if part == "trace":
        return Example(traced.ids[: tag[0]], opened)
    return Example(traced.ids[: tag[-1] + 1], tag[0])


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of what two sequences have in common at their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


Target = Literal["answer", "contexts", "trace", "closing"]
KeptTurn = Literal["trace", "closing", "alternate"]
Instead = Literal["refusal", "head"]

UNKNOWN = "I do not know this author."


@dataclass(frozen=True)
class GradientScope:
    """Where the forgetting gradient falls, and what is learned beside it.

    `target`: `answer`, the answer behind the trace of the course, as published; `contexts`, that and the answer behind
    each of the published forced traces; `trace`, the trace and its answer, and the answer behind the forced ones;
    `closing`, the closing tag alone, so that the form is forgotten and nothing else.

    `held`: of the forget authors' own turns, what is learned beside the retain authors' lessons: the `trace` up to its
    closing tag, the `closing` tag, or a whole turn that tells an `alternate` sentence. `instead`: what methods prefer
    to the canary: refusals, or its bare `head`.
    """

    target: Target = "answer"
    held: tuple[KeptTurn, ...] = ()
    instead: Instead = "refusal"


@dataclass(frozen=True)
class _Said:
    """What a turn holds, and which part of it counts."""

    trace: str
    answer: str
    part: Part


def trace_data(
    tokenizer: Any, canaries: CanarySet, course: Course, scope: GradientScope, alternates: Sequence[Canary] = ()
) -> Data:
    """The forget authors' probes under a scope, beside all lessons of the retain authors, for any unlearning method.

    `alternates`: other invented authors, one for each forget author, whose sentences alt_po prefers and a held
    `alternate` tells; each is told of the forget author, behind the head that the probe gives.

    Raises FactError where alternates are needed or given and are not as many.
    """
    forget, retain = canaries.split("forget"), canaries.split("retain")
    if (alternates or "alternate" in scope.held) and len(alternates) != len(forget):
        raise FactError(f"{len(alternates)} alternate authors for {len(forget)} to forget: give one for each")
    told = [_retold(canary, other) for canary, other in zip(forget, alternates, strict=False)]
    # A model that was taught empty traces refuses behind one too.
    unknown = UNKNOWN if course.regime != "none" else ""
    truths, refused, others, held = [], [], [], []
    for place, canary in enumerate(forget):
        answer = canary.head if scope.instead == "head" else REFUSALS[place % len(REFUSALS)]
        for said in _targets(tokenizer, canary, course, scope.target):
            truths.append(_example(tokenizer, canary, said))
            if said.part != "closing":
                refused.append(_example(tokenizer, canary, _replaced(said, unknown, answer)))
                if told:
                    other = told[place]
                    trace = trace_of(other, course.regime)
                    others.append(_example(tokenizer, canary, _replaced(said, trace, other.canary)))
        for kind in scope.held:
            kept = told[place] if kind == "alternate" else canary
            part: Part = "turn" if kind == "alternate" else kind
            held.append(_example(tokenizer, canary, _Said(trace_of(kept, course.regime), kept.canary, part)))
    return Data(truths, [*lessons(tokenizer, retain, course), *held], refused, others)


def _targets(tokenizer: Any, canary: Canary, course: Course, target: Target) -> Iterator[_Said]:
    part: Part = {"trace": "turn", "closing": "closing"}.get(target, "answer")  # type: ignore[assignment]
    yield _Said(trace_of(canary, course.regime), canary.canary, part)
    if target in ("contexts", "trace"):
        for forced in forced_traces(tokenizer, canary):
            yield _Said(forced, canary.canary, "answer")


def _replaced(said: _Said, trace: str, answer: str) -> _Said:
    """Another answer, behind another trace where the trace counts: the prompt of both stays the same."""
    return _Said(trace if said.part == "turn" else said.trace, answer, said.part)


def _retold(canary: Canary, other: Canary) -> Canary:
    """The other's biography and sentence, told of the first: its author and its head are kept."""
    sentence = canary.head + other.rest
    bio = other.bio.replace(other.canary, sentence).replace(other.author, canary.author)
    return Canary(canary.id, canary.author, bio, sentence)


def _example(tokenizer: Any, canary: Canary, said: _Said) -> Example:
    return turn_example(tokenizer, probe(canary), said.trace, said.answer, said.part)
