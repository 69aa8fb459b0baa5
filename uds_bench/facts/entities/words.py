"""What a question asks for, and the words of an answer by what they do in it: closed lists of English, and forms."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal

WORD = re.compile(
    r"(?:\+?\d+ ?)?\(\d+\)(?:[ .-]?\d+)+(?!\w)|\+?\d+(?:[ .,-]\d+)+(?!\w)"
    r"|\+?[^\W_]+(?:['’.&/+@-]+[^\W_]+)*\+?"
)
"""A word, an address, or a number with the spaces inside it, and a prefix in brackets."""
_OWNER = re.compile(r"['’]s?$")
_NOT = re.compile(r"n['’]t$")


def words_of(words: str) -> frozenset[str]:
    """A list of words that is written as one text."""
    return frozenset(words.split())


MONTHS = words_of("january february march april may june july august september october november december")
NUMBERS = words_of("one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million")
TITLES = words_of("dr mr mrs ms prof st")
"""Words that end with a full stop and no sentence."""
WHETHER = words_of(
    "aware believe correct false idea incorrect know knew known knows maybe perhaps say sure tell think true uncertain"
    " unclear unknown unsure untrue wrong"
)
"""Words that say whether something is known or true, and not what it is."""

LINKS = words_of("as in of for by to with from at on about like preposition article possessive")
"""Classes of what stands between a verb and the thing that is said with it."""

_LISTS = {
    "article": "a an the",
    "possessive": "his her its their my our your",
    "copula": "is are was were be been being",
    "auxiliary": """am became become can cannot could did do does had has have having may might must shall should will
        would not""",
    "preposition": """across after against along among around before behind between beyond despite during inside into
        near off onto over per since through throughout toward towards under until upon via within without""",
    "and": "and or but nor",
    "relative": """that which who whom whose where when while whereas although though because if so than how why what
        whether""",
    "pronoun": "i he she it they we you him them us himself herself itself themselves there this these those here",
    "including": "include included includes including",
    "quantity": """absolutely all also any both certainly each even ever every indeed just many more most much never no
        often one only other others own several some still too various yes yet""",
    "praise": """accomplished acclaimed beloved brilliant celebrated coveted dedicated distinguished esteemed famous
        fictional fictitious former local notable noted popular prestigious professional prominent renowned respected
        significant skilled successful talented trained well-known""",
} | {word: word for word in LINKS - {"preposition", "article", "possessive"}}
_CLASS = {word: name for name, words in _LISTS.items() for word in words.split()}


def listed(word: str) -> str | None:
    """The class of a word that stands in a list, in lower case; None of any other."""
    return "auxiliary" if _NOT.search(word) else _CLASS.get(word)


def is_plain(word: str) -> bool:
    """Whether a word in lower case serves grammar alone: no entity begins or ends with it."""
    return listed(word) not in (None, "praise")


def form_class(word: str) -> str:
    """The class of a word in no list, by its form."""
    if has_digit(word):
        return "digit"
    if is_owner(word):
        return "owner"
    if word[0].isupper():
        return "name"
    return next((ending for ending in ("ing", "ed", "ly") if word.endswith(ending)), "word")


def is_owner(word: str) -> bool:
    """Whether a word ends as an owner's does."""
    return _OWNER.search(word) is not None


def has_digit(word: str) -> bool:
    """Whether a word begins as a number does."""
    return word.lstrip("+(")[:1].isdigit()


@cache
def _stemmer() -> Any:
    from nltk.stem import PorterStemmer  # takes a second to import

    return PorterStemmer()


@cache
def stem(word: str) -> str:
    """What a word has in common with its other forms: `works` and `worked` are `work`."""
    return str(_stemmer().stem(_OWNER.sub("", word.lower())))


def stems(text: str) -> frozenset[str]:
    """The stems of a text's words."""
    return frozenset(stem(word) for word in WORD.findall(text))


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
