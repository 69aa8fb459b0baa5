"""Perfect subjects of the LMLM audit who say something, and what of it is heard."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from lmlm_by_hand import perfectly

from uds_bench.audits.lmlm.asking.record import LookupReply
from uds_bench.audits.lmlm.claims import CLAIMS
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.leakage import Leakage

BOUNDS = {spec.id: spec.bound for spec in CLAIMS}
LEAKAGE = BOUNDS["lmlm.leakage"]
PERFECT = perfectly("base")


def saying(tell: Callable[[JudgedPrompt], str]) -> list[JudgedPrompt]:
    """Perfect subjects of an embedded database who say something with lookups forbidden."""
    return [replace(one, replies={**one.replies, "forbidden": LookupReply(tell(one))}) for one in perfectly("base")]


def leaked(judged: list[JudgedPrompt]) -> float:
    """The lower limit of leakage by all that was said: above the bound it is caught."""
    return Leakage(judged).by_way("forbidden")["contains"].interval.low


def own(one: JudgedPrompt) -> str:
    return one.fact.triplet.object


def others(one: JudgedPrompt) -> list[str]:
    return [names[0] for names in one.others]


def coin(*of: object) -> bool:
    return random.Random(str(of)).random() < 0.5
