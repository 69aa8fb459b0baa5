"""Every metric by name: adding one is its module and a line here."""

from __future__ import annotations

from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.metrics import (
    cka,
    em,
    entity_accuracy,
    es,
    fisher,
    fluency,
    forget_quality,
    logit_lens,
    mia,
    mia_retain,
    model_utility,
    prob,
    rouge,
    spared,
    truth_ratio,
    uds,
)
from uds_bench.metrics.metric import Metric

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        uds.METRIC,
        logit_lens.METRIC,
        entity_accuracy.METRIC,
        em.METRIC,
        es.METRIC,
        *prob.METRICS,
        truth_ratio.METRIC,
        forget_quality.METRIC,
        cka.METRIC,
        fisher.METRIC,
        model_utility.METRIC,
        fluency.METRIC,
        *mia.METRICS,
        *mia_retain.METRICS,
        *rouge.METRICS,
        spared.METRIC,
    )
}


def find_metric(name: str) -> Metric:
    """The metric of that name.

    Raises:
        ConfigurationError: There is none; the message lists those that there are.

    Example:
        >>> find_metric("uds").direction
        'erasure'
    """
    if name not in METRICS:
        raise ConfigurationError(f"there is no metric {name!r}: {did_you_mean(name, METRICS)}")
    return METRICS[name]
