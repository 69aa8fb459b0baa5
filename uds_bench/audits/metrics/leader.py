"""Whether one metric leads all others: paired differences over the same resampled models (UDS guide, table 2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.metrics.faithfulness import Faithfulness
from uds_bench.statistics import RESAMPLES, SEED, between_percentiles, cluster_interval
from uds_bench.verdicts import Step

METHOD = f"paired percentile bootstrap over models, B={RESAMPLES}, seed {SEED}"


def most_faithful(judged: Mapping[str, Faithfulness], first: str) -> list[Step]:
    """AUC of one metric less that of every other, each over the same draws of both pools; all must be above 0.

    Two metrics that both tell every pair apart differ by nothing, and nothing is decided between them.

    Args:
        judged: Each metric's pools and AUC.
        first: The metric that is to lead.

    Returns:
        One step of -1 to 1 for each other metric, above 0 where it leads.

    Source: UDS guide, section 4.3 and table 2.

    Example:
        One of four pairs is out of order, 1 - 3/4:

        >>> from uds_bench.audits.metrics.faithfulness import faithfulness
        >>> uds, em = (faithfulness(knows, [1.0, 2.0], "knowledge") for knows in ([3.0, 4.0], [1.5, 4.0]))
        >>> [(step.earlier, step.later, step.difference) for step in most_faithful({"uds": uds, "em": em}, "uds")]
        [('em', 'uds', 0.25)]
    """
    ahead = _resampled(judged[first])
    steps = []
    for name, other in judged.items():
        if name != first:
            difference = judged[first].auc.value - other.auc.value
            units = min(len(other.positive), len(other.negative))
            interval = between_percentiles(ahead - _resampled(other), METHOD, units)
            steps.append(Step(name, first, difference, interval))
    return steps


def most_robust(per_model: Mapping[str, Mapping[str, float]], first: str) -> list[Step]:
    """Mean over models of Q and R averaged, of one metric less that of every other, over the models both kept.

    Rob itself is a harmonic mean of means and has no value for a single model, so that no paired difference exists;
    the arithmetic mean of Q and R orders alike where the two are close.

    Args:
        per_model: By metric and model, the mean of Q and R, 0 to 1.
        first: The metric that is to lead.

    Returns:
        One step of -1 to 1 for each other metric, above 0 where it leads; NaN without a model in common.

    Source: UDS guide, section 4.4 and table 2.

    Example:
        >>> [step.difference for step in most_robust({"uds": {"a": 1.0, "b": 0.5}, "em": {"a": 0.25}}, "uds")]
        [0.75]
    """
    steps = []
    for name, values in per_model.items():
        if name != first:
            shared = [model for model in per_model[first] if model in values]
            differences = [per_model[first][model] - values[model] for model in shared]
            mean = float(np.mean(differences)) if differences else float("nan")
            steps.append(Step(name, first, mean, cluster_interval(differences, shared, limits=(-1.0, 1.0))))
    return steps


def _resampled(found: Faithfulness) -> NDArray[np.float64]:
    """AUC in every resample; the draws depend on the pools' sizes alone, so that metrics share them."""
    sign = 1.0 if found.direction == "knowledge" else -1.0
    x, y = (sign * np.asarray(pool, dtype=float) for pool in (found.positive, found.negative))
    agree = (x[:, None] > y[None, :]) + (x[:, None] == y[None, :]) / 2
    draw = np.random.default_rng(SEED)
    weights = [draw.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n for n in (x.size, y.size)]
    auc: NDArray[np.float64] = ((weights[0] @ agree) * weights[1]).sum(1)
    return auc
