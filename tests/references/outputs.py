"""Plain references for output metrics: one answer, one token, one vocabulary entry at a time, in Python floats.

Written from the definitions of the output metrics to be compared with the package; no batch, no padding, no numpy. An
answer is its `rows` of logits, one list over the vocabulary for each labelled token, and the `tokens`; `ends` says
that the last token closes the answer.
"""

import math
import zlib
from collections.abc import Sequence

Rows = Sequence[Sequence[float]]


def log_softmax(row: Sequence[float]) -> list[float]:
    top = max(row)
    total = math.log(math.fsum(math.exp(x - top) for x in row))
    return [x - top - total for x in row]


def logps(rows: Rows, tokens: Sequence[int]) -> list[float]:
    return [log_softmax(row)[token] for row, token in zip(rows, tokens, strict=True)]


def nll(rows: Rows, tokens: Sequence[int]) -> float:
    """Mean over all labelled tokens, the closing one too."""
    return -math.fsum(logps(rows, tokens)) / len(tokens)


def prob(rows: Rows, tokens: Sequence[int]) -> float:
    return math.exp(-nll(rows, tokens))


def rights(rows: Rows, tokens: Sequence[int], ends: bool) -> list[bool]:
    """Whether each token but the closing one is the likeliest; the first of several."""
    kept = len(tokens) - ends
    return [list(row).index(max(row)) == token for row, token in zip(rows[:kept], tokens[:kept], strict=True)]


def em(right: Sequence[bool]) -> float:
    return sum(right) / len(right)


def es(right: Sequence[bool], floor: bool) -> float:
    """By the loop: give ever more of the answer until all that is left is said."""
    total = len(right)
    for given in range(total):
        if all(right[given:]):
            return (total - given) / total
    return (1 if floor else 0) / total


def near_ties(rows: Rows, tokens: Sequence[int], ends: bool, within: float = 1e-5) -> int:
    best = [sorted(row)[-2:] for row in rows[: len(tokens) - ends]]
    return sum(first - second <= within for second, first in best)


def truth_ratio(right: float, wrong: Sequence[float], aggregator: str) -> float:
    """From the geometric mean probability of the true answer and those of the wrong ones."""
    wrongs = math.exp(math.fsum(map(math.log, wrong)) / len(wrong))
    r = wrongs / right
    if aggregator == "closer_to_1":
        return min(r, 1 / r)
    if aggregator == "true_better":
        return max(0.0, 1 - r)
    return right / (right + wrongs)


def prob_with_options(true: float, wrong: Sequence[float]) -> float:
    """Of real authors and world facts, as open-unlearning has it, from mean losses."""
    own, others = math.exp(-true), math.fsum(math.exp(-loss) for loss in wrong)
    return own / (own + others + 1e-10)


def true_better(true: float, wrong: Sequence[float]) -> float:
    """Truth Ratio of what is to be kept, as open-unlearning has it, from mean losses."""
    return max(0.0, 1 - math.exp(-math.fsum(wrong) / len(wrong)) / (math.exp(-true) + 1e-10))


def zlib_loss(rows: Rows, tokens: Sequence[int], text: str) -> float:
    return nll(rows, tokens) / len(zlib.compress(text.encode("utf-8")))


def min_k(rows: Rows, tokens: Sequence[int], ends: bool, k: float) -> float:
    kept = len(tokens) - ends
    values = sorted(logps(rows[:kept], tokens[:kept]))
    lowest = values[: max(1, int(k * kept))]
    return -math.fsum(lowest) / len(lowest)


def min_k_plus_plus(rows: Rows, tokens: Sequence[int], ends: bool, k: float) -> float:
    kept = len(tokens) - ends
    values = []
    for row, token in zip(rows[:kept], tokens[:kept], strict=True):
        logs = log_softmax(row)
        mean = math.fsum(math.exp(x) * x for x in logs)
        variance = math.fsum(math.exp(x) * (x - mean) ** 2 for x in logs)
        values.append((logs[token] - mean) / math.sqrt(max(variance, 1e-6)))
    lowest = sorted(values)[: max(1, int(k * kept))]
    return -math.fsum(lowest) / len(lowest)


def auc(forget: Sequence[float], holdout: Sequence[float]) -> float:
    """Label 0 and label 1: how often a holdout score is the larger, ties one half."""
    wins = sum((h > f) + (h == f) / 2 for h in holdout for f in forget)
    return wins / (len(forget) * len(holdout))


def similarity(own: float, retain: float) -> float:
    return min(1.0, max(0.0, 1 - abs(own - retain) / retain))


def privleak(own: float, retain: float) -> float:
    return ((1 - own) - (1 - retain)) / (1 - retain) * 100
