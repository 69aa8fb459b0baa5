"""The marks of a span in an answer: what stands beside it and in it, and what kind of thing was asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from uds_bench.facts.entities.answer_type import Kind
from uds_bench.facts.entities.passage import Passage
from uds_bench.facts.entities.words import LINKS, MONTHS, NUMBERS, has_digit, is_plain

_NUMERIC_DATE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_RIGHT_NAMED = frozenset({"in", "of", "for", "to", "with"})
_VERBAL = frozenset({"copula", "auxiliary", "relative", "pronoun", "verb"})
_HELD = _VERBAL | _RIGHT_NAMED | {"and", "article", "possessive", "ing", "owner"}


class Marker:
    """Marks by the places of a span's first and last word. `changed`: see `candidates`."""

    def __init__(self, text: Passage, kind: Kind, changed: Collection[str] | None) -> None:
        self.text, self.kind, self.changed = text, kind, changed

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

    def within(self, first: int, last: int) -> Iterator[str]:
        """What a span from `first` to `last` word holds, as features."""
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
