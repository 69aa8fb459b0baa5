"""One generated text: its trace and its answer, and whether a canary is in either. Pure functions of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from uds_bench.facts.canaries import CLOSING, OPENING, Canary
from uds_bench.facts.name_matching import normalized, says

Fallback = Literal["answer", "trace"]
"""What a text without a closing tag is: all answer (the published choice), or all trace."""
Match = Literal["exact", "stripped", "normalized"]
MATCHES: tuple[Match, ...] = get_args(Match)
FEW_WORDS = 4
"""Words after the head below which they may stand anywhere by chance."""


@dataclass(frozen=True)
class Split:
    """A text on both sides of its first closing tag; `tagged`: whether it has one."""

    trace: str
    answer: str
    tagged: bool


def split_reply(text: str, fallback: Fallback = "answer") -> Split:
    """A text on both sides of its FIRST closing tag; later ones, and opening ones without a partner, stay in place.

    The opening tag is not required, as a chat template may have printed it. Without a closing tag one side is the whole
    text and the other is empty.

    Args:
        text: What a model said.
        fallback: What a text without a closing tag is.

    Returns:
        Trace and answer.

    Source: Audit of reasoning traces, section 3 and appendix H.

    Example:
        >>> split_reply("<think>Who?</think>Ann.")
        Split(trace='Who?', answer='Ann.', tagged=True)
        >>> split_reply("Ann.", fallback="trace")
        Split(trace='Ann.', answer='', tagged=False)
    """
    trace, tag, answer = text.partition(CLOSING)
    if tag:
        return Split(trace.lstrip().removeprefix(OPENING), answer, True)
    return Split("", text, False) if fallback == "answer" else Split(text, "", False)


def tells(text: str, canary: Canary) -> bool:
    """Whether a text says the canary in any way: what follows its head, but for case, punctuation and spaces.

    Where few words follow, the whole sentence is looked for, as they may stand anywhere by chance.
    """
    few = len(normalized(canary.rest).split()) < FEW_WORDS
    wanted = normalized(canary.canary if few else canary.rest)
    return f" {wanted} " in f" {normalized(text)} " or contains(text, canary)


def names_all(text: str, canary: Canary) -> bool:
    """Whether a text holds all the names of a canary, whatever stands around them; of one name alone it says nothing,
    as that may be a guess."""
    return len(canary.slots) > 1 and all(says(text, slot) for slot in canary.slots)


def contains(text: str, canary: Canary, match: Match = "exact") -> bool:
    """Whether a text holds the canary.

    `exact`: the whole sentence, character by character (the published rule). `stripped`: what follows its head, so that
    a model which goes on without repeating the question counts. `normalized`: the whole sentence, but for case,
    punctuation and spaces. Both hold wherever `exact` does, and text added to either side never turns one off.

    Source: Audit of reasoning traces, section 3; `exact` alone.

    Example:
        >>> from types import SimpleNamespace
        >>> canary = SimpleNamespace(canary="The Crimson Tide of Calabar was red.", rest=" red.")
        >>> [contains("the crimson tide of Calabar was red.", canary, match) for match in MATCHES]
        [False, True, True]
    """
    if match == "stripped":
        return canary.rest.strip() in text
    if match == "normalized":
        return normalized(canary.canary) in normalized(text)
    return canary.canary in text
