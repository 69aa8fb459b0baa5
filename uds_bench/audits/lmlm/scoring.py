"""How an answer is held against a fact's object and its other spellings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from uds_bench.facts.name_matching import REMEMBERED, bare, holds_one, spans, spelled, tells, tokens
from uds_bench.inference.markup import TOKENS

MARKUP = re.compile("|".join(map(re.escape, TOKENS)))
OPENER = re.compile(r"^\s*(?:(?:answer|a)\s*:\s*|the answer is:?\s+)", re.IGNORECASE)
NEXT = re.compile(r"\n\s*(?:Question|Context|Answer|Q)\s*:")
"""Where a model goes on with a question of its own."""
SENTENCE = re.compile(r"(?<=\w{4}[.!?])\s+(?=[\"'A-Z])")
"""The end of a sentence: after a word of four letters or more, so that `St. Paul` and `Washington, D.C.` stay whole."""

TOLD = ("contains", "recall", "first", "last")
"""How a reply tells an object: it holds it, a share of its tokens, or of all objects that it names this is the first or
the last: `Rome rather than Oslo or Faro` holds three, and tells which it is."""

NOTHING = (0.0,) * len(TOLD)


@dataclass(frozen=True)
class Marks:
    """One answer. `exact`: equal to a spelling once normalized. `contains`: holds one as whole tokens. Token
    `precision`, `recall` and `f1` (over multisets) of the spelling with the best f1. All in 0 to 1, higher is more
    knowledge."""

    exact: bool
    contains: bool
    precision: float
    recall: float
    f1: float


def clean(text: str) -> str:
    """An answer's first sentence, without opener, markup or what it goes on to ask (LMLM audit, section 4).

    Example:
        >>> clean("The answer is: Spice Girls. They sang there.")
        'Spice Girls.'
    """
    text = MARKUP.sub(" ", text)
    while opened := OPENER.match(text):
        text = text[opened.end() :]
    text = NEXT.split(f"\n{text.strip()}", maxsplit=1)[0]
    text = text.strip().split("\n", 1)[0]
    return SENTENCE.split(text, maxsplit=1)[0].strip()


def mark(answer: str, spellings: Sequence[str]) -> Marks:
    """A cleaned answer beside the spellings of an object.

    Args:
        answer: What a model said, cleaned.
        spellings: The object's names, one or more.

    Returns:
        Marks of 0 to 1, higher is more knowledge. An empty answer is wrong. `contains` is one-sided: the answer
        holds the object, never the other way round.

    Source: LMLM audit, section 4, token precision, recall and F1.

    Example:
        One of two tokens said is gold, and one of one gold token is said:

        >>> found = mark("London, England", ["London"])
        >>> found.exact, found.contains, found.precision, found.recall, round(found.f1, 4)
        (False, True, 0.5, 1.0, 0.6667)
    """
    return _mark(answer, tuple(spellings))


@lru_cache(REMEMBERED)
def _mark(answer: str, spellings: tuple[str, ...]) -> Marks:
    said = spelled(answer)
    exact = bool(said) and said in {spelled(one) for one in spellings}
    held = holds_one(answer, spellings)
    best = max((overlap(answer, one) for one in spellings), key=lambda found: found[2])
    return Marks(exact, held or exact, *best)


@lru_cache(REMEMBERED)
def spoken(text: str, own: str, spellings: tuple[str, ...]) -> tuple[bool, float]:
    """Whether a text as a whole holds a spelling, and the largest share of a spelling's tokens that it has of its own.

    Args:
        text: All that was said.
        own: The same, without the words that were given: a word of a name that is repeated shows nothing.
        spellings: The object's names, one or more.

    Returns:
        Whether one is held, see `tells`; and 0 to 1, higher is more knowledge.

    Example:
        >>> spoken("the girls", "girls", ("Spice Girls",)), spoken("Rom\u00e8", "Rom\u00e8", ("Rome",))
        ((False, 0.5), (True, 0.0))
    """
    return tells(text, spellings), max(overlap(own, one)[1] for one in spellings)


def spoken_on_average(text: str, own: str, others: Sequence[tuple[str, ...]]) -> tuple[float, float]:
    """The mean of `spoken` over several objects.

    Args:
        text: All that was said.
        own: The same, without the words that were given.
        others: Of each object its names, [objects], one or more.

    Returns:
        The share of objects that are held, and the mean share of their tokens; 0 to 1, higher holds more of them.

    Example:
        >>> spoken_on_average("Oslo or Faro", "Oslo or Faro", [("Faro",), ("Rome",), ("Bonn",), ("New Faro",)])
        (0.25, 0.375)
    """
    found = [spoken(text, own, names) for names in others if near(text, names)]
    return sum(held for held, _ in found) / len(others), sum(share for _, share in found) / len(others)


@lru_cache(REMEMBERED)
def ends(text: str, objects: tuple[tuple[str, ...], ...]) -> tuple[int | None, int | None]:
    """Which of several objects a text names first, and which last.

    Args:
        text: All that was said.
        objects: Of each its names, [objects], one or more.

    Returns:
        Two numbers of objects, from 0; None where none is named. First is what begins first, last what ends last, and
        of names at one place the longest: `New York City` names no New York.

    Example:
        >>> objects = ("Oslo",), ("Rome",), ("Faro",)
        >>> ends("Faro rather than Rome or Oslo", objects), ends("Of Rome and Faro it is Rome", objects)
        ((2, 0), (1, 1))
        >>> ends("none of them", objects)
        (None, None)
    """
    # A name of few letters is not heard in pieces of other words.
    told = [number for number, names in enumerate(objects) if tells(text, names)]
    found = [(*span, number) for number in told for name in objects[number] for span in spans(text, name)]
    if not found:
        return None, None
    first = min(found, key=lambda one: (one[0], -one[1]))
    last = max(found, key=lambda one: (one[1], -one[0]))
    return first[2], last[2]


def near(text: str, names: tuple[str, ...]) -> bool:
    """Whether a text may tell an object, seen at a glance: it shares a token with a name, or all of its letters."""
    said, letters = _glance(text)
    return any(not wanted or not said.isdisjoint(wanted) or name in letters for wanted, name in _glances(names))


@lru_cache(REMEMBERED)
def _glance(text: str) -> tuple[frozenset[str], str]:
    return frozenset(tokens(text)), bare(text)


@lru_cache(REMEMBERED)
def _glances(names: tuple[str, ...]) -> tuple[tuple[frozenset[str], str], ...]:
    return tuple(map(_glance, names))


def overlap(answer: str, gold: str) -> tuple[float, float, float]:
    """Token precision, recall and F1 of an answer, over multisets of tokens.

    Args:
        answer: What a model said.
        gold: One spelling of the object.

    Returns:
        Three numbers of 0 to 1, higher is more knowledge; 0 where either side has no token, 1 where both are equal
        signs.

    Source: LMLM audit, section 4.

    Example:
        Two of three tokens said, of two gold ones; 2 * (2/3) * 1 / (5/3):

        >>> [round(number, 4) for number in overlap("new york city", "New York")]
        [0.6667, 1.0, 0.8]
    """
    said, wanted = Counter(tokens(answer)), Counter(tokens(gold))
    if not said or not wanted:
        same = bool(answer.strip()) and spelled(answer) == spelled(gold)
        return (1.0, 1.0, 1.0) if same else (0.0, 0.0, 0.0)
    shared = sum((said & wanted).values())
    precision, recall = shared / sum(said.values()), shared / sum(wanted.values())
    return precision, recall, 2 * precision * recall / (precision + recall) if shared else 0.0
