"""Every metric by name: adding one is its module and a line here."""

from __future__ import annotations

from uds_bench.errors import ConfigurationError
from uds_bench.metrics import entity_accuracy, logit_lens, uds
from uds_bench.metrics.metric import Metric

METRICS: dict[str, Metric] = {m.name: m for m in (uds.METRIC, logit_lens.METRIC, entity_accuracy.METRIC)}


def find_metric(name: str) -> Metric:
    if name not in METRICS:
        raise ConfigurationError(f"there is no metric {name!r}: choose from {', '.join(METRICS)}")
    return METRICS[name]
