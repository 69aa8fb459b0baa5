"""MUSE's numbers of two models beside each other, from their scores item by item."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from uds_bench.metrics.metric import FactValue
from uds_bench.metrics.mia import SplitScores
from uds_bench.metrics.mia_retain import compare, leak
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import Interval, Rate, cluster_interval, mean

ENDS_ANSWER = re.compile("\n\n|\nQuestion|Question:")
NOTHING = Rate(math.nan, Interval(math.nan, math.nan, "a text has no value", 0))


def rouge_l_f1(true: str, said: str) -> float:
    """ROUGE-L F1: twice the longest common subsequence of words, by the words of both texts.

    Lower case, words not stemmed, everything but a-z and 0-9 parts words.

    Args:
        true: The true text.
        said: What the model said.

    Returns:
        0 to 1; higher is more memory. 0 where either has no word.

    Source: Lin, 2004; MUSE, section 3.1.

    Example:
        Two words of three and five, 2 * 2 / (3 + 5):

        >>> rouge_l_f1("A grey heron.", "It saw a heron there")
        0.5
    """
    return float(_scorer().score(true, said)["rougeL"].fmeasure)


@cache
def _scorer() -> Any:
    from rouge_score import rouge_scorer

    return rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)


def answer_of(said: str) -> str:
    """A reply up to where the model begins a question of its own.

    Example:
        >>> answer_of("A heron.\\nQuestion: And who")
        'A heron.'
    """
    return ENDS_ANSWER.split(said, maxsplit=1)[0]


def beside(own: Score, other: Score, share: float = 1.0) -> Rate:
    """Mean over items of a model's value less a share of another's.

    Args:
        own: Values of 0 to 1, [items].
        other: The other model's, of the same items.
        share: How much of it is to be reached, 0 to 1.

    Returns:
        -share to 1; higher is more than the other. NaN over none where an item has no value, or is another.

    Example:
        The first says 0.75 on the mean, and 0.8 of the other's 0.5 is 0.4:

        >>> def score(*values):
        ...     rows = tuple(FactScore(f"q{at}", f"q{at}", value) for at, value in enumerate(values))
        ...     return Score("npo", "none", "knowmem_r", "muse", None, None, rows)
        >>> round(beside(score(1.0, 0.5), score(0.5, 0.5), 0.8).value, 6)
        0.35
    """
    pairs = _paired(own, other)
    apart = [a - share * b for a, b in pairs]
    if not pairs:
        return NOTHING
    return Rate(mean(apart), cluster_interval(apart, range(len(apart)), limits=(-share, 1.0)))


def privacy_leak(own: Score, retain: Score) -> Rate:
    """PrivLeak: (A - R) / R of the two models' AUCs, with which min-k tells the holdout from the forget set.

    Args:
        own: The candidate's min-k, in nats, of forget texts (label 0) and holdout texts (label 1).
        retain: The retrained model's, of the same texts.

    Returns:
        A share, at least -1: 0 is as the retrained model, -1 nothing forgotten, above 0 over-unlearned. NaN over none
        where a text has no value, or R is 0; an interval without ends where few texts leave a resample whose R is 0.

    Source: MUSE, section 3.1 (C3); 100 times this is the number of its tables.

    Example:
        Of two forget texts and two held out, the retrained model orders two pairs of four, and the candidate one:

        >>> def score(*nats):
        ...     rows = tuple(FactScore(f"t{at}", f"t{at}", value, label=at // 2) for at, value in enumerate(nats))
        ...     return Score("npo", "none", "privleak_auc", "muse", None, None, rows)
        >>> privacy_leak(score(1.0, 3.0, 2.0, 4.0), score(1.0, 4.0, 2.0, 3.0)).value
        -0.5
    """
    if not _paired(own, retain):
        return NOTHING
    found = compare(_sides(own), _sides(retain), leak)
    if found.value is None:
        return NOTHING
    interval = found.interval or Interval(math.nan, math.nan, "too few texts for an interval with ends", 0)
    return Rate(found.value / 100, replace(interval, low=interval.low / 100, high=interval.high / 100))


def dealt(score: Score, true: Mapping[str, str]) -> Score:
    """A score as it were, had every reply been given to the question before it: a model that answers at random."""
    said = [str(one.detail["said"]) for one in score.per_fact]
    moved = [
        FactScore(one.id, one.cluster, rouge_l_f1(true[one.id], text))
        for one, text in zip(score.per_fact, [*said[1:], said[0]], strict=True)
    ]
    return Score(score.checkpoint, score.attack, score.metric, score.variant, None, None, tuple(moved))


def _paired(own: Score, other: Score) -> list[tuple[float, float]]:
    """Both models' values; none where a single one is missing, as what is left would be another corpus."""
    pairs = [(a.value, b.value) for a, b in zip(own.per_fact, other.per_fact, strict=True) if a.id == b.id]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return known if len(known) == len(own.per_fact) else []


def _sides(score: Score) -> SplitScores:
    values = [FactValue(one.id, one.value, label=one.label) for one in score.per_fact]
    return SplitScores.of(values, {one.id: one.cluster for one in score.per_fact})
