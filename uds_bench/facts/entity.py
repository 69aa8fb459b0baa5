"""The entity of an answer: the span that says what the question does not give, and how sure that is."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile

from uds_bench.facts.entities.candidates import SpanCandidate, candidates
from uds_bench.facts.entities.forms import Span, changed
from uds_bench.facts.entities.passage import Passage
from uds_bench.facts.entities.words import YES_NO, kind
from uds_bench.facts.letters import UNSPACED
from uds_bench.facts.records import embedded_toml

_END = r"\s.,;:!?。、，！？…‥」』）)”’\"'"
ASKING, SIGNS = re.compile(f"[か吗嗎呢{_END}]+$"), re.compile(f"[{_END}]+$")
"""What ends a question, and an answer, without being part of what is said."""
SURE, CLEAR = 0.7, 0.5
"""The least share of a span that needs no look, and of what an answer says beyond Yes or No."""


@dataclass(frozen=True)
class FoundSpan:
    """A span and why it is doubtful; no doubt is an empty text."""

    span: Span
    doubt: str


def find_entity(
    question: str, answer: str, told: str | None = None, wrong: Sequence[str] = (), slot: Span | None = None
) -> FoundSpan | None:
    """The span of an answer that says what its question does not.

    `slot`, what varies among answers of the same wording (`forms.slots`), is taken as it is. Else every candidate has
    the sum of the points of its marks, and a share by them (softmax): the largest wins, and is sure from `SURE` on.
    After Yes or No, what is said beyond it wins where it is clear; either is doubtful, for either may be meant.

    `told` is the answer in the words of the `wrong` answers, where they are known; the answer itself else.

    Of an answer without spaces in a script that has none, it is what the answer does not share with the question, from
    its beginning and from its end. It is doubtful, as no words are known there.

    Example:
        >>> found = find_entity("When was Ada Lomvik born?", "Ada Lomvik was born on 3 May 1975.")
        >>> found.span, found.doubt
        (Span(start=23, end=33), '')
    """
    if slot is not None:
        return FoundSpan(slot, "")
    if UNSPACED.search(answer) and len(answer.split()) == 1:
        return _apart(question, answer)
    spans = candidates(question, answer, changed(told or answer, wrong) if wrong else None)
    if not spans:
        return None
    if not YES_NO.match(answer):
        likeliest = _best(spans, answer)
        return FoundSpan(likeliest.span, likeliest.doubt or _more(question, answer, likeliest.span))
    beyond = [span for span in spans if not YES_NO.fullmatch(answer[span.start : span.end])]
    best = _best(beyond, answer, CLEAR) if beyond else None
    if best is not None and not best.doubt:
        return FoundSpan(best.span, "the answer is a yes or no, and says more: which of them is to be forgotten?")
    return FoundSpan(Span(spans[0].start, spans[0].end), "a yes or no can be guessed by who does not know")


def _apart(question: str, answer: str) -> FoundSpan | None:
    """What an answer says between its beginning and its end, as far as the question has these too."""
    asked, said = ASKING.sub("", question.strip()), SIGNS.sub("", answer)
    start = _alike(asked, said)
    ending = _alike(asked[start:][::-1], said[start:][::-1])
    if start + ending >= len(said):
        return None
    return FoundSpan(Span(start, len(said) - ending), "a script without spaces: is it all of it, and no more?")


def _alike(one: str, other: str) -> int:
    """How many signs two texts have alike from their beginning."""
    return len(list(takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False))))


def _best(spans: Sequence[SpanCandidate], answer: str, least: float = SURE) -> FoundSpan:
    """The candidate of the largest share, and the one behind it where that share is small."""
    weights = [math.exp(sum(map(_points().__getitem__, span.marks))) for span in spans]
    order = sorted(range(len(spans)), key=weights.__getitem__, reverse=True)
    first, *others = (spans[at] for at in order)
    doubt = ""
    if weights[order[0]] < least * sum(weights):
        doubt = f"could as well be {answer[others[0].start : others[0].end]!r}"
    return FoundSpan(Span(first.start, first.end), doubt)


def _more(question: str, answer: str, span: Span) -> str:
    """Why a span that won is doubtful still: no kind of thing was asked for by its name, and the answer has others."""
    if kind(question, answer) not in ("thing", "how"):
        return ""
    text = Passage(question, answer)
    places = zip(text.spans, text.new, text.classes, strict=True)
    others = [start for (start, _), new, found in places if new and found != "verb" and not span[0] <= start < span[1]]
    return "the answer says more that is new: which of it is to be forgotten?" if others else ""


@cache
def _points() -> defaultdict[str, float]:
    """By mark; one that has none counts nothing."""
    points = embedded_toml("entities/points.toml")["points"]
    return defaultdict(float, {mark: float(value) for mark, value in points.items()})
