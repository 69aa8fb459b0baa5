"""Published tables, recomputed. `pytest replication` decides whether their numbers follow from each other."""

from uds_bench.audits.api import Audit

AUDIT = Audit("published", __name__)
