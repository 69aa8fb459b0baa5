"""Plain references for the meta-evaluation: loops over models and fractions, no shared code with the package.

Written from the definitions (UDS paper, sections 4 and 6), to be compared with the package, and slow on purpose.
"""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

KNOWLEDGE = "knowledge"


def change_kept(one: Fraction, other: Fraction) -> Fraction:
    """1 - |one - other| / (|one| + |other|); 1 where both are 0. Q of values, R of changes."""
    size = abs(one) + abs(other)
    return Fraction(1) if size == 0 else 1 - abs(one - other) / size


def recovered(before: Fraction, after: Fraction) -> Fraction:
    """The one-directional Q: min(before / after, 1); a value that did not rise is perfectly stable."""
    if after == 0:
        return Fraction(1)
    return min(before / after, Fraction(1))


def harmonic(values: Sequence[Fraction]) -> Fraction:
    """n / (1/v1 + ... + 1/vn); 0 if one is 0."""
    if any(value == 0 for value in values):
        return Fraction(0)
    total = Fraction(0)
    for value in values:
        total += 1 / value
    return len(values) / total


def pairs_right(positive: Sequence[float], negative: Sequence[float], direction: str) -> Fraction:
    """Share of (knows, never knew) pairs that the metric puts in order, a tie counting half."""
    right = Fraction(0)
    for knows, never in itertools.product(positive, negative):
        if knows == never:
            right += Fraction(1, 2)
        elif (knows > never) == (direction == KNOWLEDGE):
            right += 1
    return right / (len(positive) * len(negative))


def says_forgotten(value: float, cut: float, direction: str) -> bool:
    """Below the cut for a metric of knowledge, at or above it for one of erasure."""
    if direction == KNOWLEDGE:
        return value < cut
    return not value < cut


def accuracy_at(cut: float, positive: Sequence[float], negative: Sequence[float], direction: str) -> Fraction:
    """Balanced accuracy of a cut."""
    knows = [value for value in positive if not says_forgotten(value, cut, direction)]
    never = [value for value in negative if says_forgotten(value, cut, direction)]
    return (Fraction(len(knows), len(positive)) + Fraction(len(never), len(negative))) / 2


def best_accuracy(positive: Sequence[float], negative: Sequence[float], direction: str) -> Fraction:
    """Over every cut between two neighbouring values."""
    points = sorted({*positive, *negative})
    cuts = [(a + b) / 2 for a, b in itertools.pairwise(points)] or points
    return max(accuracy_at(cut, positive, negative, direction) for cut in cuts)


def means(
    before: Mapping[str, Fraction],
    quantized: Mapping[str, Fraction],
    relearned: Mapping[str, Fraction],
    retain: tuple[Fraction, Fraction],
    complement: bool,
) -> tuple[Fraction, Fraction]:
    """Mean Q and mean R over models; `complement`: of 1 - m."""
    q, r, turn = [], [], Fraction(1) if complement else Fraction(0)
    sign = -1 if complement else 1
    for name in before:
        q.append(change_kept(turn + sign * before[name], turn + sign * quantized[name]))
        r.append(change_kept(sign * (relearned[name] - before[name]), sign * (retain[1] - retain[0])))
    return sum(q, Fraction(0)) / len(q), sum(r, Fraction(0)) / len(r)


def mid_ranks(values: Sequence[float]) -> list[Fraction]:
    """1 is the smallest; equal values share the mean of their ranks."""
    ranks = []
    for value in values:
        below = sum(other < value for other in values)
        same = sum(other == value for other in values)
        ranks.append(Fraction(2 * below + same + 1, 2))
    return ranks


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's correlation of mid-ranks."""
    a, b = mid_ranks(x), mid_ranks(y)
    mean = Fraction(len(x) + 1, 2)
    both = sum(((i - mean) * (j - mean) for i, j in zip(a, b, strict=True)), Fraction(0))
    own = sum(((i - mean) ** 2 for i in a), Fraction(0)) * sum(((j - mean) ** 2 for j in b), Fraction(0))
    return float(both) / float(own) ** 0.5


def beyond_rounding(printed: str, inputs: Sequence[str]) -> Fraction:
    """How far a printed harmonic mean lies from what its printed inputs allow, signed; 0 if rounding explains it."""
    half = Fraction(1, 2000)
    low, high = (harmonic([Fraction(value) + side * half for value in inputs]) for side in (-1, 1))
    value = Fraction(printed)
    if value + half < low:
        return value + half - low
    if value - half > high:
        return value - half - high
    return Fraction(0)
