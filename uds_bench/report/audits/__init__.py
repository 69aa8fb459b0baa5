"""The table of audits that have words and figures of their own; any other is shown by its claims alone."""

from uds_bench.report.audits import (
    association,
    bypass,
    depth,
    diagnostics,
    faithfulness,
    lmlm,
    localization,
    published,
    ranking,
    robustness,
)
from uds_bench.report.figure import Audit

AUDITS: dict[str, Audit] = {
    module.AUDIT.name: module.AUDIT
    for module in (
        depth,
        faithfulness,
        robustness,
        ranking,
        diagnostics,
        bypass,
        lmlm,
        localization,
        association,
        published,
    )
}


def audit(name: str) -> Audit:
    """The entry for an audit, or a plain one under its own name."""
    return AUDITS.get(name) or Audit(name, title=name)
