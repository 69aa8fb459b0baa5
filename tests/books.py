"""Pages of the books: the code on them, and how they are built as they are published."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
FENCED = re.compile(r"(?:<!-- (not run|slow): (\S[^>]*?) -->\s*)?^( *)```(\S*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.M)


@dataclass(frozen=True)
class Block:
    """Code on a page. `before`: the page between it and the code before it. `mark`: `not run`, or `slow` where the slow
    tests alone run it; `reason` says why."""

    language: str
    text: str
    before: str = ""
    mark: str = ""
    reason: str = ""


def name_of(page: Path) -> str:
    """A page as the tests call it."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[Block]:
    """The code of a page in its order, but for what is filled in when the books are built.

    An HTML comment before it, which no reader sees, marks what is not run.
    """
    whole, end = page.read_text(), 0
    for found in FENCED.finditer(whole):
        mark, reason, indent, language, text = (part or "" for part in found.groups())
        if not language.startswith("{"):
            plain = re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)
            yield Block(language, plain, whole[end : found.start()], mark, " ".join(reason.split()))
        end = found.end()


def build_page(page: str, folder: Path) -> str:
    """The HTML of one page of `docs/`, built alone; links to other pages are not followed."""
    source, built = folder / "source", folder / "built"
    source.mkdir()
    (source / "index.md").write_text((DOCS / page).read_text())
    without = ("-D", "html_extra_path=", "-D", "suppress_warnings=myst.header,myst.xref_missing")
    words = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "-q",
        "-b",
        "html",
        "-c",
        str(DOCS),
        *without,
        str(source),
        str(built),
    ]
    ran = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert ran.returncode == 0, ran.stderr
    return (built / "index.html").read_text()
