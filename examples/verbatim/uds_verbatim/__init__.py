"""Verbatim memorization: does a model still go on with a text that it was to forget? (VerbMem, MUSE)"""

from uds_bench.audits.api import Audit

AUDIT = Audit("verbatim", __name__)
