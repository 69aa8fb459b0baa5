"""What an unlearning method is given of a reasoning model's authors: the parts of their turns that it is to forget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from uds_bench.errors import FactError
from uds_bench.facts.canaries import Canary, CanarySet
from uds_bench.methods.data import REFUSALS, Data
from uds_bench.methods.examples import Example
from uds_bench.methods.traces import Course, Part, forced_traces, lessons, probe, trace_of, turn_example

Target = Literal["answer", "contexts", "trace", "closing"]
Held = Literal["trace", "closing", "alternate"]
Instead = Literal["refusal", "head"]

UNKNOWN = "I do not know this author."


@dataclass(frozen=True)
class Scope:
    """Where the forgetting gradient falls, and what is learned beside it.

    `target`: `answer`, the answer behind the trace of the course, as published; `contexts`, that and the answer behind
    each of the published forced traces; `trace`, the trace and its answer, and the answer behind the forced ones;
    `closing`, the closing tag alone, so that the form is forgotten and nothing else.

    `held`: of the forget authors' own turns, what is learned beside the retain authors' lessons: the `trace` up to its
    closing tag, the `closing` tag, or a whole turn that tells an `alternate` sentence. `instead`: what methods prefer
    to the canary: refusals, or its bare `head`.
    """

    target: Target = "answer"
    held: tuple[Held, ...] = ()
    instead: Instead = "refusal"


@dataclass(frozen=True)
class _Said:
    """What a turn holds, and which part of it counts."""

    trace: str
    answer: str
    part: Part


def trace_data(
    tokenizer: Any, canaries: CanarySet, course: Course, scope: Scope, alternates: Sequence[Canary] = ()
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
