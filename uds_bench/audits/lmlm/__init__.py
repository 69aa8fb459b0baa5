"""The LMLM audit: after a row is deleted from an external memory, does the answer survive, and by which channel?"""

from uds_bench.audits.api import Audit

AUDIT = Audit("lmlm", __name__)
