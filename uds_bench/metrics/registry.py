"""Every metric by name: adding one is its module and a line here."""

from __future__ import annotations

from uds_bench.errors import ConfigurationError
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
    para_prob,
    prob,
    rouge,
    truth_ratio,
    uds,
)
from uds_bench.metrics.metric import Metric

_SINGLE = (
    uds,
    logit_lens,
    entity_accuracy,
    em,
    es,
    prob,
    para_prob,
    truth_ratio,
    forget_quality,
    cka,
    fisher,
    model_utility,
    fluency,
)
METRICS: dict[str, Metric] = {
    m.name: m for m in (*(module.METRIC for module in _SINGLE), *mia.METRICS, *mia_retain.METRICS, *rouge.METRICS)
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
        raise ConfigurationError(f"there is no metric {name!r}: choose from {', '.join(METRICS)}")
    return METRICS[name]
