"""Deciding a claim from numbers: pure functions, and the words for what came out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from uds_bench.statistics import FEWEST, ROUNDING, Interval

MOST_TIMES = 100
"""Times as many units as there are, beyond which it does not help to say how many would do."""
Relation = Literal[">=", "<=", ">", "<", "=="]


class Verdict(StrEnum):
    """What a claim came to. NOT_APPLICABLE is no verdict: there was nothing to decide, and it is only counted."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    NOT_APPLICABLE = "not applicable"


BAD = (Verdict.FAIL, Verdict.UNDECIDED)
"""What stops a release, unless a claim has a flag."""
WORST_FIRST = (*BAD, Verdict.PASS, Verdict.NOT_APPLICABLE)


class Cause(StrEnum):
    """Why a claim is undecided.

    INTERVAL: it holds the bound, or there is none. UNITS: it is over too few people or facts. CONTROL: a subject whose
    verdict is known came out otherwise. BASIS: activations are in another basis than the full model's. DRIFTED, STALE:
    the value is not the recorded one, or is of another measurement than it. REFUSED: the model cannot be loaded, read
    or compared. CRASHED: the test broke off. MISSING: it never decided.
    """

    INTERVAL = "interval"
    UNITS = "too few units"
    CONTROL = "control"
    BASIS = "another basis"
    DRIFTED = "drifted"
    STALE = "stale"
    REFUSED = "refused"
    CRASHED = "crashed"
    MISSING = "missing"


ADVICE = {
    Cause.INTERVAL: "judge more facts, of more people: the interval is too wide to tell.",
    Cause.UNITS: f"judge at least {FEWEST} people, facts or models: fewer decide nothing.",
    Cause.CONTROL: "the control that is named shows which model or fact is amiss: mend that, mostly of the set-up.",
    Cause.BASIS: "candidate and retain model must be made from the full model's base: patching reads none of another.",
    Cause.DRIFTED: "compare versions and models with those recorded; record anew if the change is meant.",
    Cause.STALE: "record goldens anew: another measurement was recorded.",
    Cause.REFUSED: "mend its files, name others, or take it out; the others are judged all the same.",
    Cause.CRASHED: "mend what the line names and run again; what was scored is kept.",
    Cause.MISSING: "run its command by itself; install or add what the line names.",
}
"""What to do about a claim that is undecided, by its cause."""


class Flag(StrEnum):
    """What was known of a claim beforehand. With a flag it stops no release.

    CAUGHT, CLEARED: a specimen came to what it must come to, a fail or a pass. DECLARED: it came to what the manifest
    says in advance. WAIVED: a waiver excuses it. RESULT: it speaks of models that the run itself trained.
    """

    CAUGHT = "caught"
    CLEARED = "cleared"
    DECLARED = "declared"
    WAIVED = "waived"
    RESULT = "result"


KNOWN = (Flag.CAUGHT, Flag.CLEARED)
"""Of models whose verdict the project knows: what they came to stands as it is."""


@dataclass(frozen=True)
class Decision:
    """A verdict with the numbers behind it; `shortfall` is by how much the deciding bound misses, else None. `cause`:
    why it is undecided; `advice`: what to do then, where it is not what its cause says."""

    verdict: Verdict
    observed: float | None
    interval: Interval | None
    text: str
    shortfall: float | None = None
    cause: Cause | None = None
    advice: str = ""

    def __post_init__(self) -> None:
        if self.cause is None and self.verdict is Verdict.UNDECIDED:
            object.__setattr__(self, "cause", cause_of(self.interval))


def cause_of(interval: Interval | None) -> Cause:
    """Why an interval decides nothing. One that was made of no finite value has no units, and not too few."""
    few = interval is not None and 0 < interval.units < FEWEST
    return Cause.UNITS if few else Cause.INTERVAL


def decide_threshold(
    observed: float | None, interval: Interval | None, relation: Literal[">=", "<="], bound: float, unit: str
) -> Decision:
    """PASS if the near bound of the interval clears the threshold, FAIL if the far bound misses it, else UNDECIDED.

    An interval that is missing, not finite, without width or over fewer than `FEWEST` units decides nothing.

    Args:
        observed: The value, in any unit; None where there is none.
        interval: Around it.
        relation: On which side of the bound it must lie.
        bound: In the value's unit.
        unit: What the interval is over, in words.

    Returns:
        The verdict with its numbers; `shortfall` is in the value's unit, 0 and above, lower better.

    Example:
        >>> for low, high in ((0.75, 0.85), (0.65, 0.85), (0.5, 0.6)):
        ...     middle = (low + high) / 2
        ...     print(decide_threshold(middle, Interval(low, high, "by hand", 20), ">=", 0.7, "authors").verdict)
        pass
        undecided
        fail
    """
    if observed is None or not math.isfinite(observed) or interval is None:
        return Decision(Verdict.UNDECIDED, None, None, f"no finite value was observed, needs {relation} {bound:.3f}")
    text = (
        f"observed {observed:.3f}, 95% CI {interval.low:.3f}..{interval.high:.3f} "
        f"({interval.units} {unit}), needs {relation} {bound:.3f}"
    )
    if not interval.decides:
        why = f"fewer than {FEWEST} {unit}" if interval.units < FEWEST else "an interval without width"
        return Decision(Verdict.UNDECIDED, observed, interval, f"{text}: {why} decides nothing")
    sign = 1.0 if relation == ">=" else -1.0
    near, far = (interval.low, interval.high) if relation == ">=" else (interval.high, interval.low)
    if sign * (near - bound) >= 0:
        return Decision(Verdict.PASS, observed, interval, text)
    short = sign * (bound - near)
    misses = f"its low end is short by {short:.3f}" if sign > 0 else f"its high end is over by {short:.3f}"
    if sign * (far - bound) < 0:
        return Decision(Verdict.FAIL, observed, interval, f"{text}: {misses}", short)
    more = _would_decide([(observed, interval, bound)], unit, "; ")
    told = f"{text}: the interval holds the bound, {misses}{more}"
    return Decision(Verdict.UNDECIDED, observed, interval, told, short)


def units_needed(observed: float, interval: Interval, bound: float) -> int | None:
    """About how many units would move the bound out of the interval, were the mean and the spread the same.

    An interval shrinks with the root of its units; where all of them are at 0 or at 1, as exact bounds do.

    Args:
        observed: the mean.
        interval: around it, over the units at hand.
        bound: what it is held against.

    Returns:
        So many units, rounded up to two digits; those at hand where the interval leaves the bound out; None where it
        would take more than `MOST_TIMES` times as many.

    Example:
        >>> units_needed(0.8, Interval(0.6, 1.0, "by hand", 10), bound=0.7)
        40
        >>> units_needed(1.0, Interval(0.025 ** (1 / 30), 1.0, "exact", 30), bound=0.9)  # 0.025 ** (1 / 36) = 0.903
        36
    """
    if bound < interval.low or bound > interval.high:
        return interval.units
    if observed in (0.0, 1.0) and observed in (interval.low, interval.high) and 0 < bound < 1:
        clear = interval.low if observed else 1 - interval.high
        if clear <= 0:
            return None
        # 1 less a bound next to 0 is 1, whose logarithm is 0.
        times = math.log(clear) / (math.log(bound) if observed else math.log1p(-bound))
        return None if times > MOST_TIMES else math.ceil(interval.units * times)
    gap, reach = abs(observed - bound), observed - interval.low if observed > bound else interval.high - observed
    if not gap > 0 or reach > gap * math.sqrt(MOST_TIMES):
        return None
    exact = interval.units * (reach / gap) ** 2
    step = 10 ** int(max(0, math.floor(math.log10(exact)) - 1))
    return int(math.ceil(exact / step - ROUNDING) * step)


def all_needed(held: Iterable[tuple[float, Interval, float]]) -> int | None:
    """About how many units would move each bound out of its interval: see `units_needed`.

    Args:
        held: A mean, its interval and a bound, each.

    Returns:
        The most of them; None where one is out of reach, or there is none.

    Example:
        >>> ten = Interval(0.6, 1.0, "by hand", 10)
        >>> all_needed([(0.8, ten, 0.7), (0.8, ten, 0.6)]), all_needed([(0.8, ten, 0.7), (0.8, ten, 0.8)])
        (40, None)
    """
    needed = [units_needed(*one) for one in held]
    known = [one for one in needed if one is not None]
    return max(known) if known and len(known) == len(needed) else None


def _would_decide(held: Iterable[tuple[float, Interval, float]], unit: str, before: str) -> str:
    needed = all_needed(held)
    return "" if needed is None else f"{before}some {needed} {unit} would decide it"


def decide_equivalence(observed: float | None, interval: Interval | None, margin: float, unit: str) -> Decision:
    """PASS if the whole interval lies within +-margin of 0, FAIL if it lies wholly outside, else UNDECIDED.

    Args:
        observed: A difference, in any unit; None where there is none.
        interval: Around it.
        margin: How far from 0 still counts as equal, 0 and above, in the same unit.
        unit: What the interval is over, in words.

    Returns:
        The verdict with its numbers; `shortfall` is how far the interval reaches beyond the margin.

    Example:
        >>> for low, high in ((-0.05, 0.05), (0.05, 0.15), (0.2, 0.3)):
        ...     middle = (low + high) / 2
        ...     print(decide_equivalence(middle, Interval(low, high, "by hand", 20), 0.1, "authors").verdict)
        pass
        undecided
        fail
    """
    if observed is None or not math.isfinite(observed) or interval is None:
        return Decision(Verdict.UNDECIDED, None, None, f"no finite value was observed, needs within +-{margin:.3f}")
    text = (
        f"observed {observed:+.3f}, 95% CI {interval.low:+.3f}..{interval.high:+.3f} "
        f"({interval.units} {unit}), needs to lie within +-{margin:.3f}"
    )
    if not interval.decides:
        return Decision(Verdict.UNDECIDED, observed, interval, f"{text}: the interval decides nothing")
    if -margin <= interval.low and interval.high <= margin:
        return Decision(Verdict.PASS, observed, interval, text)
    short = max(interval.high - margin, -margin - interval.low)
    outside = interval.low > margin or interval.high < -margin
    if outside:
        return Decision(Verdict.FAIL, observed, interval, f"{text}: it reaches {short:.3f} beyond", short)
    # To lie wholly within both ends must be left behind; wholly outside, the nearer one.
    ends = [-margin, margin] if abs(observed) <= margin else [math.copysign(margin, observed)]
    more = _would_decide([(observed, interval, end) for end in ends], unit, "; ")
    return Decision(Verdict.UNDECIDED, observed, interval, f"{text}: it reaches {short:.3f} beyond{more}", short)


def decide_identity(observed: float | None, expected: float, tolerance: float, what: str) -> Decision:
    """PASS if `abs(observed - expected) <= tolerance`, exactly where that is 0; a value that is not finite FAILs.

    Args:
        observed: The value, in any unit; None where there is none.
        expected: What the definition says it is.
        tolerance: What rounding may change, 0 and above, in the same unit.
        what: The value in words.

    Returns:
        The verdict; never UNDECIDED. `shortfall` is the distance of a value that fails.

    Example:
        >>> decide_identity(1e-7, 0.0, 1e-6, "largest drop").verdict.value
        'pass'
        >>> decide_identity(math.nan, 0.0, 1e-6, "largest drop").verdict.value
        'fail'
    """
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
    """PASS if every step's interval lies above 0, FAIL if one lies wholly at or below it, else UNDECIDED.

    Args:
        steps: The differences between neighbours, in any one unit.
        unit: What their intervals are over, in words.

    Returns:
        The verdict with the numbers of the step whose interval lies lowest.

    Example:
        >>> up = Step("full", "retain95", 0.3, Interval(0.2, 0.4, "by hand", 20))
        >>> down = Step("retain95", "retain", -0.1, Interval(-0.2, -0.05, "by hand", 20))
        >>> decide_ordering([up], "authors").verdict.value, decide_ordering([up, down], "authors").verdict.value
        ('pass', 'fail')
    """
    if not steps:
        return Decision(Verdict.UNDECIDED, None, None, "there is nothing to order")
    parts, verdict = [], Verdict.PASS
    for step in steps:
        low, high = step.interval.low, step.interval.high
        part = f"{step.later} - {step.earlier} = {step.difference:+.3f} ({low:+.3f}..{high:+.3f})"
        if not (step.interval.decides and math.isfinite(step.difference)):
            verdict = verdict if verdict is Verdict.FAIL else Verdict.UNDECIDED
            part += " decides nothing"
        elif high <= ROUNDING:
            verdict = Verdict.FAIL
            part += " goes the wrong way"
        elif low <= 0:
            verdict = verdict if verdict is Verdict.FAIL else Verdict.UNDECIDED
            part += " is not clear" + _would_decide([(step.difference, step.interval, 0.0)], unit, ", ")
        parts.append(part)
    worst = min(steps, key=lambda step: step.interval.low)
    text = f"{'; '.join(parts)}; each needs to lie above 0 ({worst.interval.units} {unit})"
    short = None if verdict is Verdict.PASS else max(0.0, -worst.interval.low)
    return Decision(verdict, worst.difference, worst.interval, text, short)
