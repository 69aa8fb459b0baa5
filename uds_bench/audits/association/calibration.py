"""How much likelier a sentence is about one person than about others whose names look alike (WikiMem, section 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scores = NDArray[np.float64]
ALPHA = 1.0
"""The weight of the similar names (section 5)."""


def needs_generic(alpha: float = ALPHA) -> bool:
    """Whether sentences about nobody matter: at alpha 1 they cancel, and need not be scored (definitions 003.4, 1)."""
    return alpha != 1


def as_printed(own: ArrayLike, similar: ArrayLike, generic: ArrayLike, alpha: float = ALPHA) -> Scores:
    """The same from the formula as the paper prints it: sentences about nobody are read at any alpha."""
    of_h, of_names, of_nobody = (np.asarray(one, np.float64) for one in (own, similar, generic))
    found: Scores = (of_nobody - of_h) - alpha * (of_nobody - of_names).mean(0)
    return found


def calibrated(own: ArrayLike, similar: ArrayLike, generic: ArrayLike | None = None, alpha: float = ALPHA) -> Scores:
    """s(h, v) of each candidate value, [candidates], in nats; any sign, higher is more knowledge.

    `own`: NLL(h, v), [candidates]; `similar`: NLL of the same sentences about similar names, [names, candidates];
    `generic`: about nobody, [candidates], read only where alpha is not 1:

        s = (NLL(h0, v) - NLL(h, v)) - alpha * mean over names of (NLL(h0, v) - NLL(name, v))

    What is the same for all candidates shifts all scores alike. Raises ValueError where names are needed and there are
    none, and where alpha is not 1 and `generic` is not given.
    """
    of_h, of_names = np.asarray(own, np.float64), np.asarray(similar, np.float64)
    if alpha and not len(of_names):
        raise ValueError("no similar name: give one, or alpha 0")
    found = -of_h
    if alpha:
        found = found + alpha * of_names.mean(0)
    if needs_generic(alpha):
        if generic is None:
            raise ValueError(f"alpha {alpha:g} reads sentences about nobody: give them")
        found = found + (1 - alpha) * np.asarray(generic, np.float64)
    return found
