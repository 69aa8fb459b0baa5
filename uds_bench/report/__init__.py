"""The HTML page of a run, made of its report alone: what was decided, and why; what pytest prints is in `harness`."""

from uds_bench.report.page import Page, render, write_report

__all__ = ["Page", "render", "write_report"]
