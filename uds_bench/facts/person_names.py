"""Names as a text of a script with capitals has them: runs of capitalised words, and which of them are one name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from uds_bench.facts.entities.forms import QUOTED
from uds_bench.facts.entities.words import MONTHS, TITLES, is_plain, listed, words_of

Name = tuple[str, ...]
"""The words of a name."""

_LETTER = "A-Za-z\u00aa-\u02af\u0370-\u052f\u0531-\u0587\u1e00-\u1fff"
"""Letters of the scripts that have capitals, and what is joined to them."""
_WORD = re.compile(rf"[{_LETTER}]+(?:[-'’ʼ\u0300-\u036f]+[{_LETTER}]+)*")
_OWNER = re.compile(r"['’]s$")
_STARTS = re.compile(r"(?:^|[.!?:;])\W*$")
_JOINED = re.compile(r" |\. ?")
_PARTICLES = words_of("al af av ben bin da de del della den der di dos du el ibn la le ten ter van von zu")
_NO_PERSON = words_of(
    "a an at das der die el en from her his in its la las le les los my near our the their your à в из на"
)
"""Before a name, words by which it is a place or a thing: in Norwick, the Laurel Prize, her English aunt."""
_SHORTEST, _LONGER = 3, 2
"""Letters that two forms of a word share at least, and that one may have more at its end, where names are declined."""


class NamedSpan(NamedTuple):
    """A name in a text. `firm`: no word before it says that it is a place or a thing. `acts`: it owns or does it."""

    name: Name
    firm: bool
    acts: bool


def names(text: str, first: Collection[str] = ()) -> Iterator[NamedSpan]:
    """The names of a text, in order; what has several words and stands in quotation marks is a title and left out.

    The word that begins a sentence is part of a name where it owns something, or is one of `first`; none in a text all
    of capitals.

    Example:
        >>> [" ".join(span.name) for span in names("Does Ada Lomvik's aunt read 'The Sea' to Dr. Bo van Elst?")]
        ['Ada Lomvik', 'Bo van Elst']
    """
    if not any(map(str.islower, text)):
        return
    text = QUOTED.sub(lambda found: found[0] if " " not in found[0] else " " * len(found[0]), text)
    words = list(_WORD.finditer(text))
    at, behind = 0, -1
    while at < len(words):
        if not _is_capital(words[at][0]):
            at += 1
            continue
        end = at + 1
        while not _OWNER.search(words[end - 1][0]) and (step := _further(text, words, end)):
            end += step
        owns = bool(_OWNER.search(words[end - 1][0])) or text[words[end - 1].end() :][:1] in ("'", "’")
        name = [_OWNER.sub("", word[0]) for word in words[at:end]]
        gap = text[words[at - 1].end() : words[at].start()] if at else ""
        before = words[at - 1][0].lower() if gap.isspace() else ""
        if _begins(text, words, at) and (is_plain(name[0].lower()) or not (owns or name[0] in first)):
            before, name = name[0].lower(), name[1:]
        firm = owns or not (before in _NO_PERSON or (gap == ", " and behind == at))
        name = [word for word in name if len(word) > 1 and word.lower() not in TITLES | MONTHS]
        if len(name) > 1 or (name and not name[0].isupper()):
            yield NamedSpan(tuple(name), firm, owns or listed(before) in ("auxiliary", "copula"))
        at, behind = end, -1 if firm else end


def first_words(questions: Iterable[str], answers: Iterable[str]) -> frozenset[str]:
    """Words that may begin a sentence as a name: capitalised inside one, or at the beginning of an answer, for what
    asks is in no answer; none that is there in small letters as well."""
    found: set[str] = set()
    small: set[str] = set()
    for texts, opening in ((questions, False), (answers, True)):
        for text in texts:
            words = list(_WORD.finditer(text))
            for at, word in enumerate(words):
                plain = _OWNER.sub("", word[0])
                if not _is_capital(plain):
                    small.add(plain)
                elif opening or not _begins(text, words, at):
                    found.add(plain)
    return frozenset(word for word in found if word.lower() not in small)


def _begins(text: str, words: Sequence[re.Match[str]], at: int) -> bool:
    before = words[at - 1].end() - 1 if at else 0
    return _STARTS.search(text[before : words[at].start()]) is not None


def _further(text: str, words: Sequence[re.Match[str]], end: int) -> int:
    """How many words a name goes on, over up to two small ones such as `van der`; 0 where it ends."""
    for at in range(end, min(end + 3, len(words))):
        if not _JOINED.fullmatch(text[words[at - 1].end() : words[at].start()]):
            return 0
        if _is_capital(words[at][0]):
            return at - end + 1
        if words[at][0] not in _PARTICLES:
            return 0
    return 0


def _is_capital(word: str) -> bool:
    return any(part[:1].isupper() for part in word.split("-"))


def is_part(name: Name, of: Name) -> bool:
    """Whether each word of a name is one of another name's, or a declined form of it.

    Example:
        >>> is_part(("Lomvik",), ("Ada", "Lomvik")), is_part(("Ивана", "Петрова"), ("Иван", "Петров"))
        (True, True)
    """
    left = list(of)
    for word in name:
        form = next((other for other in left if _same(word, other)), None)
        if form is None:
            return False
        left.remove(form)
    return True


def beginning(word: str) -> str:
    """What all forms of a word have in common."""
    return word.casefold()[:_SHORTEST]


def _same(one: str, other: str) -> bool:
    one, other = sorted((one.casefold(), other.casefold()), key=len)
    shared = max(_SHORTEST, len(one) - 1)
    forms = len(one) >= _SHORTEST and len(other) - len(one) <= _LONGER
    return one == other or (forms and one[:shared] == other[:shared])
