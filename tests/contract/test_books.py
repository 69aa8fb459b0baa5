"""What the books make of the code: every command with every option."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from books import build_page
from typer.main import get_command

from uds_bench.cli import main


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The commands that do something, by all their words."""
    for word, one in getattr(command, "commands", {}).items():
        yield from leaves(one, f"{name} {word}") if getattr(one, "commands", None) else [(f"{name} {word}", one)]


def test_every_command_stands_there_with_every_option_and_its_example(tmp_path: Path) -> None:
    made = html.unescape(re.sub(r"<[^>]+>", "", build_page("reference/command_line.md", tmp_path)))
    found = dict(leaves(get_command(main), "uds-bench"))
    listed: list[str] = []
    for name, command in found.items():
        _, _, after = made.partition(f"\n{name}#\n")
        part = re.split(r"\nuds-bench [^\n]*#\n", after)[0]
        options = [option for one in command.params for option in one.opts if option.startswith("--")]
        assert [option for option in (*options, "--help") if option not in part] == [], name
        listed += options
        _, _, example = command.epilog.partition("Example:\n")
        assert " ".join(example.split()) in " ".join(part.split()), name
    assert len(found) > 25
    assert len(listed) > 80
