"""In which script a text is, and texts of the same shape: other digits for digits, other letters for letters."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from functools import cache

from uds_bench.facts.name_matching import alike
from uds_bench.facts.records import embedded_toml

DRAWS = 20
"""How often, for each value that is wanted, one is drawn: of a short shape there are few."""
CODE_POINTS_NEAR = 32
"""How far, in code points, a letter of a script without a list of letters may be from the one that it stands for."""


def script_of(text: str) -> str:
    """The script of most letters, by the first word of their Unicode names, such as LATIN or CJK; "" of no letters.

    Example:
        >>> [script_of(name) for name in ("Jane Doe", "李明", "Иван", "7")]
        ['LATIN', 'CJK', 'CYRILLIC', '']
    """
    found = Counter(_script(sign) for sign in text if sign.isalpha())
    return found.most_common(1)[0][0] if found else ""


def values_like(value: str, count: int) -> tuple[str, ...]:
    """Up to `count` values of the shape of one, none of them the value itself; the same value has the same ones.

    A digit stands for a digit of its kind, a letter for a letter of its script, vowels for vowels where a script has
    them, in its case; all other signs stay. What is twice in the value is twice in each: a number that repeats itself
    is easily guessed beside others that do not. Fewer where the shape has no more: of one digit there are nine others.

    Args:
        value: What is true.
        count: How many are wanted.

    Returns:
        Texts as long as the value, no two of the same letters and digits.

    Example:
        >>> values_like("7-77", 20)[:3], len(values_like("7-77", 20))
        (('4-44', '0-00', '8-88'), 9)
        >>> values_like("+44 20 Ab", 1) == values_like("+44 20 Ab", 1)
        True
    """
    generator, found = random.Random(f"values {value}"), {alike(value): ""}
    for _ in range(DRAWS * count):
        drawn = _drawn(value, generator)
        if len(drawn) == len(value):
            found.setdefault(alike(drawn), drawn)
        if len(found) > count:
            break
    return tuple(found.values())[1:]


def _drawn(value: str, generator: random.Random) -> str:
    small = [sign.lower()[0] for sign in value]
    put: dict[str, str] = {}
    for sign in dict.fromkeys(small):
        free = [one for one in _alternatives(sign) if one not in put.values()]
        put[sign] = generator.choice(free or _alternatives(sign) or [sign])
    return "".join(put[one].upper() if sign.isupper() else put[one] for sign, one in zip(value, small, strict=True))


@cache
def _alternatives(sign: str) -> str:
    """Digits, or small letters, that a digit, a letter or a vowel sign may be put for; "" of a sign that stays."""
    if sign.isdecimal():
        zero = ord(sign) - unicodedata.decimal(sign)
        return "".join(map(chr, range(zero, zero + 10)))
    script = _script(sign)
    stock = embedded_toml("names.toml").get(script, {"between": " ", "letters": []})
    plain = unicodedata.normalize("NFD", sign.lower())[0]
    for group in stock["letters"]:
        if plain in group or (not stock["between"] and sign.isalpha()):
            return str(group)
    near = map(chr, range(max(0, ord(sign) - CODE_POINTS_NEAR), ord(sign) + CODE_POINTS_NEAR + 1))
    return "".join(one for one in near if _kind(one) == _kind(sign)) if sign.isalpha() else ""


def _kind(sign: str) -> tuple[str, str, bool]:
    return unicodedata.category(sign), _script(sign), sign.upper() != sign


@cache
def _script(sign: str) -> str:
    return unicodedata.name(sign, "").partition(" ")[0]
