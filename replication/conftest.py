"""Makes the claims about published tables known to the run."""

from replication import AUDIT
from uds_bench.audits import registry

registry.add(AUDIT)
