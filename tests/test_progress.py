"""Bars are for terminals: they leave no line there, and nothing in a log but where a command asks for lines."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import nullcontext

import pytest
from rich.console import Console

from uds_bench.progress import LoggedConsole, bar, below, watched


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(file: io.StringIO) -> str:
    """What a bar writes from beginning to end, after half a line of eight characters."""
    with below(Console(file=file, force_terminal=True, width=80), 8) as console, bar(console) as progress:
        progress.update(progress.add_task("scoring", total=2), completed=2)
    return file.getvalue()


@pytest.mark.parametrize("colours", ["", "1"])
def test_a_log_stays_quiet(colours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", colours)
    assert shown(io.StringIO()) == ""


def test_a_terminal_shows_it_below_the_line_and_wipes_it_afterwards() -> None:
    text = shown(Terminal())
    assert text.startswith("\n")
    assert "scoring" in text
    assert text.endswith("\x1b[1A\x1b[2K\x1b[9G\x1b[1A")


def asked(file: io.StringIO, groups: int) -> str:
    """What is written while so many models are asked, each in two steps."""
    console = Console(file=file, force_terminal=True, width=80)
    with watched("scoring", groups, lambda: nullcontext(console), 3), watched("asking full", 2) as advance:
        advance(1)
        advance(1)
    return file.getvalue()


def test_few_groups_show_their_steps_in_the_place_of_a_bar_and_many_have_one() -> None:
    few, many = asked(Terminal(), 2), asked(Terminal(), 3)
    assert ("asking full" in few, "2/2" in few, "scoring" in few) == (True, True, False)
    assert ("scoring" in many, "asking full" in many) == (True, False)
    assert asked(io.StringIO(), 2) == ""


def test_the_log_of_a_long_command_has_a_line_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 25))  # each look at the clock is 25 seconds after the last one
    monkeypatch.setattr("uds_bench.progress.monotonic", lambda: next(clock))
    file = io.StringIO()
    console = LoggedConsole(file=file)
    for model in ("full", "npo"):
        with watched("scoring", 2, lambda: nullcontext(console), 3), watched(f"asking {model}", 4) as advance:
            for _ in range(4):
                advance(1)
    assert file.getvalue().splitlines() == [
        "asking full: 2 of 4, 0:00:50 left",
        "asking npo: 1 of 4, 0:01:15 left",
        "asking npo: 4 of 4, 0:00:00 left",
    ]
    terminal = Terminal()
    console = LoggedConsole(file=terminal, force_terminal=True, width=80)
    with watched("asking full", 4, lambda: nullcontext(console)) as advance:
        advance(4)
    assert "\x1b[2K" in terminal.getvalue(), "a terminal has the bar"


def test_without_a_console_there_is_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with watched("asking full", 2) as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")


SAYS_NOTHING = """
import warnings
from uds_bench.errors import UdsWarning
from uds_bench.progress import hush_process
hush_process()
warnings.warn("theirs", FutureWarning)
warnings.warn("ours", UdsWarning)
import tqdm
list(tqdm.tqdm(range(3)))
"""


def test_a_process_beside_says_nothing_but_ours() -> None:
    done = subprocess.run([sys.executable, "-c", SAYS_NOTHING], capture_output=True, text=True, check=True)
    assert "UdsWarning: ours" in done.stderr
    assert "theirs" not in done.stderr
    assert "%|" not in done.stderr
