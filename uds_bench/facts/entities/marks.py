"""The marks of a span in an answer: what stands beside it and in it, and what kind of thing was asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from uds_bench.facts.entities.passage import Passage
from uds_bench.facts.entities.words import LINKS, MONTHS, NUMBERS, Kind, has_digit, is_plain

_NUMERIC_DATE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_RIGHT_NAMED = frozenset({"in", "of", "for", "to", "with"})
_VERBAL = frozenset({"copula", "auxiliary", "relative", "pronoun", "verb"})
_HELD = _VERBAL | _RIGHT_NAMED | {"and", "article", "possessive", "ing", "owner"}
_LENGTHS = [f"words {sum(length >= least for least in (2, 3, 4, 6, 9))}" for length in range(10)]


class Marker:
    """Marks by the places of a span's first and last word. `changed`: see `candidates`.

    `held`, `parted`: by place, what a span holds that goes on on both sides of a word, or to the left of it.
    """

    def __init__(self, text: Passage, kind: Kind, changed: Collection[str] | None) -> None:
        self.text, self.kind, self.aligned = text, kind, changed is not None
        self.held = [_held(found) for found in text.classes]
        self.parted = [_parted(text, at) for at in range(len(text.words))]
        self.in_question = [not new and not plain for new, plain in zip(text.new, text.plain, strict=True)]
        self.differs = [new and root in (changed or ()) for new, root in zip(text.new, text.stems, strict=True)]
        self.digits = [has_digit(word) for word in text.words]
        self.named = [word[0].isupper() or is_plain(word.lower()) for word in text.words]

    def left(self, at: int) -> list[str]:
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

    def right(self, at: int) -> list[str]:
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

    def place(self, first: int) -> list[str]:
        """How much of the answer comes before."""
        text = self.text
        said = sum(text.new[at] for at in range(first) if text.sentence[at] == text.sentence[first])
        long = "long" if self.kind in ("how", "yes or no", "thing") else "short"
        step = sum(said >= least for least in (1, 3, 6, 12))
        return [f"sentence {min(2, text.sentence[first])}", f"new before, {long}: {step}"]


class Inside:
    """The marks of what spans hold that begin with one word, which grow word by word: none is looked at again."""

    def __init__(self, marker: Marker, first: int) -> None:
        self._marker, self._first, self._last = marker, first, first - 1
        self._held: list[str] = []
        self._parted: list[str] = []
        self._in_question = self._new = self._differs = 0
        self._digits = self._month = self._number = False
        self._named = True

    @property
    def is_new(self) -> bool:
        """Whether anything in the span is."""
        return self._new > 0

    def grow(self) -> None:
        """Take in the next word."""
        marker, first, last = self._marker, self._first, self._last + 1
        text, self._last = marker.text, last
        self._held += marker.held[last - 1] if last > first + 1 else ()
        self._parted += marker.parted[last] if last > first else ()
        self._in_question += marker.in_question[last]
        self._new += text.new[last]
        self._differs += marker.differs[last]
        self._digits |= marker.digits[last]
        self._month |= text.lower[last].lower() in MONTHS
        self._number |= text.lower[last] in NUMBERS
        self._named &= marker.named[last]

    def marks(self) -> Iterator[str]:
        """Of the words from the first one to the last that was taken in."""
        yield f"type {self._type()}: {self._marker.kind}"
        yield _LENGTHS[min(self._last - self._first + 1, 9)]
        yield f"new {min(4, self._new)}"
        yield from self._held
        yield from self._parted
        yield from ["holds asked"] * min(3, self._in_question)
        if self._marker.aligned:
            yield from self._alignment()

    def _type(self) -> str:
        begin, alone = self._marker.text.words[self._first], self._first == self._last
        if (self._digits and self._month) or _NUMERIC_DATE.fullmatch(begin) or (alone and _YEAR.fullmatch(begin)):
            return "date"
        if self._digits or self._number:
            return "number"
        return "name" if self._named else "words"

    def _alignment(self) -> Iterator[str]:
        """How a span stands to the words that differ in wrong answers."""
        text, differs = self._marker.text, self._marker.differs
        yield "differs: " + ("all" if self._differs == self._new else "some" if self._differs else "none")
        if self._differs and self._differs == sum(differs):
            yield "differs: nowhere else"
        for at in (self._first - 1, self._last + 1):
            if text.together(min(at, self._first), max(at, self._last)) and differs[at]:
                yield "differs: beside"


def _held(found: str) -> tuple[str, ...]:
    return (f"holds {found}",) if found in _HELD else ("holds preposition",) if found in LINKS else ()


def _parted(text: Passage, at: int) -> tuple[str, ...]:
    """The sign before a word, and that it goes on where a name ended."""
    found, cut = text.classes[at], text.cuts[at]
    named = at > 0 and text.classes[at - 1] == "name" and found in ("word", "ed", "ing", "verb")
    signs = (f"holds {cut}" + (" ing" if found == "ing" else ""),) if cut else ()
    return (*signs, *(("holds name word",) if named else ()))
