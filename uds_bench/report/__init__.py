"""An HTML page from a run report: what was decided, why, and how to see it again."""

from uds_bench.report.page import Page, render, write_report

__all__ = ["Page", "render", "write_report"]
