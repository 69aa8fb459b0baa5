"""One self-contained HTML page from a run report: what was decided, why, and how to see it again."""

from uds_bench.report.page import render, write_report

__all__ = ["render", "write_report"]
