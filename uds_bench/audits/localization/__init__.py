"""The localization audit (Lacuna): did a method change the weights that hold the knowledge?"""

from uds_bench.audits.api import Audit

AUDIT = Audit("localization", __name__)
