"""Spans of an answer that could be its entity, each with the marks that points are given for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from uds_bench.facts.entities.asked import YES_NO, kind
from uds_bench.facts.entities.passage import Passage
from uds_bench.facts.entities.words import LINKS, MONTHS, NUMBERS, WORD, has_digit, is_plain

MAX_WORDS = 14
"""No entity is longer (UDS paper, appendix I: 1 to 14 words)."""

_NUMERIC_DATE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_LEFT_NAMED = frozenset({"as", "in", "of", "for", "by", "to", "with", "from", "at", "on", "including", "like", "about"})
_RIGHT_NAMED = frozenset({"in", "of", "for", "to", "with"})
_VERBAL = frozenset({"copula", "auxiliary", "relative", "pronoun", "verb"})

_HELD = _VERBAL | _RIGHT_NAMED | {"and", "article", "possessive", "ing", "owner"}


@dataclass(frozen=True)
class Candidate:
    """A span `answer[start:end]` and its marks; one that it has twice counts twice."""

    start: int
    end: int
    marks: tuple[str, ...]


def candidates(question: str, answer: str, changed: Collection[str] | None = None) -> list[Candidate]:
    """Yes or No at the start, quotations, and runs of words that begin and end with a word that is not plain.

    No candidate is in the question, has nothing new, or has more than `MAX_WORDS` words. Where a date is asked for and
    there is one, there are dates alone; what is counted is no part of a number. `changed`: stems of words that answers
    known to be wrong do not share, where there are such answers.
    """
    reader = _Reader(Passage(question, answer), changed)
    found = list(reader.found())
    dates = [one for one in found if reader.kind == "date" and is_date(answer[one.start : one.end])]
    return dates or found


def is_date(text: str) -> bool:
    """Whether a text is numbers, months and words of grammar, with a number in it."""
    words = WORD.findall(text)
    numbers = [word for word in words if has_digit(word)]
    return bool(numbers) and all(has_digit(word) or {word.lower()} & MONTHS or is_plain(word) for word in words)


class _Reader:
    """The candidates of one passage; marks of a place are made once for all spans that begin or end there."""

    def __init__(self, text: Passage, changed: Collection[str] | None) -> None:
        self.text, self.changed, self.kind = text, changed, kind(text.question, text.answer)

    def found(self) -> Iterator[Candidate]:
        text, asked = self.text, self.text.question.lower()
        if match := YES_NO.match(text.answer):
            yield Candidate(*match.span(), (f"type yes: {self.kind}",))
        taken: set[int] = set()
        for number, (start, end) in enumerate(text.quotes):
            within = [at for at, span in enumerate(text.spans) if start <= span[0] < end]
            taken.update(within)
            if within and len(within) <= MAX_WORDS and text.answer[start:end].lower() not in asked:
                first, last = within[0], within[-1]
                beside = (*self._left(first), *self._right(last), *self._place(first))
                own = (f"type quotation: {self.kind}", f"quotation {min(2, number)}")
                yield Candidate(start, end, (*own, *beside))
        ends = {at: self._right(at) for at in range(len(text.words))}
        for first in range(len(text.words)):
            if first in taken or is_plain(text.lower[first]):
                continue
            begin = (*self._left(first), *self._place(first), f"first {text.classes[first]}")
            for last in range(first, min(len(text.words), first + MAX_WORDS)):
                if last in taken or not text.together(first, last):
                    break
                if is_plain(text.lower[last]) or not any(text.new[first : last + 1]):
                    continue
                if self.kind == "number" and not text.new[last]:
                    continue
                if text.text(first, last).lower() in asked:
                    continue
                marks = (*begin, *ends[last], f"last {text.classes[last]}", *self._within(first, last))
                yield Candidate(text.spans[first][0], text.spans[last][1], marks)

    def _left(self, at: int) -> list[str]:
        """What stands before, and what stands before the small words before."""
        text = self.text
        if not text.together(at - 1, at):
            return ["after the start"]
        before, cut = text.classes[at - 1], text.cuts[at]
        if before == "as" and at > 1 and text.lower[at - 2] == "such":
            before = "including"
        if cut == "mark":
            before = "mark"
        elif cut or (before == "and" and text.cuts[at - 1] == ","):
            before = ", and" if before == "and" else ","
        marks = [f"after {before}"]
        if text.classes[at - 1] in LINKS and text.together(at - 2, at):
            place = at - 2
            while text.classes[place] in LINKS and text.together(place - 1, place):
                place -= 1
            marks.append(f"behind {text.classes[place]}")
        if text.classes[at - 1] == "name" and text.classes[at] in ("name", "digit") and not cut:
            marks.append("name cut")
        return marks

    def _right(self, at: int) -> list[str]:
        """What stands behind."""
        text = self.text
        if not text.together(at, at + 1):
            return ["before the end"]
        behind, cut = text.classes[at + 1], text.cuts[at + 1]
        named = behind if behind in _RIGHT_NAMED else "preposition" if behind in LINKS - {"article"} else behind
        if cut:
            named = "mark" if cut == "mark" else f", {behind}" if behind in ("ing", "and", "relative") else ","
        names = {text.classes[at], behind} <= {"name", "digit"}
        return [f"before {named}", *(["name cut"] if names and not text.gap(at + 1).strip() else [])]

    def _place(self, first: int) -> list[str]:
        """How much of the answer comes before."""
        text = self.text
        said = sum(text.new[at] for at in range(first) if text.sentence[at] == text.sentence[first])
        long = "long" if self.kind in ("how", "yes or no", "thing") else "short"
        step = sum(said >= least for least in (1, 3, 6, 12))
        return [f"sentence {min(2, text.sentence[first])}", f"new before, {long}: {step}"]

    def _within(self, first: int, last: int) -> Iterator[str]:
        text, inner = self.text, range(first + 1, last)
        yield f"type {self._type(first, last)}: {self.kind}"
        length = last - first + 1
        yield f"words {sum(length >= least for least in (2, 3, 4, 6, 9))}"
        yield f"new {min(4, sum(text.new[first : last + 1]))}"
        for at in inner:
            found = text.classes[at]
            if found in _HELD:
                yield f"holds {found}"
            elif found in LINKS:
                yield "holds preposition"
        for at in range(first + 1, last + 1):
            if cut := text.cuts[at]:
                yield f"holds {cut}" + (" ing" if text.classes[at] == "ing" else "")
            if text.classes[at - 1] == "name" and text.classes[at] in ("word", "ed", "ing", "verb"):
                yield "holds name word"
        asked = sum(not new and not is_plain(low) for new, low in self._words(first, last))
        yield from ["holds asked"] * min(3, asked)
        if self.changed is not None:
            yield from self._alignment(first, last, self.changed)

    def _words(self, first: int, last: int) -> zip[tuple[bool, str]]:
        return zip(self.text.new[first : last + 1], self.text.lower[first : last + 1], strict=True)

    def _type(self, first: int, last: int) -> str:
        words, low = self.text.words[first : last + 1], self.text.lower[first : last + 1]
        digits = any(map(has_digit, words))
        month = digits and any(word.lower() in MONTHS for word in low)
        if month or _NUMERIC_DATE.fullmatch(words[0]) or (len(words) == 1 and _YEAR.fullmatch(words[0])):
            return "date"
        if digits or NUMBERS.intersection(low):
            return "number"
        return "name" if all(word[0].isupper() or is_plain(word.lower()) for word in words) else "words"

    def _alignment(self, first: int, last: int, changed: Collection[str]) -> Iterator[str]:
        """How a span stands to the words that differ in wrong answers."""
        text = self.text
        differs = [text.new[at] and text.stems[at] in changed for at in range(len(text.words))]
        inside = [differs[at] for at in range(first, last + 1) if text.new[at]]
        yield "differs: " + ("all" if all(inside) else "some" if any(inside) else "none")
        if any(inside) and sum(inside) == sum(differs):
            yield "differs: nowhere else"
        for at in (first - 1, last + 1):
            if text.together(min(at, first), max(at, last)) and differs[at]:
                yield "differs: beside"
