"""Deciding a claim from numbers: pure functions, and the words for what came out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from uds_bench.statistics import FEWEST, ROUNDING, Interval

Relation = Literal[">=", "<=", ">", "<", "=="]


class Verdict(StrEnum):
    """What a claim came to. Every word but those in `GOOD` makes the run exit 1.

    CAUGHT, CLEARED: a specimen came to what it must come to, a miss or a pass. RESULT: what a claim about models
    trained here came to other than a pass. DRIFTED: the value is not the recorded one.
    """

    PASS = "pass"
    CAUGHT = "caught"
    CLEARED = "cleared"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    MISSING = "missing"
    DRIFTED = "drifted"
    STALE = "stale"
    CRASHED = "crashed"
    INVALID = "environment invalid"
    EXPECTED = "expected miss"
    WAIVED = "waived"
    NOT_APPLICABLE = "not applicable"
    WARNING = "warning"
    RESULT = "result"


GOOD = frozenset(
    {
        *(Verdict.PASS, Verdict.CAUGHT, Verdict.CLEARED, Verdict.RESULT),
        *(Verdict.EXPECTED, Verdict.WAIVED, Verdict.NOT_APPLICABLE, Verdict.WARNING),
    }
)


@dataclass(frozen=True)
class Decision:
    """A verdict with the numbers behind it; `shortfall` is by how much the deciding bound misses, else None."""

    verdict: Verdict
    observed: float | None
    interval: Interval | None
    text: str
    shortfall: float | None = None


def decide_threshold(
    observed: float | None, interval: Interval | None, relation: Literal[">=", "<="], bound: float, unit: str
) -> Decision:
    """PASS if the near bound of the interval clears the threshold, FAIL if the far bound misses it, else INCONCLUSIVE.

    An interval that is missing, not finite, without width or over fewer than `FEWEST` units decides nothing.
    """
    if observed is None or not math.isfinite(observed) or interval is None:
        return Decision(Verdict.INCONCLUSIVE, None, None, f"no finite value was observed, needs {relation} {bound:.3f}")
    text = (
        f"observed {observed:.3f}, 95% CI {interval.low:.3f}..{interval.high:.3f} "
        f"({interval.units} {unit}), needs {relation} {bound:.3f}"
    )
    if not interval.decides:
        why = f"fewer than {FEWEST} {unit}" if interval.units < FEWEST else "an interval without width"
        return Decision(Verdict.INCONCLUSIVE, observed, interval, f"{text}: {why} decides nothing")
    sign = 1.0 if relation == ">=" else -1.0
    near, far = (interval.low, interval.high) if relation == ">=" else (interval.high, interval.low)
    if sign * (near - bound) >= 0:
        return Decision(Verdict.PASS, observed, interval, text)
    short = sign * (bound - near)
    if sign * (far - bound) < 0:
        return Decision(Verdict.FAIL, observed, interval, f"{text}: short by {short:.3f}", short)
    return Decision(
        Verdict.INCONCLUSIVE, observed, interval, f"{text}: the interval holds the bound, short by {short:.3f}", short
    )


def decide_equivalence(observed: float | None, interval: Interval | None, margin: float, unit: str) -> Decision:
    """PASS if the whole interval lies within +-margin of 0, FAIL if it lies wholly outside, else INCONCLUSIVE."""
    if observed is None or not math.isfinite(observed) or interval is None:
        return Decision(Verdict.INCONCLUSIVE, None, None, f"no finite value was observed, needs within +-{margin:.3f}")
    text = (
        f"observed {observed:+.3f}, 95% CI {interval.low:+.3f}..{interval.high:+.3f} "
        f"({interval.units} {unit}), needs to lie within +-{margin:.3f}"
    )
    if not interval.decides:
        return Decision(Verdict.INCONCLUSIVE, observed, interval, f"{text}: the interval decides nothing")
    if -margin <= interval.low and interval.high <= margin:
        return Decision(Verdict.PASS, observed, interval, text)
    short = max(interval.high - margin, -margin - interval.low)
    outside = interval.low > margin or interval.high < -margin
    verdict = Verdict.FAIL if outside else Verdict.INCONCLUSIVE
    return Decision(verdict, observed, interval, f"{text}: short by {short:.3f}", short)


def decide_identity(observed: float | None, expected: float, tolerance: float, what: str) -> Decision:
    """PASS if |observed - expected| <= tolerance, exactly where that is 0; a value that is not finite FAILs."""
    if observed is None or not math.isfinite(observed):
        return Decision(Verdict.FAIL, None, None, f"{what}: no finite value was observed")
    gap = abs(observed - expected)
    limit = "exactly" if tolerance == 0 else f"within {tolerance:.0e} of"
    text = f"{what}: observed {observed:.3g}, needs {limit} {expected:g}"
    if gap <= tolerance:
        return Decision(Verdict.PASS, observed, None, text)
    return Decision(Verdict.FAIL, observed, None, f"{text}: off by {gap:.3g}", gap)


@dataclass(frozen=True)
class Step:
    """One step of an ordering: `later` minus `earlier`, paired over the units, with its interval."""

    earlier: str
    later: str
    difference: float
    interval: Interval


def decide_ordering(steps: Sequence[Step], unit: str) -> Decision:
    """PASS if every step's interval lies above 0, FAIL if one lies wholly at or below it, else INCONCLUSIVE."""
    if not steps:
        return Decision(Verdict.INCONCLUSIVE, None, None, "there is nothing to order")
    parts, verdict = [], Verdict.PASS
    for step in steps:
        low, high = step.interval.low, step.interval.high
        part = f"{step.later} - {step.earlier} = {step.difference:+.3f} ({low:+.3f}..{high:+.3f})"
        if not (step.interval.decides and math.isfinite(step.difference)):
            verdict = verdict if verdict is Verdict.FAIL else Verdict.INCONCLUSIVE
            part += " decides nothing"
        elif high <= ROUNDING:
            verdict = Verdict.FAIL
            part += " goes the wrong way"
        elif low <= 0:
            verdict = verdict if verdict is Verdict.FAIL else Verdict.INCONCLUSIVE
            part += " is not clear"
        parts.append(part)
    worst = min(steps, key=lambda step: step.interval.low)
    text = f"{'; '.join(parts)}; each needs to lie above 0 ({worst.interval.units} {unit})"
    short = None if verdict is Verdict.PASS else max(0.0, -worst.interval.low)
    return Decision(verdict, worst.difference, worst.interval, text, short)
