"""How much likelier a sentence is about one person than about others whose names look alike (WikiMem, section 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scores = NDArray[np.float64]
ALPHA = 1.0
"""The weight of the similar names (section 5)."""


def needs_generic(alpha: float = ALPHA) -> bool:
    """Whether sentences about nobody matter: at alpha 1 they cancel, and need not be scored."""
    return alpha != 1


def calibrated(own: ArrayLike, similar: ArrayLike, generic: ArrayLike | None = None, alpha: float = ALPHA) -> Scores:
    """s(h, v) of each candidate value: how much likelier its sentence is about a person than about similar names.

        s = (NLL(h0, v) - NLL(h, v)) - alpha * mean over names of (NLL(h0, v) - NLL(name, v))

    What is the same for all candidates shifts all scores alike.

    Args:
        own: NLL(h, v), [candidates], nats.
        similar: NLL of the same sentences about similar names, [names, candidates], nats.
        generic: The same about nobody, [candidates], nats; read only where alpha is not 1.
        alpha: The weight of the similar names.

    Returns:
        [candidates], nats; any sign, higher is more knowledge.

    Raises:
        ValueError: Names are needed and there are none, or alpha is not 1 and `generic` is not given.

    Source: WikiMem, section 5.

    Example:
        Means of 3 and 5 over the names, less 1 and 6:

        >>> calibrated([1.0, 6.0], [[2.0, 4.0], [4.0, 6.0]]).tolist()
        [2.0, -1.0]
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
