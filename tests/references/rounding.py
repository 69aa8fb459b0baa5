"""Weights rounded to few bits, one at a time in exact fractions: every level is tried and the nearest one taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def levels(weights: Sequence[float], bits: int) -> list[Fraction]:
    """The levels of one block, lowest first; those of a block of zeros are all zero."""
    if bits == 1:
        mean = Fraction(math.fsum(abs(one) for one in weights)) / len(weights)
        return [-mean, mean]
    largest = Fraction(max(abs(one) for one in weights))
    steps = 2**bits - 1
    return [largest * (-1 + Fraction(2 * at, steps)) for at in range(steps + 1)]


def nearest(weight: float, among: Sequence[Fraction]) -> Fraction:
    """Halfway, the outer one; from zero, the positive one."""
    exact = Fraction(weight)
    least = min(abs(exact - level) for level in among)
    close = [level for level in among if abs(exact - level) == least]
    return max(close, key=lambda level: (abs(level), level))


def slow_rounded(row: Sequence[float], bits: int, block: int) -> list[float]:
    found = []
    for start in range(0, len(row), block):
        part = row[start : start + block]
        among = levels(part, bits)
        # With one bit the mean is no level that a weight of the block has to have: signs alone decide.
        found += [float(among[one >= 0] if bits == 1 else nearest(one, among)) for one in part]
    return found
