"""Parts of the page that are loaded when they are opened: scripts, as a page opened from a file reads no other file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from uds_bench.storage import write_atomic

FOLDER = "parts"


class PageParts:
    """The parts of one page, by file name. A name holds a digest of what is in it: no page reads another's."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def add(self, name: str, html: str = "", facts: Mapping[str, Any] | None = None) -> str:
        """Keep a part, its markup escaped already, or a table of facts, and return the name of its file."""
        values = json.dumps({"html": html, "facts": facts}, separators=(",", ":"))
        file = f"{name}-{hashlib.sha256(values.encode()).hexdigest()[:12]}.js"
        # Nothing in it ends a script or opens a comment, wherever it may be put.
        self.files[file] = f"udsPart({json.dumps(file)},{values.replace('<', chr(92) + 'u003c')});\n"
        return file

    def write(self, folder: Path) -> None:
        """Write them beside the page that is to name them."""
        for name, text in self.files.items():
            write_atomic(folder / FOLDER / name, text.encode("ascii"))

    def sweep(self, folder: Path) -> None:
        """Remove those of an earlier page, and nothing else that may lie there."""
        for file in (folder / FOLDER).glob("*-*.js"):
            if file.name not in self.files and file.read_bytes().startswith(f'udsPart("{file.name}",'.encode()):
                file.unlink()
