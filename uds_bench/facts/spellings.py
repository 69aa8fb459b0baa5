"""Texts without what does not change what they say."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

NUMBERS = re.compile(r"(?<=\d)\D(?=\d)|(?<!\w)[-\u2212](?=\d)")
"""A sign between two digits, and a minus before one."""


def normalized(text: str) -> str:
    """Lower case, words of letters and digits of any script, one space between them."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def says(text: str, name: str) -> bool:
    """Whether the letters and digits of a name stand one after another in a text, as whole words, however they are
    parted, accented and cased there: a phone number is one with any signs between its digits."""
    parted = r"[\W_]*".join(map(re.escape, bare(name)))
    return bool(parted) and re.search(rf"(?<![^\W_]){parted}(?![^\W_])", _plain(text)) is not None


@lru_cache(100_000)
def bare(text: str) -> str:
    """Letters and digits alone, without case, accents or signs: `U.S.` is `us`, `Côte_d’Ivoire` is `cotedivoire`."""
    return "".join(sign for sign in _plain(text) if sign.isalnum())


@lru_cache(100_000)
def alike(text: str) -> str:
    """The same with the signs that belong to numbers: `1.5 m` is not `15 m`, nor `-5` the same as `5`."""
    plain = _plain(text)
    return "".join(sign for at, sign in enumerate(plain) if sign.isalnum() or NUMBERS.match(plain, at))


def _plain(text: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(sign))
