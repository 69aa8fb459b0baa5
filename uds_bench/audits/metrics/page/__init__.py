"""The metrics judged, on the page."""

from uds_bench.audits.metrics.page import diagnostics, faithfulness, ranking, robustness

CHAPTERS = tuple(module.CHAPTER for module in (faithfulness, robustness, ranking, diagnostics))
