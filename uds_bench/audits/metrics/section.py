"""Metrics are judged on the models of the depth audit."""

from uds_bench.audits.depth.section import Depth

SECTION = Depth
