"""An HTML page from a run report: what was decided, why, and how to see it again."""

from uds_bench.report.changes import changes_since
from uds_bench.report.page import Page, render, write_report

__all__ = ["Page", "changes_since", "render", "write_report"]
