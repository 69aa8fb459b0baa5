"""What all commands share: errors as one line, pytest's exit codes, help that ends in an example, tables."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, NoReturn, TypeVar

import typer
from typer.core import TyperGroup

from uds_bench.console.lines import say
from uds_bench.errors import NO_ROOM, ConfigurationError, StoreError, UdsError, one_line, unwritten

FAILED, FAULT, CONFIGURATION, NOTHING = 1, 3, 4, 5
"""Exit codes as pytest has them: not all came out; a fault of ours; something is configured wrongly; there was nothing
to look at."""
TRACEBACK = "UDS_BENCH_TRACEBACK"
"""The variable that, set to anything, shows where a fault is."""
UNEXPECTED = "a fault of uds-bench, or a file that it did not expect"
_USAGE = 2
USAGE: Any = typer.BadParameter.__base__
"""What a command line that cannot be read raises; typer has no other public name for it."""
ABSENT = "–"
Command = TypeVar("Command", bound=Callable[..., None])
EXAMPLES: dict[Callable[..., None], str] = {}


class Commands(TyperGroup):
    """A group of commands in which whatever the user can mend ends in a line a cause on stderr and exit 4, and whatever
    else goes wrong in one line and exit 3."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a command; what goes wrong ends it in lines."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # half a character of a file is spelled out, and ends nothing
                with suppress(OSError):  # it was opened on a file and has become a pipe since
                    stream.reconfigure(errors="backslashreplace")
        try:
            with warnings.catch_warnings():
                # What a library says of its own next version is nobody's here to mend, and stands above our tables.
                warnings.simplefilter("ignore", FutureWarning)
                return super().main(*args, **kwargs)
        except (UdsError, OSError) as error:
            end(error)
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            told = f"{type(error).__name__}: {one_line(error)}"
            say(f"uds-bench: error: {told}: {UNEXPECTED}: {TRACEBACK}=1 shows where", err=True)
            raise SystemExit(FAULT) from None
        except SystemExit as ended:
            raise SystemExit(CONFIGURATION if ended.code == _USAGE else ended.code) from None

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Reads a command line up to its command."""
        with _one_line_of_usage():
            return super().make_context(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Reads the rest and runs the command."""
        with _one_line_of_usage():
            return super().invoke(*args, **kwargs)


@contextmanager
def _one_line_of_usage() -> Iterator[None]:
    """A command line that cannot be read is a line as well; help, which is given to who says nothing, is not."""
    try:
        yield
    except USAGE as error:
        problem = str(error.format_message())
        if "\n" in problem:
            raise
        command = getattr(error.ctx, "command_path", "uds-bench")
        end(ConfigurationError(f"{problem.rstrip('.')} (see {command} --help)"))


def end(error: Exception) -> NoReturn:
    """A line a cause on stderr, and exit 4; exit 1 for a disk that is full, with which no option is wrong."""
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        error = unwritten(error.filename or "a file", error)
    for cause in error.causes if isinstance(error, UdsError) else [error]:
        say(f"uds-bench: error: {cause}", err=True)
    raise SystemExit(FAILED if isinstance(error, StoreError) else CONFIGURATION) from None


def new_app(text: str, command: str) -> typer.Typer:
    """An app whose help is plain text, to be copied and piped, and ends in an example."""
    return typer.Typer(
        cls=Commands,
        help=text,
        epilog=example(command),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    )


def show_version(asked: bool) -> None:
    """What `--version` prints."""
    if asked:
        from uds_bench import __version__

        say(f"uds-bench {__version__}")
        raise typer.Exit()


def example(command: str) -> str:
    r"""The end of a command's help; `\b` keeps its lines as they are."""
    return f"\b\nExample:\n  {command}"


def ends(command: str) -> Callable[[Command], Command]:
    """The example that a command's help ends in, for commands that are put on the command line elsewhere."""

    def kept(function: Command) -> Command:
        EXAMPLES[function] = command
        return function

    return kept


def add(app: typer.Typer, name: str, function: Callable[..., None]) -> None:
    """Put a command on the command line, with the example that `ends` kept."""
    app.command(name, epilog=example(EXAMPLES[function]))(function)


def show_number(value: float | None, sign: str = "") -> str:
    """A number with three places, or a dash."""
    return ABSENT if value is None else f"{value:{sign}.3f}"


def show_interval(bounds: Sequence[float] | None, sign: str = "") -> str:
    """An interval with three places, or a dash."""
    return ABSENT if bounds is None else f"{bounds[0]:{sign}.3f}..{bounds[1]:{sign}.3f}"
