"""How a text is read, sign by sign: what each looks like, and where words end that only look grown together."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple, cast

REMEMBERED = 100_000
"""Texts whose reading is kept: the same names and answers are compared over and over."""
LATIN = re.compile(r"LATIN (?:SMALL )?LETTER (?:[A-Z]+ )*([A-Z])(?: WITH .+)?")
"""What Unicode calls a letter that is a Latin one with a stroke, without its dot, in small capitals and so on."""


def vowel_letter(sign: str) -> str | None:
    """A letter that stands for a sign of Hindi, Thai and others that is no letter to Unicode, and no accent: with
    another vowel it is another word. None for any other sign."""
    if unicodedata.category(sign) not in ("Mn", "Mc") or unicodedata.combining(sign) or INVISIBLE.match(sign):
        return None
    # A rare Chinese sign, which needs no space either, or an Egyptian one: no text has them beside the others.
    return chr(0x20000 + ord(sign)) if UNSPACED.match(sign) else chr(0x13000 + ord(sign) % 0x400)


class LookAlikes(dict[int, int]):
    """For `str.translate`: by letter the Latin one that it looks like, or itself; letters with accents stay. A sign
    that is a vowel of its own is a letter."""

    def __missing__(self, sign: int) -> int:
        if (vowel := vowel_letter(chr(sign))) is not None:
            return self.setdefault(sign, ord(vowel))
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
RARE = frozenset("ѕһԁԛԝӏѵү")
"""Letters of Cyrillic that common words lack."""
SAME = str.maketrans({"\u039c": "M", "\u03f9": "C", "\u03f2": "c"}) | str.maketrans("یىکہةۀ", "ييكههه")
SAME |= str.maketrans("\u0901\u0981\u0a70", "\u0902\u0982\u0a02")
"""Greek letters whose small ones look like other Latin letters, or like none; letters of Arabic that one keyboard has
and another has not; and two signs of Hindi, Bengali and Punjabi for one nasal vowel."""
SILENT = frozenset("\u0903\u0983\u0e4c")
"""Signs that people leave out: a breath of Hindi and Bengali, and of Thai what silences a letter."""
VOICED = "\u3099\u309a"
"""Marks by which one Japanese letter is another one, and no accents."""
ALIKE = SAME | str.maketrans({"_": " ", "\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-"})
INVISIBLE = re.compile(
    "[\u00ad\u034f\u0640\u07fa\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode says is not shown (Default_Ignorable_Code_Point); some of it counts as letters. And what only makes
words of Arabic and N'Ko longer."""
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
ACCENTS, LONG = 30, 1000
"""So many accents a sign may have, in texts that are long."""
DIGIT, PLAIN = "digit", {"digit", "LATIN"}
"""Of plain letters and digits it hangs on how many there are whether they are one word."""


class Sign(NamedTuple):
    """`read`: what a sign is read as, nothing where it is not seen. `kind`: of a letter or digit its script and style:
    two of unlike kinds are no parts of one word; "" of what parts words. `own`: the same where it is not taken for a
    letter of another script."""

    read: str
    kind: str
    own: str


UNREAD = Sign("", "", "")
FOLDED = {"CYRILLIC", "GREEK"}
"""Scripts of whose letters common words are that could be read as Latin ones: `\u0442\u043e\u043c` is `tom`."""


class Reading(NamedTuple):
    """`text`: without case, accents, look-alikes and what is not seen. `places`: where each of its signs stands in the
    text that was read."""

    text: str
    places: Sequence[int]


def one_form(text: str) -> str:
    """One of the ways in which Unicode writes the same: composed, without what is not seen, one kind of apostrophe;
    underscores are spaces, as in titles of encyclopedias."""
    form = unicodedata.normalize("NFKC", few_accents(text)).translate(ALIKE)
    if form.isascii():
        return form
    return "".join(c for c in INVISIBLE.sub("", form) if unicodedata.category(c) != "Cf")


def few_accents(text: str) -> str:
    """Without those that no sign has: to put them in order takes the square of their number."""
    if text.isascii() or len(text) < LONG:
        return text
    found, row = [], 0
    for sign in text:
        row = row + 1 if unicodedata.combining(sign) else 0
        found += [sign] * (row <= ACCENTS)
    return "".join(found)


def plain(text: str, folds_all: bool = False) -> str:
    """A text as it is read: without case, accents, look-alikes and letters that are not seen; digits of any script and
    letters in circles are plain ones, and words that only look grown together are parted.

    Letters that look like Latin ones are read as these, but in words of another script's own, unless `folds_all`.

    Example:
        >>> plain("Rom\u00e8, \U0001f161\U0001f15e\U0001f15c\U0001f154"), plain("Rome2024").split(GROWN)
        ('rome, rome', ['rome', '2024'])
    """
    return reading(text, folds_all).text


@lru_cache(REMEMBERED)
def reading(text: str, folds_all: bool = False) -> Reading:
    """The same, with where each sign stands.

    Example:
        >>> list(reading("R\u00f4\u200bme").places)
        [0, 1, 3, 4]
    """
    signs, places, parted = text.lower(), cast(Sequence[int], range(len(text))), set[int]()
    if not text.isascii():
        found = [
            (at, letter, sign.kind)
            for at, (sign, is_own) in enumerate(_by_word(text))
            for letter in (sign.own if is_own and not folds_all else sign.read)
        ]
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


def _by_word(text: str) -> list[tuple[Sign, bool]]:
    """Each sign, and whether it stands in a word of another script than the Latin one: of its letters alone, in a text
    with letters of it that look like no Latin ones. What is read by people is read as it stands then."""
    signs, before = [*map(_sign, text)], ""
    for at, sign in enumerate(signs):
        # A vowel's sign is read behind a letter of its own script; elsewhere it is a mark.
        if unicodedata.category(text[at])[0] == "M" and sign.kind not in ("", before):
            signs[at] = UNREAD
        elif sign.read:
            before = sign.kind
    scripts = {one.kind for one in signs if one.kind and not one.read.isascii()}
    if not any(one.read != one.own for one in signs) or not scripts:
        return [(one, False) for one in signs]
    found: list[tuple[Sign, bool]] = []
    for of_word, word in groupby(zip(signs, text, strict=True), key=lambda one: bool(one[0].kind or not one[0].read)):
        letters = [*word]
        kinds = {one.kind for one, _ in letters} - {"", DIGIT}
        is_own = of_word and len(kinds) == 1 and kinds <= scripts and RARE.isdisjoint(one.lower() for _, one in letters)
        found += [(one, is_own) for one, _ in letters]
    return found


@lru_cache(REMEMBERED)
def unraised(text: str) -> str:
    """A text without raised and lowered signs, which may stand in and behind the words of a name as marks. As long as
    before.

    Example:
        >>> plain(unraised("Ne\u00b9w\u2122 York\u2460"))
        'new york'
    """
    return text if text.isascii() else "".join(UNSEEN if _is_raised(one) else one for one in text)


@lru_cache(REMEMBERED)
def unmarked(text: str) -> str:
    """The same, and a space for each letter that is read as no Latin one. As long as before.

    Example:
        >>> plain(unmarked("Ne\u00b9w\u2122 York\u3067\u3059"))
        'new york  '
    """
    if text.isascii():
        return text
    found = []
    for sign, (seen, is_own) in zip(text, _by_word(text), strict=True):
        is_latin = not seen.kind or (seen.read.isascii() and not (is_own and seen.read != seen.own))
        found.append(UNSEEN if _is_raised(sign) else sign if is_latin else " ")
    return "".join(found)


def _is_raised(sign: str) -> bool:
    """A mark of a note or a brand."""
    return unicodedata.category(sign) == "No" or _sign(sign).kind.endswith(STYLES[:2])


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
    # What goes round a letter, shows nothing, or is left out.
    if category == "Me" or (category == "Cc" and not sign.isspace()) or sign in SILENT:
        return UNREAD
    if (vowel := vowel_letter(sign.translate(SAME))) is not None:
        return Sign(vowel, name.partition(" ")[0], vowel)
    unfolded = unicodedata.normalize("NFKD", sign).translate(SAME).casefold()
    seen = INVISIBLE.sub("", unicodedata.normalize("NFKD", unfolded))
    own = "".join(one for one in seen if one in VOICED or not unicodedata.combining(one))
    own, read = (unicodedata.normalize("NFC", one) for one in (own, own.translate(LOOK_ALIKES)))
    style = next((one for one in STYLES if unicodedata.decomposition(sign).startswith(one)), "")
    value = unicodedata.numeric(sign, None) if category in ("Nd", "No") else None
    if value is not None and value == int(value) and not read.isascii():
        read = str(int(value))
    elif category == "So" and (letter := LETTER.search(name)):
        read = letter[1].lower()
    elif category == "Lm" and name.startswith("MODIFIER LETTER") and not style:
        read = "'"
    if not any(map(str.isalnum, read)):
        return Sign(read, "", read)
    script = name.partition(" ")[0]
    if read.isdigit():
        return Sign(read, DIGIT + style, read)
    # Clicks and ordinals are no part of a word in Latin letters.
    kind = script + category * (script == "LATIN" and category == "Lo") + style
    return Sign(read, kind, own if script in FOLDED and not style else read)
