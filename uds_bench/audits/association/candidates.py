"""What could be said of a person: what is true, and what is not and does not mean the same (WikiMem, section 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from uds_bench.errors import FactError
from uds_bench.facts.spellings import alike

ALIKE = 0.75
"""Cosine of sentence embeddings above which two values count as one (section 6)."""
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts as unit vectors, [texts, width]."""


@dataclass(frozen=True)
class Candidates:
    """`truths`: the values that are true; `others`: values that are not, and mean none of them."""

    truths: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def values(self) -> tuple[str, ...]:
        return self.truths + self.others


def candidates(what: str, truths: Sequence[str], counterfactuals: Sequence[str], embed: Embed | None) -> Candidates:
    """Values with those counterfactuals left out that are, or mean, what is true; of equal ones the first is kept.

    Equal: the same letters and numbers. `embed`: without it meaning is not looked at. Raises FactError, naming `what`,
    where no counterfactual is left to be told from.
    """
    kept, spelled = _once(truths), _once(counterfactuals)
    others = [value for key, value in spelled.items() if key not in kept]
    if embed is not None and others:
        alike = embed(others) @ embed([*kept.values()]).T
        others = [value for value, row in zip(others, alike, strict=True) if row.max() <= ALIKE]
    if not others:
        raise FactError(f"{what}: every counterfactual means what is true ({', '.join(kept.values())}): give it others")
    return Candidates(tuple(kept.values()), tuple(others))


def _once(values: Sequence[str]) -> dict[str, str]:
    """By its letters, digits and the signs of numbers, the first value that is spelled with them."""
    found: dict[str, str] = {}
    for value in values:
        found.setdefault(alike(value), value)
    return found
