"""Names that look like a name and are nobody's: what a model knows of them it knows of how a name looks (WikiMem,
section 5)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import combinations

from uds_bench.facts.stock_names import names_like

MOST_VARIANTS = 4
"""Variants of a name (ours; the paper gives two as examples)."""


def similar_names(name: str, most: int = MOST_VARIANTS, own: Sequence[str] = ()) -> tuple[str, ...]:
    """Up to `most` names that look like one: `variants` of its letters, then others of its script and its shape.

    The same name has the same ones. `own`: names that the user has listed, which go before those that are built in.

    Example:
        >>> similar_names("Jane Doe", 2), len(similar_names("李明"))
        (('Enaj Doe', 'Jane Eod'), 4)
    """
    found = variants(name)
    more = names_like(name, most, own) if len(found) < most else ()
    return tuple(dict.fromkeys([*found, *more]))[:most]


def variants(name: str) -> tuple[str, ...]:
    """Names of the same letters, first those with one part changed, then two and so on.

    A part is changed by writing its letters backwards and giving capitals the places that they had: `Jane Doe` has
    `Enaj Doe` and `Jane Eod`. A part that reads the same backwards has its letters moved round by one instead; one
    that stays the same even so, such as a single letter, is left. What Unicode joins to a letter stays with it. A name
    of which no part changes has none; none is the name itself.
    """
    parts = name.split()
    changed = [_changed(part) for part in parts]
    movable = [at for at, (part, other) in enumerate(zip(parts, changed, strict=True)) if part != other]
    found: dict[str, None] = {}
    for count in range(1, len(movable) + 1):
        for chosen in combinations(movable, count):
            found[" ".join(changed[at] if at in chosen else part for at, part in enumerate(parts))] = None
    for turn in range(2, max((len(_letters(part)) for part in parts), default=0)):
        for at in movable:
            other = _capitals(_turned(_letters(parts[at]), turn), parts[at])
            found[" ".join([*parts[:at], other, *parts[at + 1 :]])] = None
    return tuple(variant for variant in found if variant != " ".join(parts))


def _changed(part: str) -> str:
    letters = _letters(part)
    backwards = _capitals(letters[::-1], part)
    return backwards if backwards != part else _capitals(_turned(letters, 1), part)


def _turned(letters: list[str], by: int) -> list[str]:
    return letters[by:] + letters[:by]


def _letters(part: str) -> list[str]:
    """Letters with what is joined to each, marks and joiners."""
    found: list[str] = []
    for sign in part:
        joined = unicodedata.combining(sign) or unicodedata.category(sign) in ("Mn", "Mc", "Me", "Cf")
        if found and (joined or found[-1].endswith("\u200d")):
            found[-1] += sign
        else:
            found.append(sign)
    return found


def _capitals(letters: list[str], as_in: str) -> str:
    """Letters with capitals where another word of as many has them."""
    shape = [letter[0].isupper() for letter in _letters(as_in)]
    return "".join(_cased(letter, up) for letter, up in zip(letters, shape, strict=True))


def _cased(letter: str, up: bool) -> str:
    """A letter as a capital or as a small one, or as it is where that would be another letter (dotless i) or two."""
    other = letter.upper() if up else letter.lower()
    same = other.casefold() == letter.casefold() and (not up or len(other) == len(letter))
    return other if same else letter
