"""A text as it is shown: what a page, a browser or LaTeX makes of it."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from urllib.parse import unquote

from uds_bench.facts.letters import REMEMBERED

WRITTEN = re.compile(r"[&<%\\*`~|#@]|-\n|\d[,'\u2019\u2009\u202f]\d")
"""What a text has that is written otherwise than it is shown."""
INLINE = re.compile(r"</?(?:[abiqsu]|em|strong|span|su[bp]|wbr|font|mark|code|small|big)(?:\s[^<>\n]{0,80})?/?>", re.I)
TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,80}>")
QUOTED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
CODED = re.compile(r"\\u\{?([0-9A-Fa-f]{4,5})\}?|\\x([0-9A-Fa-f]{2})")
LATEX = re.compile(r"\\(?:[`'^\"~=.]|[A-Za-z]+(?=\{))|[{}]")
WITHIN = re.compile(r"(?<=[^\W_])[*~`|]{1,3}(?=[^\W_])|(?<=[^\W_])-\n\s*(?=[a-z])")
GROUPED = re.compile(r"(?<=\d)[,'\u2019\u2009\u202f](?=\d{3}(?!\d))")
HASHTAG = re.compile(r"[#@]\w+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
NESTED = 3
"""How often one way of writing stands within another."""


@lru_cache(REMEMBERED)
def rendered(text: str) -> str:
    """A text as a reader is shown it: HTML, URLs, escapes, LaTeX, emphasis within words and hyphens at a line's end are
    resolved, thousands are not parted, and words of a hashtag are.

    It may lack what stands in a tag or a command: names are looked for in the text as it is written too.

    Example:
        >>> rendered("R&ouml;m, <b>Ro</b>me, %52ome"), rendered("**Ro**me, #VisitRome, 1,924")
        ('R\u00f6m, Rome, Rome', '**Rome, #Visit Rome, 1924')
    """
    if not WRITTEN.search(text):
        return text
    for _ in range(NESTED):
        before = text
        text = TAG.sub(" ", INLINE.sub("", html.unescape(text)))
        text = QUOTED.sub(lambda found: unquote(found[0], errors="replace"), text)
        text = CODED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
        if text == before:
            break
    text = LATEX.sub("", text) if "\\" in text else text
    text = GROUPED.sub("", WITHIN.sub("", text))
    return HASHTAG.sub(lambda found: CAMEL.sub(" ", found[0]), text)
