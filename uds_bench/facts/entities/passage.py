"""An answer as it is read beside its question: words with their sentences, quotations, and what is new in it."""

from __future__ import annotations

import re

from uds_bench.facts.entities.words import (
    TITLES,
    WHETHER,
    WORD,
    form_class,
    has_digit,
    is_owner,
    is_plain,
    listed,
    stem,
    stems,
)

_QUOTED = re.compile(r"\"[^\"]+\"|“[^”]+”|(?<!\w)'.+?'(?!\w)|‘.+?[’'](?!\w)")
_SENTENCE_END = re.compile(r"[.!?;](?=[\s\"”]|$)")
_MARK = re.compile(r"[:;()—]|\s[–-]\s")

_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def _title(quotation: re.Match[str]) -> tuple[int, int]:
    """A quotation with its marks; without them where it holds the sentence's own sign at its end."""
    start, end = quotation.span()
    inner = quotation.group()[1:-1].rstrip(".,;")
    return (start, end) if len(inner) == end - start - 2 else (start + 1, start + 1 + len(inner))


class Passage:
    """Words by their place; `question_stems` are the stems of the question's."""

    def __init__(self, question: str, answer: str) -> None:
        self.question, self.answer = question, answer
        self.question_stems = stems(question)
        titles = [_title(match) for match in _QUOTED.finditer(answer)]
        self.quotes = [(start, end) for start, end in titles if not any(_open(answer[start:end]))]
        self.spans = [match.span() for match in WORD.finditer(answer)]
        self.words = [answer[start:end] for start, end in self.spans]
        self.lower = [self._lower(at) for at in range(len(self.words))]
        self.stems = [stem(word) for word in self.words]
        self.plain = [is_plain(low) for low in self.lower]
        pairs = zip(self.plain, self.stems, strict=True)
        self.new = [not plain and root not in self.question_stems for plain, root in pairs]
        self.sentence: list[int] = []
        for at in range(len(self.words)):
            before = self.sentence[-1] if self.sentence else 0
            self.sentence.append(before + (at > 0 and self._ends(at - 1)))
        self.cuts = [self._cut(at) for at in range(len(self.words))]
        self.classes = [self._class(at) for at in range(len(self.words))]

    def _lower(self, at: int) -> str:
        """The word in lower case; the month of May is not the verb."""
        beside = self.words[max(0, at - 1) : at + 2]
        return "May" if self.words[at] == "May" and any(map(has_digit, beside)) else self.words[at].lower()

    def _ends(self, at: int) -> bool:
        """Whether a sentence ends behind a word: not in a quotation, after an initial or after a title."""
        if not _SENTENCE_END.search(self.gap(at + 1)) or len(self.words[at]) == 1 or self.lower[at] in TITLES:
            return False
        return not any(start < self.spans[at][1] < end - 2 for start, end in self.quotes)

    def _class(self, at: int) -> str:
        word, found = self.words[at], listed(self.lower[at])
        if found:
            return found
        plural_owner = self.answer[self.spans[at][1] : self.spans[at][1] + 1] in ("'", "’")
        form = "owner" if plural_owner else form_class(word)
        if form in ("digit", "owner"):
            return form
        if self.stems[at] in self.question_stems:
            return "asked name" if word[0].isupper() else "asked"
        return "verb" if form != "name" and self._follows_subject(at) else form

    def _follows_subject(self, at: int) -> bool:
        """Whether a word comes right after the name that the question has, or after a pronoun: it is a verb."""
        if at == 0 or self.sentence[at - 1] != self.sentence[at] or self.gap(at).strip():
            return False
        before = self.words[at - 1]
        if before.lower() in ("who", "he", "she", "they", "that", "which", "it"):
            return True
        return before[0].isupper() and self.stems[at - 1] in self.question_stems and not is_owner(before)

    def gap(self, at: int) -> str:
        """What stands before a word, from the end of the one before it."""
        return self.answer[self.spans[at - 1][1] if at else 0 : self.spans[at][0]]

    def _cut(self, at: int) -> str:
        """The sign before a word that parts it from the one before: a comma, a mark, or none."""
        gap = self.gap(at)
        return "," if "," in gap else "mark" if _MARK.search(gap) else ""

    def together(self, first: int, second: int) -> bool:
        """Whether both words are there, and in one sentence."""
        return first >= 0 and second < len(self.words) and self.sentence[first] == self.sentence[second]

    def text(self, first: int, last: int) -> str:
        """From the beginning of a word to the end of another."""
        return self.answer[self.spans[first][0] : self.spans[last][1]]

    def tells_nothing(self, first: int, last: int) -> bool:
        """Whether all new words from one to another say whether something is known or true, and not what."""
        return all(not self.new[at] or self.lower[at] in WHETHER for at in range(first, last + 1))

    def whole(self, start: int, end: int) -> tuple[int, int] | None:
        """A span with the bracket right beside it that closes or opens one inside; None where one is left open."""
        for _ in range(2):
            left, right = _open(self.answer[start:end])
            if not left and not right:
                return start, end
            before, behind = self.answer[max(0, start - 1) : start], self.answer[end : end + 1]
            start -= len(left) > 0 and before == left[0]
            end += len(right) > 0 and behind == right[-1]
        return None


def _open(text: str) -> tuple[list[str], list[str]]:
    """The brackets that a text lacks before it, and those that it lacks behind it."""
    before: list[str] = []
    behind: list[str] = []
    for sign in text:
        if sign in _BRACKETS:
            behind.append(_BRACKETS[sign])
        elif sign in _BRACKETS.values() and sign == (behind or [""])[-1]:
            behind.pop()
        elif sign in _BRACKETS.values():
            before.append(next(opening for opening, closing in _BRACKETS.items() if closing == sign))
    return before, behind
