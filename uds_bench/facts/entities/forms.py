"""Questions of one form, asked of several people: what differs in their answers is what each of them says."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from uds_bench.facts.entities.candidates import MAX_WORDS
from uds_bench.facts.entities.passage import Passage
from uds_bench.facts.entities.words import LINKS, MONTHS, WORD, has_digit, stems

LEAST = 3
"""Answers of one wording that tell what varies in it."""

QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|(?<!\w)'.+?'(?!\w)")
_PARTING = LINKS - {"of", "article", "possessive"} | {"copula", "auxiliary", "relative", "pronoun"}
"""Classes of words after which an answer says a second thing."""


class Span(NamedTuple):
    """Where an entity stands in an answer: `answer[start:end]`."""

    start: int
    end: int


def form(question: str) -> str:
    """A question with one sign for each name, number and quotation in it; its first word is no name.

    Example:
        >>> form("Where does Ada Lomvik live?") == form("Where does Finn O'Hara live?")
        True
    """
    words = WORD.findall(QUOTED.sub(" 0 ", question))
    held = [at > 0 and (word[0].isupper() or has_digit(word)) for at, word in enumerate(words)]
    kept = ["*" if name else word.lower() for word, name in zip(words, held, strict=True)]
    return " ".join(word for at, word in enumerate(kept) if word != "*" or kept[at - 1 : at] != ["*"])


def changed(answer: str, others: Iterable[str]) -> frozenset[str]:
    """The stems of an answer that fewer than half of the others have."""
    known = [stems(other) for other in others]
    return frozenset(root for root in stems(answer) if 2 * sum(root in other for other in known) < len(known))


def slots(items: Sequence[tuple[str, str]]) -> dict[int, Span]:
    """The span of an answer that varies where at least `LEAST` answers say the rest in the same words.

    Args:
        items: Questions and answers. Answers that are the same count once.

    Returns:
        By place in `items`, none where nothing varies so.

    Example:
        >>> lives = {"Ada Lomvik": "Norwick", "Finn O'Hara": "Old Town", "Mia Sund": "Treby"}
        >>> items = [(f"Where does {name} live?", f"{name} lives in {town}.") for name, town in lives.items()]
        >>> [items[at][1][span.start : span.end] for at, span in slots(items).items()]
        ['Norwick', 'Old Town', 'Treby']
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for at, (question, _) in enumerate(items):
        groups[form(question)].append(at)
    found: dict[int, Span] = {}
    for places in groups.values():
        answers = {items[at][1] for at in places}
        if len(answers) < LEAST:
            continue
        shared = Counter(root for answer in answers for root in stems(answer))
        rare = frozenset(root for root, count in shared.items() if 2 * (count - 1) < len(answers) - 1)
        wordings: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for at in places:
            passage = Passage(*items[at])
            if span := _slot(passage, rare):
                found[at] = span
                wordings[_rest(passage, span)].append(at)
        for wording, alike in wordings.items():
            if len(wording) == 1 or len({items[at][1] for at in alike}) < LEAST:
                for at in alike:
                    del found[at]
    return found


def _slot(text: Passage, rare: frozenset[str]) -> Span | None:
    """The one run of rare new words, or the first quotation with one; None where there are several runs."""
    varying = [at for at, new in enumerate(text.new) if new and text.stems[at] in rare]
    if not varying:
        return None
    first, last = varying[0], varying[-1]
    for start, end in text.quotes:
        if start <= text.spans[first][0] < end:
            return Span(start, end)
    inside = range(first, last + 1)
    shared = [at for at in inside if text.new[at] and at not in varying and not _of_date(text, at)]
    parted = shared or any(text.classes[at] in _PARTING for at in inside)
    if parted or len(inside) > MAX_WORDS or not text.together(first, last):
        return None
    while _of_date(text, first - 1) and text.together(first - 1, first):
        first -= 1
    while text.together(last, last + 1) and _of_date(text, last + 1):
        last += 1
    whole = text.whole(text.spans[first][0], text.spans[last][1])
    return None if whole is None or text.tells_nothing(first, last) else Span(*whole)


def _of_date(text: Passage, at: int) -> bool:
    """Whether a word belongs to the date beside it, although others were born in the same month."""
    return at >= 0 and (has_digit(text.words[at]) or text.words[at].lower() in MONTHS)


def _rest(text: Passage, span: Span) -> tuple[str, ...]:
    """The words around a span, itself as one sign, without names that the question has and without lists of titles."""
    words: list[str] = []
    for at, (start, _) in enumerate(text.spans):
        found = text.classes[at]
        if span.start <= start < span.end:
            words += ["*"] if words[-1:] != ["*"] else []
        elif any(begin <= start < end for begin, end in text.quotes):
            continue
        elif found not in ("article", "and", "asked name", "owner"):
            words.append(found if found in ("pronoun", "possessive") else text.stems[at])
    return tuple(words)
