"""Names that mean the same: what makes a row another form of a fact, and an answer another spelling of an object."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from uds_bench.facts.letters import (
    ALIKE,
    GROWN,
    LOOK_ALIKES,
    REMEMBERED,
    UNSPACED,
    one_form,
    plain,
    reading,
)
from uds_bench.facts.shown import heard, readings, without_marks

TOKEN = re.compile(r"\d+\.\d+|\w+(?:[-']\w+)*")
"""A token of the audit's normalization: a decimal number, or a word with inner hyphens and apostrophes."""

WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:[-']\w+)*")
FEW_LETTERS, FEW_DIGITS = 3, 3
"""A number of fewer may be a part of another one, as of a date or a decimal."""
LONG = 6
"""Letters and digits that do not stand one after another by chance, across words that say something else."""
SIGN = r"(?:[^\w,()\[\]]|_)"
"""What may stand between letters of one name; a comma parts several things."""
SYLLABLES = re.compile(r"[\u1100-\u11ff\u3400-\u9fff\uac00-\ud7ff\uf900-\ufaff]+")
"""Signs of Chinese and Korean, of which two are a name."""


@lru_cache(REMEMBERED)
def tokens(text: str) -> tuple[str, ...]:
    """A text's tokens in lower case (LMLM audit's normalization); none of signs alone. `.us` and `US` are one."""
    return tuple(TOKEN.findall(one_form(text).casefold().translate(LOOK_ALIKES)))


@lru_cache(REMEMBERED)
def spelled(text: str) -> str:
    """Tokens with one space between them, or the text itself where that leaves nothing to compare."""
    return " ".join(tokens(text)) or one_form(text).strip().casefold()


def holds_one(text: str, names: Iterable[str]) -> bool:
    """Whether a text holds one of the names as whole tokens; the text may hold more, never the other way round."""
    said = tokens(text)
    return any(_held(said, tokens(name)) for name in names)


def tells(text: str, names: Sequence[str]) -> bool:
    """Whether a text holds one of the names, whatever accents it has; a long one also with signs between its letters.

    Example:
        >>> tells("It is Rom\u00e8's.", ["Rome"]), tells("B-o-l-o-g-n-a", ["Bologna"]), tells("to me", ["Tome"])
        (True, True, False)
    """
    wanted = [form for name in names for form in forms(name)]
    return any(_tells(one, name) for one in heard(text) for name in wanted)


@lru_cache(REMEMBERED)
def forms(name: str) -> tuple[str, ...]:
    """A name as it may be written and shown, with all of its letters and digits: `(020)` of a number is no note."""
    composed = unicodedata.normalize("NFC", name)
    whole = bare(html.unescape(composed))
    return tuple(dict.fromkeys([name, composed, *(one for one in readings(composed) if bare(one) == whole)]))


def _tells(text: str, name: str) -> bool:
    folds_all = _folds_all(name)
    if bare(name, folds_all) in bare(text, folds_all):
        ways = [(folds_all, parts) for parts in (True, False)]
        if any(_held(_words(text, *way), _words(name, *way)) for way in ways):
            return True
    return _is_heard_in_pieces(name) and bool(spans(text, name))


def _is_heard_in_pieces(name: str) -> bool:
    """Whether a name is more than a piece of other words: of two letters, or one digit, these are as many as in `it's`,
    `in-depth`, `2e-5`. Chinese and Korean names have two signs."""
    letters, read = bare(name), plain(name)
    fewest = 2 if letters.isdigit() or SYLLABLES.fullmatch(letters) else 3
    return len(letters) >= LONG or (len(letters) >= fewest and not NUMBERS.search(read))


def _folds_all(name: str) -> bool:
    """Whether all letters are read like Latin ones where a name is looked for, also in words of another script: of a
    Latin name they are not, as common words would be names."""
    return not name.isascii()


@lru_cache(REMEMBERED)
def _words(text: str, folds_all: bool, parts: bool) -> tuple[str, ...]:
    """A text's words as it is read, grown together or parted; `1,5` is one."""
    read = plain(text, folds_all).translate(ALIKE)
    return tuple(WORD.findall(read if parts else read.replace(GROWN, "")))


def _held(said: Sequence[str], wanted: Sequence[str]) -> bool:
    width = len(wanted)
    return width > 0 and any(said[at : at + width] == wanted for at in range(len(said) - width + 1))


class Aliases:
    """Which names mean the same, from groups of names that were declared together, the first being the thing's own.

    By what is declared alone, a name's aliases are those of the groups that it stands in. `transitive`: groups that
    share a name are one. `clash` says where, without that, one name stands for two things.
    """

    def __init__(self, groups: Iterable[Sequence[str]], transitive: bool = False) -> None:
        self._names: dict[str, set[str]] = {}
        self._heads: dict[str, set[str]] = {}
        self._shown: dict[str, str] = {}
        for group in groups:
            forms = [spelled(name) for name in group]
            self._shown |= {form: name for form, name in zip(forms, group, strict=True) if form not in self._shown}
            for form in forms:
                self._names.setdefault(form, set()).update(forms)
                self._heads.setdefault(form, set()).add(forms[0])
        if transitive:
            self._close()

    def of(self, name: str) -> frozenset[str]:
        """Every spelling of what a name stands for, the name's own among them, normalized."""
        form = spelled(name)
        return frozenset(self._names.get(form, ())) | {form}

    def meeting(self, names: Iterable[str]) -> frozenset[str]:
        """Every spelling, normalized, that stands for something which one of the names stands for."""
        own = frozenset[str]().union(*map(self.of, names))
        return own.union(*(self._names.get(form, ()) for form in own))

    def clash(self) -> str | None:
        """The first name that was declared of two things which nobody declared alike, as a line; None without one."""
        for name, heads in self._heads.items():
            for one, other in combinations(sorted(heads), 2):
                if other not in self._names[one]:
                    first, second = self._shown[one], self._shown[other]
                    return f"{self._shown[name]!r} names both {first!r} and {second!r}"
        return None

    def _close(self) -> None:
        done: set[str] = set()
        for start in list(self._names):
            if start in done:
                continue
            found, left = {start}, [start]
            while left:
                for name in self._names[left.pop()] - found:
                    found.add(name)
                    left.append(name)
            done |= found
            self._names |= dict.fromkeys(found, found)


NUMBERS = re.compile(r"(?<=\d)\D(?=\d)|(?<!\w)[-\u2212](?=\d)")
"""A sign between two digits, and a minus before one."""


@lru_cache(REMEMBERED)
def normalized(text: str) -> str:
    """Lower case, words of letters and digits with one space between them; letters that look alike are one."""
    return " ".join(re.findall(r"\w+", text.casefold().translate(LOOK_ALIKES)))


def says(text: str, name: str) -> bool:
    """Whether the letters and digits of a name stand one after another in a text, as whole words, however they are
    parted, accented and cased there: a phone number is one with any signs between its digits. Scripts that put no space
    between words have no whole ones."""
    return _place(text, name) is not None


def named(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that a text says, as `says` reads it, each once, in the order in which it says them."""
    places = [(place, name) for name in dict.fromkeys(names) if (place := _place(text, name)) is not None]
    return tuple(name for _, name in sorted(places))


def _place(text: str, name: str) -> int | None:
    places = (spans(one, form) for one in readings(text) for form in forms(name))
    return next((found[0][0] for found in places if found), None)


def spans(text: str, name: str) -> list[tuple[int, int]]:
    """Where a text says a name, as `says` reads it.

    Args:
        text: What may say it.
        name: The name.

    Returns:
        Where each begins and ends, in characters of the text as it is read; none where it is not said.

    Example:
        >>> spans("Rome, it is Rome", "rome"), spans("It is Rome", "Oslo")
        ([(0, 4), (12, 16)], [])
    """
    folds_all = _folds_all(name)
    if not (wanted := bare(name, folds_all)):
        return []
    said = _pattern(tuple(re.findall(r"[^\W_]+", plain(name, folds_all)))).finditer
    places = said(plain(text, folds_all)) if wanted in bare(text, folds_all) else ()
    if found := [one.span() for one in places]:
        return found
    for without in without_marks(text):
        if wanted not in bare(without, folds_all):
            continue
        read, whole = reading(without, folds_all), reading(text, folds_all).places
        ends = [(read.places[one.start()], read.places[one.end() - 1]) for one in said(read.text)]
        if ends:
            return [(bisect_left(whole, first), bisect_right(whole, last)) for first, last in ends]
    return []


@lru_cache(REMEMBERED)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Letters and digits one after another, however they are parted; few of them whole and unparted, but by what parts
    the words of the name, or each by itself by one and the same sign: `is a` says no Isa, nor `J. I. M.` Jim."""
    wanted = "".join(words)
    if len(wanted) >= LONG:
        return _bounded(r"[\W_]*".join(map(re.escape, wanted)), wanted)
    if SYLLABLES.fullmatch(wanted):
        return _bounded(r"[\s\u00b7]?".join(wanted), wanted)
    # `2` is no part of 1.2, a year is one of a date; `Don` is none of don't.
    small = [word.isdigit() and len(word) < FEW_DIGITS for word in (words[0], words[-1])]
    ends = (r"(?<!\d[.,])" * small[0], r"(?![.,]\d)" * small[1] + r"(?!['\u2019]t(?![^\W_]))")
    whole = r"[\W_]*".join(f"{GROWN}?".join(map(re.escape, word)) for word in words).join(ends)
    if len(wanted) < FEW_LETTERS or not wanted.isalpha():
        return _bounded(whole, wanted)
    first, second, *others = map(re.escape, wanted)
    apart = rf"{first}(?P<sign>(?!\. ){SIGN}{{1,3}}){second}" + "".join(f"(?P=sign){other}" for other in others)
    return _bounded(f"(?:{whole}|{apart})", wanted)


def _bounded(pattern: str, wanted: str) -> re.Pattern[str]:
    """What begins and ends as a word does; scripts that put no space between words have none."""
    before, after = (
        "" if UNSPACED.match(sign) else edge
        for sign, edge in ((wanted[0], r"(?<![^\W_])"), (wanted[-1], r"(?![^\W_])"))
    )
    return re.compile(before + pattern + after)


@lru_cache(REMEMBERED)
def bare(text: str, folds_all: bool = False) -> str:
    """Letters and digits alone, without case, accents or signs: `U.S.` is `us`, `Côte_d’Ivoire` is `cotedivoire`."""
    return "".join(sign for sign in plain(text, folds_all) if sign.isalnum())


@lru_cache(REMEMBERED)
def alike(text: str) -> str:
    """The same with the signs that belong to numbers: `1.5 m` is not `15 m`, nor `-5` the same as `5`."""
    read = plain(text)
    return "".join(sign for at, sign in enumerate(read) if sign.isalnum() or NUMBERS.match(read, at))
