"""Spans of an answer that could be its entity, each with the marks that points are given for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from uds_bench.facts.entities.marks import Inside, Marker
from uds_bench.facts.entities.passage import Passage
from uds_bench.facts.entities.words import MONTHS, WORD, YES_NO, Kind, has_digit, is_plain, kind

MAX_WORDS = 14
"""No entity is longer (UDS paper, appendix I: 1 to 14 words)."""


@dataclass(frozen=True)
class SpanCandidate:
    """A span `answer[start:end]` and its marks; one that it has twice counts twice."""

    start: int
    end: int
    marks: tuple[str, ...]


def candidates(question: str, answer: str, changed: Collection[str] | None = None) -> list[SpanCandidate]:
    """Yes or No at the start, quotations, and runs of words that begin and end with a word that is not plain.

    No candidate is in the question, has nothing new, has half a pair of brackets, or has more than `MAX_WORDS` words;
    none says only whether something is known or true. Where a date is asked for and there is one, there are dates
    alone; what is counted is no part of a number. `changed`: stems of words that answers known to be wrong do not
    share, where there are such answers.
    """
    asks = kind(question, answer)
    found = list(_spans(Passage(question, answer), asks, changed))
    dates = [one for one in found if asks == "date" and is_date(answer[one.start : one.end])]
    return dates or found


def is_date(text: str) -> bool:
    """Whether a text is numbers, months and words of grammar, with a number in it."""
    words = WORD.findall(text)
    numbers = [word for word in words if has_digit(word)]
    return bool(numbers) and all(has_digit(word) or word.lower() in MONTHS or is_plain(word) for word in words)


def _spans(text: Passage, asks: Kind, changed: Collection[str] | None) -> Iterator[SpanCandidate]:
    """All candidates; marks of a place are made once for all spans that begin or end there."""
    asked, marker = text.question.lower(), Marker(text, asks, changed)
    if match := YES_NO.match(text.answer):
        yield SpanCandidate(*match.span(), (f"type yes: {asks}",))
    taken: set[int] = set()
    for number, (start, end) in enumerate(text.quotes):
        within = [at for at, span in enumerate(text.spans) if start <= span[0] < end]
        taken.update(within)
        if within and len(within) <= MAX_WORDS and text.answer[start:end].lower() not in asked:
            first, last = within[0], within[-1]
            beside = (*marker.left(first), *marker.right(last), *marker.place(first))
            own = (f"type quotation: {asks}", f"quotation {min(2, number)}")
            yield SpanCandidate(start, end, (*own, *beside))
    ends = {at: marker.right(at) for at in range(len(text.words))}
    for first in range(len(text.words)):
        if first in taken or text.plain[first]:
            continue
        begin, inside = (
            (*marker.left(first), *marker.place(first), f"first {text.classes[first]}"),
            Inside(marker, first),
        )
        for last in range(first, min(len(text.words), first + MAX_WORDS)):
            if last in taken or not text.together(first, last):
                break
            inside.grow()
            if text.plain[last] or not inside.is_new:
                continue
            if asks == "number" and not text.new[last]:
                continue
            span = text.whole(text.spans[first][0], text.spans[last][1])
            if span is None or text.text(first, last).lower() in asked or text.tells_nothing(first, last):
                continue
            marks = (*begin, *ends[last], f"last {text.classes[last]}", *inside.marks())
            yield SpanCandidate(*span, marks)
