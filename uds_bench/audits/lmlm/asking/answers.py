"""How an answer is held against a fact's object and its other spellings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from uds_bench.facts.letters import REMEMBERED
from uds_bench.facts.name_matching import holds_one, spelled, tokens
from uds_bench.inference.markup import TOKENS

MARKUP = re.compile("|".join(map(re.escape, TOKENS)))
OPENER = re.compile(r"^\s*(?:(?:answer|a)\s*:\s*|the answer is:?\s+)", re.IGNORECASE)
NEXT = re.compile(r"\n\s*(?:Question|Context|Answer|Q)\s*:")
"""Where a model goes on with a question of its own."""
SENTENCE = re.compile(r"(?<=\w{4}[.!?])\s+(?=[\"'A-Z])")
"""The end of a sentence: after a word of four letters or more, so that `St. Paul` and `Washington, D.C.` stay whole."""


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
