"""Find the entity of an answer: the span that says what the question does not already say."""

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_WORDS = 14
"""No entity is longer (UDS paper, appendix I: 1 to 14 words)."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BREAKING = _words(
    """
    after also although am are as at be became because become been before being but by can could did do
    does during either ever from had has have having he her hers herself him himself his how however i if
    include included includes including into is it its itself like may me might must my neither nor not
    notably often our out s she should since so such than that their theirs them themselves then there
    these they this those though through throughout thus to too until up upon us was we well were what
    when where whether which while who whom whose why will with would yet you your
    """
)
"""Words that no entity holds: auxiliaries, pronouns, most prepositions and conjunctions."""

_JOINING = _words(
    """
    a about absolutely all among an and any between both certainly each every for in indeed many more most
    much of on one or other others over own several some the toward towards under various within without
    """
)
"""Words that an entity may hold inside, and neither starts nor ends with."""

_WORD = re.compile(r"[^\W_]+(?:['’.&/+-]+[^\W_]+)*\+?")
_POSSESSIVE_OR_PLURAL = re.compile(r"(?:['’]s?|(?<=[^s])s)$")
_YES_NO = re.compile(r"(?:yes|no)\b", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]+\"|“[^”]+”|(?<!\w)'.+?'(?!\w)|‘.+?’(?!\w)")
_CLAUSE_END = re.compile(r"[.;:!?()—]|\s[–-]\s")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_LEAD_IN = re.compile(r"[a-z]+(?:ly|ing)$")

_ENOUGH, _QUOTATION, _LATER_SENTENCE = 4, 2, 2
"""Points: what a span can earn by its words, what quotation marks add, what a later sentence takes away."""


class Span(NamedTuple):
    """Where an entity stands in an answer: `answer[start:end]`."""

    start: int
    end: int


def find_span(question: str, answer: str) -> Span | None:
    """The span of the answer that says most beyond the question; None where nothing qualifies.

    "Yes" or "No" at the start of an answer wins. Else quotations compete with runs of words. A run holds
    no clause boundary, no word of `_BREAKING` and no name from the question, and starts and ends with a
    content word that the question does not have. Words of a span that are new earn a point each, names
    and numbers two. Of equals the first wins. A span has at most `MAX_WORDS` words and does not occur in
    the question, whatever its case.
    """
    if yes_no := _YES_NO.match(answer):
        return Span(*yes_no.span())
    asked = {_stem(word) for word in _WORD.findall(question)}
    quotations = [Span(*match.span()) for match in _QUOTED.finditer(answer)]
    spans = [*quotations, *_runs(answer, asked, quotations)]
    usable = [span for span in spans if _is_usable(answer[span.start : span.end], question)]
    first_sentence = _SENTENCE_END.search(answer)
    later = first_sentence.end() if first_sentence else len(answer)

    def points(span: Span) -> tuple[int, int]:
        text = answer[span.start : span.end]
        new = [word for word in _WORD.findall(text) if not _is_plain(word) and _stem(word) not in asked]
        earned = min(_ENOUGH, sum(1 if word[0].islower() else 2 for word in new))
        quotation = _QUOTATION if span in quotations else 0
        return earned + quotation - (_LATER_SENTENCE if span.start >= later else 0), -span.start

    return max(usable, key=points, default=None)


def split_answer(question: str, answer: str) -> tuple[str, str] | None:
    """(prefix, entity) of an answer, by `find_span`; the prefix has no space at its end."""
    span = find_span(question, answer)
    return span and (answer[: span.start].rstrip(), answer[span.start : span.end])


def _runs(answer: str, asked: set[str], quotations: list[Span]) -> Iterator[Span]:
    """Spans from the first to the last new content word between two places where a run must end."""
    run: list[re.Match[str]] = []
    before = 0
    for word in _WORD.finditer(answer):
        quoted = any(span.start <= word.start() < span.end for span in quotations)
        asked_name = _stem(word.group()) in asked and word.group()[0].isupper()
        barred = quoted or asked_name or word.group().lower() in _BREAKING
        if barred or _CLAUSE_END.search(answer, before, word.start()):
            yield from _trimmed(run, asked)
            run = []
        if not barred:
            run.append(word)
        before = word.end()
    yield from _trimmed(run, asked)


def _trimmed(run: list[re.Match[str]], asked: set[str]) -> Iterator[Span]:
    """The run without words at its edges that say nothing new; nothing where no word is left."""

    def empty(word: re.Match[str]) -> bool:
        return _is_plain(word.group()) or _stem(word.group()) in asked

    words = run[:MAX_WORDS]
    while words and (empty(words[0]) or (len(words) > 1 and _LEAD_IN.match(words[0].group()))):
        words = words[1:]
    while words and empty(words[-1]):
        words = words[:-1]
    if words:
        yield Span(words[0].start(), words[-1].end())


def _is_usable(text: str, question: str) -> bool:
    return text.lower() not in question.lower() and len(text.split()) <= MAX_WORDS


def _is_plain(word: str) -> bool:
    return word.lower() in _BREAKING or word.lower() in _JOINING


def _stem(word: str) -> str:
    return _POSSESSIVE_OR_PLURAL.sub("", word.lower())
