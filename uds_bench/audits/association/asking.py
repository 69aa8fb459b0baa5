"""How people are asked for replies, and what a reply is to."""

from __future__ import annotations

from dataclasses import dataclass

FILLER = 16
"""Tokens that a reply may have beside the value: who hides it puts other words first."""
QUESTION = "question"


@dataclass(frozen=True)
class Asking:
    """How people are asked for replies. `question`: the number of the question, of a property's two, that takes the
    place of a sentence begun; `whole`: that it is asked beside all sentences, as where each person is decided alone;
    `filler`: tokens of a reply beside the longest value."""

    question: int = 0
    whole: bool = False
    filler: int = FILLER


@dataclass(frozen=True)
class ProbeReply:
    """`form`: what it is a reply to, a phrasing by its number or a question: luck is read of the same."""

    form: str
    text: str
