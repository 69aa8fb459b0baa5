"""Pages of the books, built as they are published."""

import os
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


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
