"""The tutorial of the first gate, as it stands: its manifest, its command, and the lines that it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorials" / "first_gate.md").read_text()
FIGURES = re.compile(r"\d+\.\d+")


def blocks(kind: str) -> list[str]:
    return [
        text
        for found, text in re.findall(r"^```(\w*)\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
        if found == kind
    ]


def alike(line: str) -> str:
    """A line without its figures, whose last digit follows the processor."""
    return FIGURES.sub("#", " ".join(line.split()))


def test_the_tutorial_shows_what_its_reader_sees(tmp_path: Path, authors_cache: dict[str, str]) -> None:
    (tmp_path / "suites").symlink_to(ROOT / "suites")
    (manifest,) = blocks("toml")
    (tmp_path / "uds.toml").write_text(manifest)
    command = next(block for block in blocks("bash") if block.startswith("pytest suites/"))
    words = [sys.executable, "-m", *shlex.split(command), "--rootdir", str(tmp_path), "-p", "no:cacheprovider"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=authors_cache, check=False)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    said = {alike(line).replace(str(tmp_path) + "/", "") for line in ran.stdout.splitlines()}
    (shown,) = blocks("")
    lines = [line for line in shown.splitlines() if line]
    assert len(lines) == 12
    assert [line for line in lines if alike(line) not in said] == []
    assert (tmp_path / "report" / "index.html").is_file()
