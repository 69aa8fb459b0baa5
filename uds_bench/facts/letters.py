"""How a text is read, sign by sign: what each looks like, and where words end that only look grown together."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, cast

REMEMBERED = 100_000
"""Texts whose reading is kept: the same names and answers are compared over and over."""
LATIN = re.compile(r"LATIN (?:SMALL )?LETTER (?:[A-Z]+ )*([A-Z])(?: WITH .+)?")
"""What Unicode calls a letter that is a Latin one with a stroke, without its dot, in small capitals and so on."""


class LookAlikes(dict[int, int]):
    """For `str.translate`: by letter the Latin one that it looks like, or itself; letters with accents stay."""

    def __missing__(self, sign: int) -> int:
        latin = None if unicodedata.decomposition(chr(sign)) else LATIN.fullmatch(unicodedata.name(chr(sign), ""))
        return self.setdefault(sign, ord(latin[1].lower()) if latin else sign)


SCRIPTS = {
    "аеорсухіјѕһԁԛԝкмтвнӏѵүгп": "aeopcyxijshdqwkmtbhlvyrn",
    "αβεηικνορτυχζσμ": "abehiknoptyxzou",
    "ɑɡ": "ag",
    "օսհոցզյռ": "ouhngqjn",
    "ⲟⲣⲥ": "opc",
    "ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᏃ": "abcdeghijklmprstvwz",
    "ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ": "abcdefghijklmnoprstuvwxyz",
}
"""Letters of Cyrillic, Greek, phonetics, Armenian, Coptic, Cherokee and Lisu, as `casefold` leaves them, that look like
Latin ones in one case or the other."""
LOOK_ALIKES = LookAlikes(pair for letters in SCRIPTS.items() for pair in str.maketrans(*letters).items())
"""A name in which one letter stands for another is still read as the name, by people and by models."""
CAPITALS = str.maketrans({"\u039c": "M", "\u03f9": "C", "\u03f2": "c"})
"""Greek letters whose small ones look like other Latin letters, or like none."""
VOICED = "\u3099\u309a"
"""Marks by which one Japanese letter is another one, and no accents."""
ALIKE = CAPITALS | str.maketrans({"_": " ", "\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-"})
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode says is not shown (Default_Ignorable_Code_Point); some of it counts as letters."""
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]"
)
"""Letters of Thai, Lao, Burmese, Khmer, Japanese, Chinese and Korean, whose words, or what is put to a name, follow one
another without a space."""
GROWN = "\x1f"
"""Stands where a word ends though no space does: between two signs of unlike kinds, as in `Rome\u2122` or `Rome2`."""
UNSEEN = "\u200b"
"""Is read as nothing."""
LETTER = re.compile(r" LETTER ([A-Z])$")
"""What Unicode calls a letter in a black circle or square, and of a flag."""
STYLES = ("<super>", "<sub>", "<circle>", "<square>", "<font>", "<wide>")
LETTERS = r"[^\W\d_]"
DIGIT_TO_LETTER = re.compile(
    rf"(?<={LETTERS}{{3}})(?=\d)|(?<=\d)(?={LETTERS}{{3}})|(?<={LETTERS})(?=\d{{3}})|(?<=\d{{3}})(?={LETTERS})"
)
"""Where a word meets a number; `A4`, `mp3` and `10th` are one."""
DIGIT, PLAIN = "digit", {"digit", "LATIN"}
"""Of plain letters and digits it hangs on how many there are whether they are one word."""


class Sign(NamedTuple):
    """`read`: what a sign is read as, nothing where it is not seen. `kind`: of a letter or digit its script and style:
    two of unlike kinds are no parts of one word; "" of what parts words."""

    read: str
    kind: str


class Reading(NamedTuple):
    """`text`: without case, accents, look-alikes and what is not seen. `places`: where each of its signs stands in the
    text that was read."""

    text: str
    places: Sequence[int]


def one_form(text: str) -> str:
    """One of the ways in which Unicode writes the same: composed, without what is not seen, one kind of apostrophe;
    underscores are spaces, as in titles of encyclopedias."""
    form = unicodedata.normalize("NFKC", text).translate(ALIKE)
    if form.isascii():
        return form
    return "".join(c for c in INVISIBLE.sub("", form) if unicodedata.category(c) != "Cf")


def plain(text: str) -> str:
    """A text as it is read: without case, accents, look-alikes and letters that are not seen; digits of any script and
    letters in circles are plain ones, and words that only look grown together are parted.

    Example:
        >>> plain("Rom\u00e8, \U0001f161\U0001f15e\U0001f15c\U0001f154"), plain("Rome2024").split(GROWN)
        ('rome, rome', ['rome', '2024'])
    """
    return reading(text).text


@lru_cache(REMEMBERED)
def reading(text: str) -> Reading:
    """The same, with where each sign stands.

    Example:
        >>> list(reading("R\u00f4\u200bme").places)
        [0, 1, 3, 4]
    """
    signs, places, parted = text.lower(), cast(Sequence[int], range(len(text))), set[int]()
    if not text.isascii():
        found = [(at, letter, kind) for at, (read, kind) in enumerate(map(_sign, text)) for letter in read]
        signs, places = "".join(letter for _, letter, _ in found), [at for at, _, _ in found]
        unlike = ((at, one[2], other[2]) for at, (one, other) in enumerate(pairwise(found), 1))
        parted = {at for at, one, other in unlike if one and other and one != other and {one, other} != PLAIN}
    parted |= {met.start() for met in DIGIT_TO_LETTER.finditer(signs)}
    if not parted:
        return Reading(signs, places)
    cuts = [0, *sorted(parted), len(signs)]
    shown, where = [signs[one:other] for one, other in pairwise(cuts)], array("I", places[: cuts[1]])
    for one, other in pairwise(cuts[1:]):
        where.append(places[one])
        where.extend(places[one:other])
    return Reading(GROWN.join(shown), where)


@lru_cache(REMEMBERED)
def unmarked(text: str) -> str:
    """A text without raised and lowered signs, which may stand in and behind the words of a name as marks; and a space
    for each letter that is read as no Latin one. As long as before.

    Example:
        >>> plain(unmarked("Ne\u00b9w\u2122 York\u3067\u3059"))
        'new york  '
    """
    return text if text.isascii() else "".join(map(_unmarked, text))


def _unmarked(sign: str) -> str:
    read, kind = _sign(sign)
    if kind.endswith(STYLES[:2]):
        return UNSEEN
    return sign if not kind or read.isascii() else " "


def spelling(text: str) -> tuple[str, ...]:
    """In which kinds of letters and digits a text is written, and whether signs that are not seen stand in it.

    Example:
        >>> spelling("Rome"), spelling("R\u043eme\u200b")
        (('LATIN',), ('CYRILLIC', 'LATIN', 'hidden'))
    """
    found = [_sign(sign) for sign in text]
    return *sorted({one.kind for one in found if one.kind}), *["hidden"] * any(not one.read for one in found)


@lru_cache(REMEMBERED)
def _sign(sign: str) -> Sign:
    category, name = unicodedata.category(sign), unicodedata.name(sign, "")
    if category == "Me":  # what goes round the letter before
        return Sign("", "")
    unfolded = unicodedata.normalize("NFKD", sign).translate(CAPITALS).casefold()
    seen = INVISIBLE.sub("", unicodedata.normalize("NFKD", unfolded))
    read = "".join(one for one in seen if one in VOICED or not unicodedata.combining(one)).translate(LOOK_ALIKES)
    read = unicodedata.normalize("NFC", read)
    style = next((one for one in STYLES if unicodedata.decomposition(sign).startswith(one)), "")
    value = unicodedata.numeric(sign, None) if category in ("Nd", "No") else None
    if value is not None and value == int(value) and not read.isascii():
        read = str(int(value))
    elif category == "So" and (letter := LETTER.search(name)):
        read = letter[1].lower()
    elif category == "Lm" and name.startswith("MODIFIER LETTER") and not style:
        read = "'"
    if not any(map(str.isalnum, read)):
        return Sign(read, "")
    script = name.partition(" ")[0]
    if read.isdigit():
        return Sign(read, DIGIT + style)
    # Clicks and ordinals are no part of a word in Latin letters.
    return Sign(read, script + category * (script == "LATIN" and category == "Lo") + style)
