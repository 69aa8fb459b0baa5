"""The metrics judged: faithfulness, robustness, rankings, a conformance kit; the metrics are in `uds_bench.metrics`."""

import lazy_loader

from uds_bench.audits.api import Audit

AUDIT = Audit("metrics", __name__, uses=("depth",))
# What a metric of one's own is tried by; the registry reads this package in every run that decides claims.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
