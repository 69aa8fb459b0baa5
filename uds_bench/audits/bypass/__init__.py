"""The bypass audit: is a thinking trace that still tells about the weights, or about the decoder and the parser?"""

from uds_bench.audits.bypass.record import ARMS, CONTEXTS, FORCED, Arm, Context, Forced, Probed, Reply
from uds_bench.audits.bypass.reply import Fallback, Split, split_reply

__all__ = [
    "ARMS",
    "CONTEXTS",
    "FORCED",
    "Arm",
    "Context",
    "Fallback",
    "Forced",
    "Probed",
    "Reply",
    "Split",
    "split_reply",
]
