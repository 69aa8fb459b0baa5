"""MUSE: is what a model was to forget still said, still known, and still to be told from what it never saw?"""

from uds_bench.audits.api import Audit

AUDIT = Audit("muse", __name__)
