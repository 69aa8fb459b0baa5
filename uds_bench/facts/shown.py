"""A text as it may be shown: what a page, a chat, a terminal, LaTeX or a program makes of it, step by step."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import unquote

from uds_bench.facts.letters import REMEMBERED, few_accents, unmarked, unraised

# What a text has that is shown otherwise than it is written, by who shows it, in the order of `STEPS`.
NOTE = re.compile(
    r"\[(?:\^\w{1,12}|\^?(?:note )?\d[\d ,\u2013-]{0,11})\]|\u3010[^\u3011]{1,20}\u3011|\(\d{1,3}\)"
    r"|<(sup|ref)[^<>]*>[^<>]{1,80}</\1>|\$?\^\{?\d{1,3}\}?\$?\^?"
)
# A title of a window has an end nearby: one sought through all of a text, sign by sign, would take its square.
TERMINAL = re.compile(
    r"(?:\x1b|\\(?:033|x1b|u001b|e)|\^\[)(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|[()][0-9A-B]|[78=>])"
    r"|\x9b[0-9;?]*[A-Za-z]|[^\n]\x08|(?-i:\\f[BIRPCW])|[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]",
    re.I,
)
# A line's end and others, as programs write them; before a letter, which else would be grown to it.
PROGRAM = re.compile(r"\\{1,4}(?:[nrtbfv]|0(?![0-7]))(?=[^\W_])")
# A reference to a sign that Python would take a text of any length for, and refuse.
LONG_NUMBER = re.compile(r"&#0*[1-9]\d{7,}")
CODED = re.compile(
    r"\\u\{([0-9A-Fa-f]{1,6})\}|\\u([0-9A-Fa-f]{4,5})|\\U([0-9A-Fa-f]{8})|\\x([0-9A-Fa-f]{2})|\\([0-9A-Fa-f]{6})"
)
OCTAL = re.compile(r"\\([0-3][0-7]{2})")
QUOTED = re.compile(r"(?:%[0-9A-Fa-f]{2})+|(?:=[0-9A-F]{2}){2,}")
TAGGED = {0xE0000 + sign: sign for sign in range(0x20, 0x7F)}
TURNED = re.compile(r"\u202e([^\u202c\n]*)\u202c?|<bdo[^<>]{0,200}rtl[^<>]{0,200}>([^<>]*)</bdo>", re.I)
UNSEEN = re.compile(
    r"<!--(?:[^-]|-(?!->)){0,2000}-->|<(rt|rp|script|style)\b[^<>]*>[^<>]*</\1>"
    r"|<(\w+)[^<>]{0,200}\shidden\b[^<>]{0,200}>[^<>]*</\2>",
    re.I,
)
INLINE = re.compile(r"</?(?:[abiqsu]|em|strong|span|su[bp]|wbr|font|mark|code|small|big)(?:\s[^<>]*)?/?>", re.I)
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
LINKED = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\n]*\)|\[[^\[\]]*\])|\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")
BOARD = re.compile(r"\[/?[A-Za-z]+(?:=[^\[\]]*)?\]|[\[\]]{2}")
STROKE = re.compile(r"\\(o|O|l|L|ae|AE|oe|OE|ss|aa|AA|i|j)(?![A-Za-z])(?:\{\}| )?")
COLOR = re.compile(r"\\(?:text)?color\{[^{}]*\}\{?")
LATEX = re.compile(r"\\[`'^\"~=./-]|(?<=\{)\\[A-Za-z]+ ?|\\[A-Za-z]+(?=\{)|\\[,;!](?=\D)|(?<=\{),(?=\})")
PAIRED = re.compile(
    r"(\*{1,3}|~~|==|\^|'{2,3}|\|\|)(?=\S)(.{1,80}?)(?<=\S)\1|(?<!\w)(_{1,3})(?=\S)(.{1,80}?)(?<=\S)\3(?!\w)"
)
WITHIN = re.compile(r"(?<=[^\W\d_])[*~`^=]+(?=[^\W\d_])|(?<=[^\W_])[-\u2010\u00ad\\]\r?\n[\s>#*/]*(?=[^\W_])")
GROUPED = re.compile(
    r"(?<![\w.,])([1-9]\d{0,2})((?:(?:[ \u00a0\u2000-\u200a\u202f\u060c\u066c\uff0c,.'\u2019\u02bc\u2032_\u00b7]"
    r"|\{,\}|\\,)\d{3})+)(?!\d|e[-+]?\d)"
)
CLAN = re.compile(r"(?:Mc|Mac|De|Di|La|Le|O)$")
"""What a surname with a second capital begins with."""
HALF_WIDTH = re.compile("[\uff65-\uff9f]+")
NESTED = 3
"""How often one way of writing stands within another."""
Step = Callable[[str], str]


def _decoded(text: str) -> str:
    text = html.unescape(LONG_NUMBER.sub("", text)).translate(TAGGED)
    text = QUOTED.sub(lambda found: _unquoted(found[0]), text)
    text = CODED.sub(lambda found: _letter("".join(one or "" for one in found.groups()), 16), text)
    return OCTAL.sub(lambda found: _letter(found[1], 8), text)


def _unquoted(text: str) -> str:
    coded = text.replace("=", "%")
    try:
        shown = unquote(coded, errors="strict")
    except UnicodeDecodeError:
        shown = unquote(coded, "latin-1")
    return shown if shown.isprintable() or "%" in text else text


def _letter(number: str, base: int) -> str:
    return chr(found) if (found := int(number, base)) < 0x110000 else ""


def _composed(text: str) -> str:
    """Letters that are written as several signs, as of Korean and of names of files, and narrow Japanese ones."""
    if text.isascii():
        return text
    text = HALF_WIDTH.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    return unicodedata.normalize("NFC", few_accents(text))


def _linked(text: str) -> str:
    return LINKED.sub(lambda found: found[1] or found[2] or "", text)


def _latex(text: str) -> str:
    text = COLOR.sub("", STROKE.sub(r"\1", text)).replace("}{", "} {")
    return re.sub(r"[{}]", "", LATEX.sub("", text))


def _emphasized(text: str) -> str:
    for _ in range(NESTED):
        text = PAIRED.sub(lambda found: found[2] or found[4], text)
    return WITHIN.sub("", text)


def _in_words(text: str) -> str:
    """Words of several capitals are parted, as in a hashtag or in a name of a program's; not `CPUs`, `PhD`, `McKay`."""
    found, begun = [], 0
    for at in range(1, len(text) - 2):
        before, behind = text[at - 1], text[at + 1 : at + 3]
        begins = behind.isalpha() and (before.islower() or (before.isupper() and behind.islower()))
        if text[at].isupper() and begins and not CLAN.search(text[max(begun, at - 3) : at]):
            found.append(text[begun:at])
            begun = at
    return " ".join([*found, text[begun:]])


STEPS: tuple[tuple[Step, ...], ...] = (
    (_linked,),
    (lambda text: NOTE.sub("", text),),
    (lambda text: TERMINAL.sub("", text),),
    *((_decoded,) for _ in range(NESTED)),
    (lambda text: TURNED.sub(lambda found: (found[1] or found[2] or "")[::-1], text),),
    (lambda text: UNSEEN.sub("", text),),
    (lambda text: TAG.sub(" ", INLINE.sub("", text)), lambda text: TAG.sub("", text)),
    (_linked,),
    (lambda text: BOARD.sub("", text),),
    (_latex,),
    (_emphasized,),
    (lambda text: GROUPED.sub(lambda found: found[1] + re.sub(r"\D", "", found[2]), text),),
    (_in_words,),
)
"""What shows a text, in order; where a step has two ways both are gone."""


@lru_cache(REMEMBERED)
def readings(text: str) -> tuple[str, ...]:
    """The texts that a reader may be shown of one: as it is written, and after each step of what shows it: notes,
    codes of terminals, escapes, HTML, links, LaTeX, emphasis, thousands, and words grown together by capitals.

    A step may lose what it takes for a sign, so that each adds a text and takes none away. The first is the text
    itself, the last what is left when all is shown.

    Example:
        >>> readings("R&ouml;m, <b>Ro</b>me")[-1], readings("**Ro**me, visitRome, 1,924")[-1], readings("Rome")
        ('R\u00f6m, Rome', 'Rome, visit Rome, 1924', ('Rome',))
    """
    composed = _composed(text)
    found = [text]
    for now in dict.fromkeys([composed, PROGRAM.sub(" ", composed)]):
        ways = [now]
        found.append(now)
        for steps in STEPS:
            ways = [*dict.fromkeys(step(way) for step in steps for way in ways)]
            found += ways
    return tuple(dict.fromkeys(found))


@lru_cache(REMEMBERED)
def heard(text: str) -> tuple[str, ...]:
    """The same, each without its marks as well."""
    return tuple(dict.fromkeys(one for way in readings(text) for one in (way, *without_marks(way))))


@lru_cache(REMEMBERED)
def without_marks(text: str) -> tuple[str, ...]:
    """A text without raised signs, and without letters that are read as no Latin one; none where it has neither."""
    return tuple(one for one in dict.fromkeys([unmarked(text), unraised(text)]) if one != text)
