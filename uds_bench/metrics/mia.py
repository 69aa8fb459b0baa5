"""Membership inference: whether the forgotten facts still look seen, beside facts that no model has seen.

Each of the four gives every fact of the forget and the holdout split a loss-like score, larger where the model looks
less like having trained on it. The value is the AUC of holdout (label 1) above forget (label 0): 1 is not unlearned
(higher is more knowledge), about the RETAIN model's value is good (not 1/2, as the splits may differ by themselves),
towards 0 is over-unlearned: the forgotten facts stand out again.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uds_bench.facts import Split
from uds_bench.inference.answers import AnswerScores
from uds_bench.metrics.metric import FactValue, Measured, Metric, MetricSummary
from uds_bench.metrics.subject import Subject
from uds_bench.metrics.teacher_forced import fact_values, rendered
from uds_bench.statistics import LEVEL, Interval, auc, auc_interval, auc_resamples

Score = Callable[[AnswerScores, float], float]
"""One answer's loss-like score; the number is k where it has one."""

SPLITS: tuple[Split, ...] = ("forget", "holdout")
"""By label: 0 and 1."""
SHARES = ("k0.4", "k0.2", "k0.1")
"""k of the default (UDS guide) first; 0.2 is that of the papers that introduced min-k."""
LEAST_VARIANCE = 1e-6


def loss(answer: AnswerScores, _k: float) -> float:
    """Mean negative log-likelihood of an answer, the closing token counted.

    Args:
        answer: The answer, teacher-forced.
        _k: Not read.

    Returns:
        Nats a token, at least 0; higher looks less trained on.

    Source: UDS guide, appendix I; Yeom et al., 2018.

    Example:
        >>> from types import SimpleNamespace
        >>> loss(SimpleNamespace(logp=np.array([-1.0, -3.0])), 0.4)
        2.0
    """
    return float(-answer.logp.mean())


def zlib_loss(answer: AnswerScores, _k: float) -> float:
    """Mean negative log-likelihood by the bytes that zlib needs for the answer's text: plain text is no memory.

    Args:
        answer: The answer, teacher-forced.
        _k: Not read.

    Returns:
        Nats a token and byte, at least 0; higher looks less trained on.

    Source: UDS guide, appendix I; Carlini et al., 2021.

    Example:
        Of one letter zlib makes nine bytes: two of header, three of data, four of checksum:

        >>> from types import SimpleNamespace
        >>> zlib_loss(SimpleNamespace(logp=np.array([-18.0]), answer=SimpleNamespace(text="a")), 0.4)
        2.0
    """
    return float(-answer.logp.mean()) / len(zlib.compress(answer.answer.text.encode()))


def min_k(answer: AnswerScores, k: float) -> float:
    """Minus the mean of the lowest max(1, int(k T)) log-probabilities of the answer's T tokens without the closing.

    Args:
        answer: The answer, teacher-forced.
        k: Share of the tokens that is looked at, 0 to 1.

    Returns:
        Nats a token, at least 0; higher looks less trained on.

    Source: UDS guide, appendix I; Shi et al., 2024.

    Example:
        The lower two of five words, -4 and -3; the closing token is not looked at:

        >>> from types import SimpleNamespace
        >>> answer = SimpleNamespace(logp=np.array([-1.0, -4.0, -2.0, -3.0, -0.5, -9.0]), words=slice(0, 5))
        >>> min_k(answer, 0.4)
        3.5
    """
    return -_lowest(answer.logp[answer.words], k)


def min_k_plus_plus(answer: AnswerScores, k: float) -> float:
    """As `min_k`, of (log p - mean) / sqrt(max(variance, 1e-6)), both over the vocabulary under the model.

    Args:
        answer: The answer, teacher-forced, with the moments of its log-probabilities.
        k: Share of the tokens that is looked at, 0 to 1.

    Returns:
        Standard deviations, any sign; higher looks less trained on.

    Source: UDS guide, appendix I; Zhang et al., 2025.

    Example:
        (-4 - -2) / sqrt(4) is the lower of the two:

        >>> from types import SimpleNamespace
        >>> moments = {"mean": np.array([-2.0, -2.0]), "variance": np.array([4.0, 4.0])}
        >>> min_k_plus_plus(SimpleNamespace(logp=np.array([-1.0, -4.0]), words=slice(0, 2), **moments), 0.4)
        1.0
    """
    words = answer.words
    spread = np.sqrt(np.maximum(answer.variance[words], LEAST_VARIANCE))
    return -_lowest((answer.logp[words] - answer.mean[words]) / spread, k)


def _lowest(values: NDArray[np.float64], k: float) -> float:
    return float(np.sort(values)[: max(1, int(k * len(values)))].mean())


@dataclass(frozen=True)
class SplitScores:
    """Scores and clusters of the two splits; `holdout` is the positive side."""

    holdout: Sequence[float]
    forget: Sequence[float]
    holdout_clusters: Sequence[str]
    forget_clusters: Sequence[str]

    @classmethod
    def of(cls, values: Iterable[FactValue], clusters: Mapping[str, str]) -> SplitScores:
        """The facts that have a value, by their label."""
        scored: tuple[list[tuple[float, str]], ...] = ([], [])
        for found in values:
            if found.value is not None and math.isfinite(found.value) and found.label is not None:
                scored[found.label].append((found.value, clusters[found.id]))
        forget, holdout = scored
        return cls([v for v, _ in holdout], [v for v, _ in forget], [c for _, c in holdout], [c for _, c in forget])

    @property
    def auc(self) -> float:
        """P(holdout above forget), ties half: 0 to 1, higher is more knowledge; NaN where a side is empty."""
        return auc(self.holdout, self.forget)

    @property
    def resamples(self) -> NDArray[np.float64]:
        """The AUCs of resampled clusters: the same draws for every model on the same facts."""
        return auc_resamples(self.holdout, self.forget, self.holdout_clusters, self.forget_clusters)

    def interval(self, level: float = LEVEL) -> Interval:
        """Interval of the AUC over the clusters of both sides; `level` is the share that is to hold it."""
        return auc_interval(self.holdout, self.forget, self.holdout_clusters, self.forget_clusters, level=level)


def clusters_of(subject: Subject) -> dict[str, str]:
    """The author of each fact of both splits."""
    return {fact.id: fact.cluster for split in SPLITS for fact in subject.split(split)}


def _metric(name: str, score: Score, variants: tuple[str, ...], source: str) -> Metric:
    def compute(subject: Subject, variant: str) -> Measured:
        k = float(variant.removeprefix("k")) if variant in SHARES else math.nan
        values: list[FactValue] = []
        for label, split in enumerate(SPLITS):
            answers = subject.answers("original", split)
            values += fact_values(subject.split(split), answers, lambda found: score(found[0], k), label=label)
        sides = SplitScores.of(values, clusters_of(subject))
        notes: dict[str, Any] = {"rendered": rendered(*(subject.answers("original", s) for s in SPLITS))}
        if math.isnan(sides.auc):
            return Measured(values, notes | {"undefined": "a split has no scored fact"}, MetricSummary(None, None))
        return Measured(values, notes, MetricSummary(sides.auc, sides.interval()))

    return Metric(
        name,
        "knowledge",
        f"UDS guide, appendix I; {source}",
        compute=compute,
        needs=frozenset({"holdout"}),
        variants=variants,
        splits=SPLITS,
    )


MIA_LOSS = _metric("mia_loss", loss, ("default",), "Yeom et al. 2018")
MIA_ZLIB = _metric("mia_zlib", zlib_loss, ("default",), "Carlini et al. 2021")
MIA_MIN_K = _metric("mia_min_k", min_k, SHARES, "Shi et al. 2024")
MIA_MIN_K_PLUS_PLUS = _metric("mia_min_k_plus_plus", min_k_plus_plus, SHARES, "Zhang et al. 2025")
METRICS = (MIA_LOSS, MIA_ZLIB, MIA_MIN_K, MIA_MIN_K_PLUS_PLUS)
