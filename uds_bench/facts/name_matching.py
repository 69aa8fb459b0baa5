"""Names that mean the same: what makes a row another form of a fact, and an answer another spelling of an object."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from uds_bench.facts.letters import (
    GROWN,
    LOOK_ALIKES,
    REMEMBERED,
    UNSPACED,
    one_form,
    plain,
    reading,
    unmarked,
)
from uds_bench.facts.shown import rendered

TOKEN = re.compile(r"\d+\.\d+|\w+(?:[-']\w+)*")
"""A token of the audit's normalization: a decimal number, or a word with inner hyphens and apostrophes."""

FEW_DIGITS = 3
"""A number of fewer may be a part of another one, as of a date or a decimal."""
LONG = 6
"""Letters and digits that do not stand one after another by chance, across words that say something else."""


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
    shown, listed = rendered(text), [*map(rendered, names)]
    return any(_tells(one, listed) for one in dict.fromkeys([text, shown, unmarked(shown)]))


def _tells(text: str, names: Sequence[str]) -> bool:
    if holds_one(text, names) or holds_one(plain(text), map(plain, names)):
        return True
    return any(bool(spans(text, name)) if len(bare(name)) >= LONG else _says_short(text, name) for name in names)


def _says_short(text: str, name: str) -> bool:
    """Whether a text says a name whose letters may stand one after another by chance: whole and unparted, but by what
    parts its words."""
    words = tuple(re.findall(r"[^\W_]+", plain(name)))
    # Of two letters, or one digit, pieces of other words are as many: `it's`, `in-depth`, `2e-5`.
    if len("".join(words)) < (2 if "".join(words).isdigit() else 3) or NUMBERS.search(plain(name)):
        return False
    return bool(_whole(words).search(plain(text)))


@lru_cache(REMEMBERED)
def _whole(words: tuple[str, ...]) -> re.Pattern[str]:
    # `2` is no part of 1.2, a year is one of a date; `Don` is none of don't.
    small = [word.isdigit() and len(word) < FEW_DIGITS for word in (words[0], words[-1])]
    ends = (r"(?<!\d[.,])" * small[0], r"(?![.,]\d)" * small[1] + r"(?!['\u2019]t(?![^\W_]))")
    wanted = r"[\W_]+".join(f"{GROWN}?".join(map(re.escape, word)) for word in words)
    return _bounded(wanted.join(ends), words[0][0], words[-1][-1])


def _bounded(wanted: str, first: str, last: str) -> re.Pattern[str]:
    """What begins and ends as a word does; scripts that put no space between words have none."""
    before, after = (
        "" if UNSPACED.match(sign) else edge for sign, edge in ((first, r"(?<![^\W_])"), (last, r"(?![^\W_])"))
    )
    return re.compile(before + wanted + after)


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
    # As it is written first: what is shown may leave out what stands in a tag.
    found = spans(text, name) or spans(rendered(text), rendered(name))
    return found[0][0] if found else None


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
    if not (wanted := bare(name)):
        return []
    if wanted in bare(text) and (found := [one.span() for one in _spoken(wanted).finditer(plain(text))]):
        return found
    words = unmarked(text)
    if words == text or wanted not in bare(words):
        return []
    read, places = reading(words), reading(text).places
    ends = ((read.places[one.start()], read.places[one.end() - 1]) for one in _spoken(wanted).finditer(read.text))
    return [(bisect_left(places, first), bisect_right(places, last)) for first, last in ends]


@lru_cache(REMEMBERED)
def _spoken(wanted: str) -> re.Pattern[str]:
    """Letters and digits one after another, however they are parted."""
    return _bounded(r"[\W_]*".join(map(re.escape, wanted)), wanted[0], wanted[-1])


@lru_cache(REMEMBERED)
def bare(text: str) -> str:
    """Letters and digits alone, without case, accents or signs: `U.S.` is `us`, `Côte_d’Ivoire` is `cotedivoire`."""
    return "".join(sign for sign in plain(text) if sign.isalnum())


@lru_cache(REMEMBERED)
def alike(text: str) -> str:
    """The same with the signs that belong to numbers: `1.5 m` is not `15 m`, nor `-5` the same as `5`."""
    read = plain(text)
    return "".join(sign for at, sign in enumerate(read) if sign.isalnum() or NUMBERS.match(read, at))
