"""What can go wrong, one clear line each: what, where (file, key, line), what to do."""

import errno
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

MESSAGE_LENGTH = 500
"""The most characters of a message."""
_COMMAND = re.compile(r"(?<!\S)::(?=\w)|##(?=\w*\[)")
"""Text that CI systems would take for a command in the log of a job, such as `::error::` and `##[error]`."""

_BREAK = re.compile(r"(?<! ) *[^\S ]\s*")
"""White space that is more than spaces. A message may speak of plain spaces, such as two in a name."""


def printable(said: object) -> str:
    """A text on one line: characters that do not print are spelled out, and commands to CI are broken up."""
    line = _BREAK.sub(" ", str(said)).strip()
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    return _COMMAND.sub(lambda found: " ".join(found[0]), shown)


def one_line(said: object, most: int = 240) -> str:
    """The same, of at most `most` characters: cut in the middle, as its end says what to do."""
    text = str(said)
    if len(text) > 4 * most:
        text = f"{text[: 2 * most]} ... {text[-2 * most :]}"
    text = printable(text) or type(said).__name__
    end = most // 3
    return text if len(text) <= most else f"{text[: most - end - 5]} ... {text[-end:]}"


class UdsError(Exception):
    """Base of every error that the user can mend; each of its arguments is one cause."""

    @property
    def causes(self) -> list[str]:
        """A line each."""
        return [one_line(cause, MESSAGE_LENGTH) for cause in self.args]

    def __str__(self) -> str:
        return one_line("; ".join(map(str, self.args)), MESSAGE_LENGTH)


class ConfigurationError(UdsError):
    """A manifest, option, waiver or expectation that cannot be used; pytest exits 4."""


class CheckpointError(UdsError):
    """A checkpoint that cannot be loaded, read or compared with the full model."""


class ExtraError(UdsError):
    """A package that only some runs need is not installed; the claims that need it are undecided, others are not."""


class FactError(UdsError):
    """A fact, or a source of facts, that cannot be used."""


class StoreError(UdsError):
    """A place that takes nothing more, as its disk is full or can only be read: nothing more is computed for it."""


NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
"""The error numbers by which the system says that a disk takes nothing more."""


def unwritten(place: Any, error: OSError) -> UdsError:
    """An error which says that something could not be written, and what to do.

    Args:
        place: The file, folder or bucket.
        error: What the system said.

    Returns:
        A StoreError where no other file could be written there either.

    Example:
        >>> type(unwritten("scores", OSError(errno.ENOSPC, "No space left on device"))).__name__
        'StoreError'
    """
    return (StoreError if error.errno in NO_ROOM else UdsError)(
        f"{place} cannot be written ({error.strerror or error}): make room there, or mend its permissions, and run "
        "again; what is stored is kept"
    )


class UdsWarning(UserWarning):
    """What the user should see although the run goes on; warnings of other packages are not shown."""

    def __str__(self) -> str:
        return one_line(super().__str__(), MESSAGE_LENGTH)


_ORDERS = KeyboardInterrupt, SystemExit, GeneratorExit


def failures() -> type[BaseException]:
    """The class to `except` where strangers' files may make a library raise anything: all but what ends a run or a
    test. A library in Rust panics by a class of its own, which is no Exception.

    Returns:
        The class to be caught, given what is being raised.

    Example:
        >>> try:
        ...     raise BaseException("panicked")
        ... except failures() as error:
        ...     print(error)
        panicked
    """
    raised = sys.exception()
    is_order = isinstance(raised, _ORDERS) or any(k.__module__.startswith("_pytest.") for k in type(raised).__mro__)
    return Exception if is_order else BaseException


def did_you_mean(word: object, known: Iterable[str], otherwise: str = "", shown: Callable[[str], object] = str) -> str:
    """What to do about a word that is none of those known.

    Args:
        word: What was given.
        known: What may be given.
        otherwise: What to say where nothing is near; all that is known by default.
        shown: A known one as it is to be written.

    Returns:
        The one or two that are nearest, as a question, or what else to do.

    Example:
        >>> did_you_mean("npoo", ["grad_diff", "npo"]), did_you_mean("x", ["grad_diff", "npo"])
        ("did you mean 'npo'?", 'choose from grad_diff, npo')
    """
    names = list(known)
    if near := get_close_matches(str(word), names, n=2):
        return f"did you mean {' or '.join(repr(str(shown(name))) for name in near)}?"
    return otherwise or (f"choose from {', '.join(names)}" if names else "remove it, none is taken here")


def some(names: Sequence[str], most: int) -> str:
    """The first of some names, and how many more there are.

    Example:
        >>> some(["a", "b", "c"], 2)
        'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def counted(number: int, noun: str) -> str:
    """A number of things, such as `1 fact` and `2 facts`.

    Args:
        number: How many there are, 0 or more.
        noun: One of them, of a kind whose plural ends in s.

    Returns:
        Both.

    Example:
        >>> counted(1, "fact"), counted(0, "fact")
        ('1 fact', '0 facts')
    """
    return f"{number} {noun}{'s' * (number != 1)}"
