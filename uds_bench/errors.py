"""What can go wrong, one clear line each: what, where (file, key, line), what to do."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches


class UdsError(Exception):
    """Base of every error that the user can mend."""


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
