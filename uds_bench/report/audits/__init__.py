"""The table of audits that have words and figures of their own; any other is shown by its claims alone."""

from uds_bench.report.audits import depth
from uds_bench.report.figure import Audit

AUDITS: dict[str, Audit] = {audit.name: audit for audit in (depth.AUDIT,)}


def audit(name: str) -> Audit:
    """The entry for an audit, or a plain one under its own name."""
    return AUDITS.get(name) or Audit(name, title=name)
