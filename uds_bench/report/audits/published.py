"""Published tables on the page: the claims say it all."""

from __future__ import annotations

from uds_bench.report.figure import Audit

AUDIT = Audit(
    name="published",
    title="Published tables",
    question="Do the numbers that the field quotes follow from each other?",
)
