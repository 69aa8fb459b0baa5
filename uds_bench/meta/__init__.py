"""Metrics judged: faithfulness, robustness, aggregates and rankings, and a conformance kit for metrics."""

from uds_bench.meta.conformance import CheckResult, check_metric, metric_checks
from uds_bench.meta.embedded import zoo_trial
from uds_bench.meta.evaluation import MetricRow, Models, evaluate
from uds_bench.meta.trial import Trial

__all__ = ["CheckResult", "MetricRow", "Models", "Trial", "check_metric", "evaluate", "metric_checks", "zoo_trial"]
