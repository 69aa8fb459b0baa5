"""The bypass audit: is a thinking trace that still tells about the weights, or about the decoder and the parser?"""

from uds_bench.audits.api import Audit

AUDIT = Audit("bypass", __name__)
