"""The metrics: a number per fact and per checkpoint, each with its direction, range, needs and source."""

from uds_bench.metrics.registry import METRICS, find_metric

__all__ = ["METRICS", "find_metric"]
