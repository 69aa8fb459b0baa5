"""What a model still answers of benchmarks, before and after unlearning. Pure functions of what was recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from uds_bench.scores import Score
from uds_bench.statistics import RESAMPLES, SEED, Interval, Rate, between_percentiles, mean, zero_rate_bound


@dataclass(frozen=True)
class Answer:
    """`right`: 1 or 0, NaN where it could not be told; `chance`: of a guesser, one over the number of choices."""

    right: float
    chance: float


Answers = Mapping[str, Mapping[str, Answer]]
"""By task and document."""


def answers_of(score: Score) -> dict[str, dict[str, Answer]]:
    """What a stored score of `BenchmarkEvaluator` holds."""
    found: dict[str, dict[str, Answer]] = {}
    for fact in score.per_fact:
        right = math.nan if fact.value is None else fact.value
        found.setdefault(fact.kind or "", {})[fact.id] = Answer(right, fact.detail.get("chance", math.nan))
    return found


def accuracy(answers: Answers) -> Rate:
    """Share of documents answered rightly, the mean over tasks.

    Args:
        answers: By task and document.

    Returns:
        0 to 1, higher is more useful, with its interval over documents; NaN where one of them could not be told.

    Example:
        Tasks count alike, however many documents they have: (1 + 1/2) / 2.

        >>> right, wrong = Answer(1.0, 0.25), Answer(0.0, 0.25)
        >>> accuracy({"arc": {"1": right}, "mmlu": {"1": right, "2": wrong}}).value
        0.75
    """
    return over_tasks([[one.right for one in task.values()] for task in answers.values()], 0.0)


def change(before: Answers, after: Answers) -> Rate:
    """Share of documents answered rightly after less that before, paired, the mean over tasks.

    One with many documents, such as MMLU, does not outweigh the others.

    Args:
        before: By task and document, what the model before answers.
        after: The same of the model after.

    Returns:
        -1 to 1, below 0 where utility is lost; NaN where a document could not be told on both sides.

    Source: Lacuna, table 2, utility.

    Example:
        >>> right, wrong = Answer(1.0, 0.25), Answer(0.0, 0.25)
        >>> change({"arc": {"1": right, "2": right}}, {"arc": {"1": right, "2": wrong}}).value
        -0.5
    """
    untold = Answer(math.nan, math.nan)
    return over_tasks(
        [
            [after.get(task, {}).get(id, untold).right - one.right for id, one in documents.items()]
            for task, documents in before.items()
        ],
        -1.0,
    )


def guesser(answers: Answers) -> Answers:
    """Who draws every answer, as shares: no model that answers as this does knows anything of the tasks."""
    return {
        task: {id: replace(one, right=one.chance) for id, one in documents.items()}
        for task, documents in answers.items()
    }


def over_tasks(values: Sequence[Sequence[float]], least: float) -> Rate:
    """The mean over tasks of the mean over each one's documents, and its interval.

    Documents are drawn with replacement within each task. The interval is never narrower than where all documents have
    one value: were the mean share of those with another above 1 - (alpha/2)^(1/units), units being the documents of
    the shortest task times the tasks, so many without one would be less likely than alpha/2 (the logarithm is concave).

    Args:
        values: Of each task its documents' values, `least` to 1.
        least: The smallest value that there can be: 0, or -1 of a difference.

    Returns:
        `least` to 1; NaN where a value is missing or not finite.

    Example:
        >>> found = over_tasks([[1.0, 1.0], [0.0]], 0.0)
        >>> found.value, found.interval.units
        (0.5, 3)
    """
    tasks = [np.asarray(one, dtype=float) for one in values]
    if not tasks or any(not one.size or not np.isfinite(one).all() for one in tasks):
        return Rate(math.nan, Interval(math.nan, math.nan, "no finite values", 0))
    found, rng = mean(float(one.mean()) for one in tasks), np.random.default_rng(SEED)
    drawn = np.mean([_drawn(one, rng) for one in tasks], axis=0)
    method, units = f"percentile bootstrap within tasks, B={RESAMPLES}, seed {SEED}", sum(one.size for one in tasks)
    interval = between_percentiles(drawn, method, units)
    reach = zero_rate_bound(len(tasks) * min(one.size for one in tasks))
    low, high = max(least, min(interval.low, found - reach)), min(1.0, max(interval.high, found + reach))
    return Rate(found, replace(interval, low=low, high=high))


def _drawn(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """[resamples] means of as many documents drawn with replacement. Their values are few, and how often each is drawn
    is multinomial: the same distribution, without an array of resamples by documents."""
    kinds, counts = np.unique(values, return_counts=True)
    means: NDArray[np.float64] = rng.multinomial(values.size, counts / values.size, RESAMPLES) @ kinds / values.size
    return means
