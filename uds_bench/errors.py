"""What can go wrong, one clear line each: what, where (file, key, line), what to do."""

import re

MOST = 500
"""Characters of a message."""
_COMMAND = re.compile(r"(?<!\S)::(?=\w)|##(?=\w*\[)")
"""What CI systems would take for an order in the log of a job, as `::error::` and `##[error]`."""

_BREAK = re.compile(r"(?<! ) *[^\S ]\s*")
"""White space that is more than spaces: of these a message may speak, as of two in a name."""


def printable(said: object) -> str:
    """What is said, on one line: characters that do not print are spelled out, and orders to CI broken."""
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
    """Base of every error that the user can mend."""

    def __str__(self) -> str:
        return one_line(super().__str__(), MOST)


class ConfigurationError(UdsError):
    """A manifest, option, waiver or expectation that cannot be used; pytest exits 4."""


class CheckpointError(UdsError):
    """A checkpoint that cannot be loaded, read or compared with the full model."""


class ExtraError(UdsError):
    """A package that only some runs need is not installed; the claims that need it are undecided, others are not."""


class FactError(UdsError):
    """A fact, or a source of facts, that cannot be used."""


class UdsWarning(UserWarning):
    """What the user should see although the run goes on; warnings of other packages are not shown."""

    def __str__(self) -> str:
        return one_line(super().__str__(), MOST)
