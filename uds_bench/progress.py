"""What a terminal shows while something takes long: one bar of ours, and no chatter of the libraries."""

from __future__ import annotations

import logging
import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import timedelta
from time import monotonic
from typing import Any

from rich.console import Console
from rich.control import Control
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from uds_bench.errors import UdsWarning

EVERY = 60.0
"""Seconds between two lines of progress in a log."""


def bar(console: Console) -> Progress:
    """A progress bar that leaves no line behind, and none at all in a log.

    The file is asked and not the console: a log that takes colours (FORCE_COLOR) is a terminal to rich.
    """
    left = TimeRemainingColumn(elapsed_when_finished=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), left
    return Progress(*columns, console=console, transient=True, disable=not console.file.isatty())


class LoggedConsole(Console):
    """A console of a command that says nothing until it is done: its log gets a line of progress once a minute."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._written_at = monotonic()

    def lines(self, text: str, total: int) -> Callable[[int], None]:
        """A function that advances the steps. If the last line is `EVERY` seconds old, it writes how many are done, and
        about how long the others take."""
        done, started = 0, monotonic()

        def advance(by: int) -> None:
            nonlocal done
            done += by
            if (now := monotonic()) - self._written_at >= EVERY and done:
                self._written_at = now
                left = timedelta(seconds=math.ceil((total - done) * (now - started) / done))
                self.print(f"{text}: {done} of {total}, {left} left", markup=False, highlight=False, soft_wrap=True)

        return advance


OpenConsole = Callable[[], AbstractContextManager[Console]]
_free: Console | None = None
"""A console without a bar: work inside an outer step may show a bar on it."""


@contextmanager
def watched(
    text: str, total: int, open_console: OpenConsole | None = None, least: int = 1
) -> Iterator[Callable[[int], None]]:
    """A bar over the steps of what takes long, or in the log of a `LoggedConsole` lines; yields what advances it.

    Args:
        text: What is done.
        total: How many steps it takes; fewer than `least` have no bar, and each may show its own steps.
        open_console: Opens the console. Without it, the bar is on the console that the outer step left free, if any.
        least: Steps that are worth a bar.
    """
    global _free
    before = _free
    with ExitStack() as stack:
        console = before
        if open_console is not None:
            console = stack.enter_context(open_console())
            hush()
        try:
            if console is None or total < least:
                _free = console
                yield lambda by: None
                return
            _free = None
            if isinstance(console, LoggedConsole) and not console.file.isatty():
                yield console.lines(text, total)
                return
            progress = stack.enter_context(bar(console))
            task = progress.add_task(text, total=total)
            yield lambda by: progress.advance(task, by)
        finally:
            _free = before


@contextmanager
def below(console: Console, column: int) -> Iterator[Console]:
    """A console for bars on the line below one that is half written, up to `column`, and goes on afterwards.

    A bar wipes its line when it is done, and on the same line it would wipe the half as well.
    """
    if not console.file.isatty():
        yield console
        return
    console.line()
    try:
        yield console
    finally:
        console.control(Control.move_to_column(column, -1))


def hush() -> None:
    """No bars and no remarks of the library's own from here on."""
    import transformers

    chatter: Any = transformers.utils.logging
    chatter.disable_progress_bar()
    chatter.set_verbosity_error()


@contextmanager
def hushed() -> Iterator[None]:
    """Silence the library inside the block: its remarks repeat what strangers wrote, control characters and all."""
    import transformers

    chatter: Any = transformers.utils.logging
    before = chatter.get_verbosity()
    chatter.set_verbosity(logging.CRITICAL)
    try:
        yield
    finally:
        chatter.set_verbosity(before)


def hush_process() -> None:
    """Set up a process that works beside the one that the user sees: it says nothing but what we warn of."""
    os.environ["TQDM_DISABLE"] = "1"
    hush()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    warnings.simplefilter("default", UdsWarning)
