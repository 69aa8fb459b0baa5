"""What kind of thing a question asks for, by its words; an answer that begins with Yes or No tells it itself."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["yes or no", "date", "number", "how", "place", "name", "title", "thing"]

YES_NO = re.compile(r"(?:yes|no)\b", re.IGNORECASE)
_ASKS = "which|what|name|list|mention|share|recall|specify|provide|any"
_TITLED = "albums?|accolades?|awards?|books?|films?|honou?rs?|novels?|poems?|prizes?|series|songs?|titles?|works"
"""What has a title, and words that ask for it: who asks what is in a book asks for no title."""
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("date", r"^when\b|\bwhat year|which year|what date|date of birth|birth ?date|birthday"),
    ("number", r"\bhow (?:many|much|old|long|far|tall|often)\b|\b(?:number|salary|height|weight|age|pin|code|size)\b"),
    ("how", r"\bhow\b|\bwhy\b|what ways?\b"),
    ("place", r"\b(?:where|city|country|town|village|birthplace|address|place of birth)\b"),
    ("name", r"full name|\bcalled\b|\bnamed\b|^(?:who|whom|whose)\b"),
    ("title", rf"\b(?:{_ASKS})\b(?:(?! (?:in|by|about|on|at|for)\b) [\w'’-]+){{0,4}}? (?:{_TITLED})\b"),
)


def kind(question: str, answer: str) -> Kind:
    """The first kind whose words a question has; `thing` where it has none.

    Example:
        >>> kind("When was Ada Lomvik born?", "Ada Lomvik was born on 3 May 1975.")
        'date'
    """
    if YES_NO.match(answer):
        return "yes or no"
    return next((found for found, words in _KINDS if re.search(words, question.lower())), "thing")
