"""The depth audit: can what was forgotten be recovered from the activations (UDS)?"""

from uds_bench.audits.api import Audit

AUDIT = Audit("depth", __name__)
