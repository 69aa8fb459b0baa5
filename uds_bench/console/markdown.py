"""Words put into Markdown, of which none becomes markup: pages of releases and of CI jobs show what files say."""

import re

from uds_bench.errors import one_line

MOST = 2_000
"""Characters of a line or a cell."""
_MARKUP = re.compile(r"[\\`*|~]|\](?=[(\[])|<(?=[A-Za-z/!?])|&(?=[#\w])|(?<!\w)_|_(?!\w)")
"""What begins code, emphasis, a cell, a link, a tag or an entity; brackets and bounds, as in `a[b] <= 1`, do not."""


def in_markdown(said: object) -> str:
    r"""What is said, in one line that is shown as it stands.

    Example:
        >>> in_markdown("depth.score[npo] <= 0.7\n# <b>*x*</b>"), in_markdown("")
        ('depth.score[npo] <= 0.7 # \\<b>\\*x\\*\\</b>', '')
    """
    return _MARKUP.sub(r"\\\g<0>", one_line(said, MOST)) if str(said).strip() else ""


def in_code(said: object) -> str:
    """The same as code, in which nothing is markup but the sign that ends it.

    Example:
        >>> in_code("a `b` <c>")
        "`a 'b' <c>`"
    """
    return f"`{one_line(said, MOST).replace('`', chr(39))}`"
