"""Deciding claims: what numbers may and may not do."""

import itertools
import math
import re
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from uds_bench.statistics import FEWEST, ROUNDING, Interval
from uds_bench.verdicts import (
    Cause,
    Decision,
    Step,
    Verdict,
    decide_equivalence,
    decide_identity,
    decide_ordering,
    decide_threshold,
    units_needed,
)

RANK = {Verdict.FAIL: 0, Verdict.UNDECIDED: 1, Verdict.PASS: 2}
finite = st.floats(-1e6, 1e6)
anything = st.floats(allow_nan=True, allow_infinity=True)
odd = st.sampled_from([math.nan, math.inf, -math.inf])
relations = st.sampled_from([">=", "<="])


@st.composite
def intervals(draw: st.DrawFn, units: int = 12) -> Interval:
    low, high = sorted((draw(finite), draw(finite)))
    assume(high - low > 1e-6)
    return Interval(low, high, "drawn", units)


@given(anything, anything, anything, anything, relations, st.integers(-1, 2 * FEWEST))
def test_a_threshold_passes_on_sound_numbers_alone(
    observed: float, low: float, high: float, bound: float, relation: str, units: int
) -> None:
    decision = decide_threshold(observed, Interval(low, high, "x", units), relation, bound, "authors")
    sound = all(map(math.isfinite, (observed, low, high))) and high > low and units >= FEWEST and not math.isnan(bound)
    if decision.verdict is Verdict.PASS:
        assert sound
        assert low >= bound if relation == ">=" else high <= bound
    if decision.verdict is Verdict.FAIL:
        assert sound


@given(odd, intervals(), relations)
def test_a_threshold_never_passes_on_what_is_not_finite(value: float, interval: Interval, relation: str) -> None:
    for decision in (
        decide_threshold(value, interval, relation, -1e9, "authors"),
        decide_threshold(0.5, Interval(value, 1, "x", 9), relation, -1e9, "authors"),
        decide_threshold(0.5, interval, relation, math.nan, "authors"),
        decide_threshold(None, interval, relation, -1e9, "authors"),
        decide_threshold(0.5, None, relation, -1e9, "authors"),
    ):
        assert decision.verdict is Verdict.UNDECIDED


@given(finite, relations, finite)
def test_no_width_and_one_unit_decide_nothing(value: float, relation: str, bound: float) -> None:
    for interval in (Interval(value, value, "x", 50), Interval(value - 1, value + 1, "x", 1)):
        assert decide_threshold(value, interval, relation, bound, "authors").verdict is Verdict.UNDECIDED


@given(intervals(), finite, finite)
def test_a_stricter_bound_is_never_easier(interval: Interval, a: float, b: float) -> None:
    loose, strict = sorted((a, b))
    value = (interval.low + interval.high) / 2

    def rank(relation: str, bound: float) -> int:
        return RANK[decide_threshold(value, interval, relation, bound, "authors").verdict]

    assert rank(">=", strict) <= rank(">=", loose)
    assert rank("<=", loose) <= rank("<=", strict)


@given(intervals(), finite)
def test_at_least_and_at_most_mirror_each_other(interval: Interval, bound: float) -> None:
    mirrored = Interval(-interval.high, -interval.low, "x", interval.units)
    one = decide_threshold(interval.low, interval, ">=", bound, "authors")
    other = decide_threshold(-interval.low, mirrored, "<=", -bound, "authors")
    assert one.verdict is other.verdict
    assert one.shortfall == other.shortfall


@given(intervals(), finite)
def test_the_shortfall_is_what_the_deciding_bound_misses(interval: Interval, bound: float) -> None:
    decision = decide_threshold(interval.low, interval, ">=", bound, "authors")
    if decision.verdict is Verdict.PASS:
        assert decision.shortfall is None
    else:
        assert decision.shortfall == pytest.approx(bound - interval.low)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.7, 0.9, "pass"), (0.6, 0.8, "undecided"), (0.5, 0.7, "undecided"), (0.5, 0.69, "fail")],
)
def test_the_bound_itself_is_good_enough(low: float, high: float, verdict: str) -> None:
    interval = Interval(low, high, "x", 40)
    assert decide_threshold((low + high) / 2, interval, ">=", 0.7, "authors").verdict == verdict


def test_the_words_of_a_failure() -> None:
    decision = decide_threshold(0.613, Interval(0.592, 0.634, "x", 40), ">=", 0.7, "authors")
    told = "observed 0.613, 95% CI 0.592..0.634 (40 authors), needs >= 0.700"
    assert decision.text == f"{told}: its low end is short by 0.108"
    decision = decide_threshold(0.613, Interval(0.592, 0.634, "x", 40), "<=", 0.5, "authors")
    assert decision.text.endswith("needs <= 0.500: its high end is over by 0.134")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.05, 0.05, "pass"),
        (-0.15, 0.05, "undecided"),
        (0.11, 0.2, "fail"),
        (-0.3, -0.2, "fail"),
        (-1, 1, "undecided"),
    ],
)
def test_equivalence_needs_the_whole_interval_inside(low: float, high: float, verdict: str) -> None:
    decision = decide_equivalence((low + high) / 2, Interval(low, high, "x", 9), 0.1, "prompts")
    assert decision.verdict == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(-0.1, 0.1, "pass"), (0.1, 0.2, "undecided"), (-0.2, -0.1, "undecided")],
)
def test_the_margin_itself_is_near_enough(low: float, high: float, verdict: str) -> None:
    assert decide_equivalence(0.1, Interval(low, high, "x", 9), 0.1, "prompts").verdict == verdict


@given(intervals(), st.floats(0, 1e6))
def test_equivalence_lacks_what_lies_beyond_the_margin(interval: Interval, margin: float) -> None:
    decision = decide_equivalence(interval.low, interval, margin, "x")
    beyond = max(abs(interval.low), abs(interval.high)) - margin
    assert decision.shortfall == (None if beyond <= 0 else beyond)


@given(odd, intervals())
def test_equivalence_never_passes_on_what_is_not_finite(value: float, interval: Interval) -> None:
    assert decide_equivalence(value, interval, 1e9, "x").verdict is Verdict.UNDECIDED
    assert decide_equivalence(0.0, interval, math.nan, "x").verdict is not Verdict.PASS
    assert decide_equivalence(0.0, Interval(0, 0, "x", 9), 1.0, "x").verdict is Verdict.UNDECIDED


@given(anything, anything, anything)
def test_an_identity_holds_within_its_tolerance_only(observed: float, expected: float, tolerance: float) -> None:
    decision = decide_identity(observed, expected, tolerance, "x")
    holds = math.isfinite(observed) and abs(observed - expected) <= tolerance
    assert decision.verdict is (Verdict.PASS if holds else Verdict.FAIL)


def test_an_exact_identity_is_exact() -> None:
    assert decide_identity(0.0, 0.0, 0.0, "x").verdict is Verdict.PASS
    assert decide_identity(5e-324, 0.0, 0.0, "x").verdict is Verdict.FAIL
    assert decide_identity(None, 0.0, 1.0, "x").verdict is Verdict.FAIL


@given(finite, finite, st.floats(0, 1e6))
def test_an_identity_that_fails_says_by_how_much(observed: float, expected: float, tolerance: float) -> None:
    decision = decide_identity(observed, expected, tolerance, "the drop")
    gap = abs(expected - observed)
    assert decision.shortfall == (gap if gap > tolerance else None)
    assert (decision.observed, decision.interval) == (observed, None)
    words = "exactly" if tolerance == 0 else f"within {tolerance:.0e} of"
    assert decision.text.startswith(f"the drop: observed {observed:.3g}, needs {words} {expected:g}")
    assert decision.text.endswith(f": off by {gap:.3g}") == (gap > tolerance)


def step(low: float, high: float, units: int = 15, difference: float | None = None) -> Step:
    middle = (low + high) / 2 if difference is None else difference
    return Step("a", "b", middle, Interval(low, high, "x", units))


def ordered(*steps: Step) -> Decision:
    return decide_ordering(steps, "authors")


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ([], "undecided"),
        ([step(0.1, 0.2)], "pass"),
        ([step(0.1, 0.2), step(0.0, 0.2)], "undecided"),
        ([step(0.1, 0.2), step(-0.2, -0.1)], "fail"),
        ([step(-0.2, -0.1), step(-0.1, 0.1)], "fail"),
        ([step(-0.1, 0.1), step(-0.2, -0.1)], "fail"),
        ([step(-0.2, -0.1), step(0.1, 0.1)], "fail"),
        ([step(0.1, 0.1)], "undecided"),
        ([step(0.1, 0.2, units=1)], "undecided"),
        ([step(math.nan, math.nan)], "undecided"),
        ([step(0.1, 0.2, difference=math.nan)], "undecided"),
    ],
)
def test_an_order_is_as_good_as_its_worst_step(steps: list[Step], verdict: str) -> None:
    assert ordered(*steps).verdict == verdict


@pytest.mark.parametrize(("high", "verdict"), [(ROUNDING, "fail"), (2 * ROUNDING, "undecided")])
def test_a_step_that_reaches_no_higher_than_rounding_goes_the_wrong_way(high: float, verdict: str) -> None:
    assert ordered(step(-0.1, high)).verdict == verdict


@given(st.lists(intervals(), min_size=1, max_size=4))
def test_an_order_has_the_numbers_and_the_words_of_its_steps(drawn: list[Interval]) -> None:
    steps = [Step(f"a{at}", f"b{at}", one.low, one) for at, one in enumerate(drawn)]
    decision = decide_ordering(steps, "people")
    lowest = min(one.low for one in drawn)
    assert decision.observed == lowest
    assert decision.interval is not None
    assert decision.interval.low == lowest
    assert decision.shortfall == (None if decision.verdict is Verdict.PASS else max(0, -lowest))
    *parts, told = decision.text.split("; ")
    assert told == "each needs to lie above 0 (12 people)"
    for one, part in zip(steps, parts, strict=True):
        words = {Verdict.PASS: "", Verdict.FAIL: " goes the wrong way", Verdict.UNDECIDED: " is not clear"}
        numbers = f"{one.difference:+.3f} ({one.interval.low:+.3f}..{one.interval.high:+.3f})"
        needed = units_needed(one.difference, one.interval, 0.0) if ordered(one).verdict is Verdict.UNDECIDED else None
        more = "" if needed is None else f", some {needed} people would decide it"
        assert part == f"{one.later} - {one.earlier} = {numbers}{words[ordered(one).verdict]}{more}"


def test_an_order_says_which_step_decides_nothing_and_that_there_is_none() -> None:
    assert ordered(step(0.1, 0.1)).text.startswith("b - a = +0.100 (+0.100..+0.100) decides nothing; ")
    assert ordered().text == "there is nothing to order"


@given(st.lists(intervals(), min_size=1, max_size=4))
def test_an_order_and_its_reverse_never_both_pass(drawn: list[Interval]) -> None:
    forward = [Step("a", "b", i.low, i) for i in drawn]
    backward = [Step("b", "a", -i.low, Interval(-i.high, -i.low, "x", i.units)) for i in drawn]
    verdicts = {ordered(*forward).verdict, ordered(*backward).verdict}
    assert verdicts != {Verdict.PASS}
    assert ordered(*forward).verdict is ordered(*forward[::-1]).verdict


# ---- causes


@pytest.mark.parametrize(
    ("units", "cause"), [(0, Cause.INTERVAL), (1, Cause.UNITS), (FEWEST - 1, Cause.UNITS), (FEWEST, Cause.INTERVAL)]
)
def test_an_undecided_one_has_a_cause_and_others_have_none(units: int, cause: Cause) -> None:
    """Made of nothing is not made of too little; a cause that is given stands."""
    interval = Interval(0, 1, "x", units)
    for verdict in Verdict:
        is_open = verdict is Verdict.UNDECIDED
        assert Decision(verdict, 0.5, interval, "").cause is (cause if is_open else None)
        assert Decision(verdict, 0.5, None, "").cause is (Cause.INTERVAL if is_open else None)
        assert Decision(verdict, 0.5, interval, "", cause=Cause.STALE).cause is Cause.STALE


# ---- how many units would do


@pytest.mark.parametrize("units", [5, 12, 30, 300])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_so_many_units_all_at_an_end_clear_the_bound_and_one_less_does_not(units: int, share: float) -> None:
    """Exact bounds of ever more units, until one clears a bound that lies between the end and today's."""
    low = 0.025 ** (1 / units)
    bound = low + share * (1 - low)
    needed = next(n for n in itertools.count(units) if 0.025 ** (1 / n) >= bound)
    assert units_needed(1.0, Interval(low, 1.0, "x", units), bound) == needed
    assert units_needed(0.0, Interval(0.0, 1 - low, "x", units), 1 - bound) == needed


@pytest.mark.parametrize(("observed", "bound"), [(0.0, 1e-233), (1.0, 1 - 1e-16), (0.0, 0.001)])
def test_of_a_bound_next_to_the_end_no_number_is_told(observed: float, bound: float) -> None:
    assert units_needed(observed, Interval(observed / 2, (1 + observed) / 2, "x", 12), bound) is None


@pytest.mark.parametrize(
    ("observed", "low", "high", "bound", "needed"),
    [
        (0.5, 0.1, 0.9, 0.7, 40),
        (0.5, 0.1, 0.9, 0.3, 40),
        (0.5, 0.2, 0.8, 0.7, 23),
        (1.0, 0.6, 1.4, 0.8, 40),
        (0.0, -0.4, 0.4, 0.2, 40),
        (1.0, 1.0, 2.0, 1.5, 40),
        (0.0, -1.0, 0.0, -0.5, 40),
        (1.0, 0.0, 1.0, 0.0, 10),
        (0.0, 0.0, 1.0, 1.0, 10),
        (1.0, 0.0, 1.0, 0.5, None),
        (0.0, 0.0, 1.0, 0.5, None),
        (1.0, 0.5, 1.0, 1.0, None),
        (0.5, 0.4, 0.6, 0.5, None),
        (0.0, -1.0, 1.0, 0.1, 1000),
        (0.0, -1.0, 1.0, 0.0999, None),
        (0.0, -1.0, 1.0, 0.3, 120),
    ],
)
def test_other_intervals_shrink_with_the_root_of_their_units(
    observed: float, low: float, high: float, bound: float, needed: int | None
) -> None:
    """Ten units times the square of how far it reaches over the gap, rounded up to two digits."""
    assert units_needed(observed, Interval(low, high, "x", 10), bound) == needed


# ---- what is told


def at_least(observed: float | None, interval: Interval | None) -> Decision:
    return decide_threshold(observed, interval, ">=", 0.1, "people")


def equal(observed: float | None, interval: Interval | None) -> Decision:
    return decide_equivalence(observed, interval, 0.1, "people")


@pytest.mark.parametrize("decide", [at_least, equal])
@pytest.mark.parametrize("low", [0.15, 0.05, -0.05, -0.4])
@pytest.mark.parametrize(("width", "units"), [(0.1, 20), (0.1, 4), (0.0, 20)])
def test_a_decision_tells_the_numbers_that_it_was_made_of(
    decide: Callable[[float, Interval], Decision], low: float, width: float, units: int
) -> None:
    interval = Interval(low, low + width, "x", units)
    decision = decide(low + 0.04, interval)
    assert (decision.observed, decision.interval) == (low + 0.04, interval)
    found = re.match(
        r"observed (\S+), 95% CI (\S+)\.\.(\S+) \((\d+) people\), needs (?:>=|to lie within \+-) ?(0\.100)",
        decision.text,
    )
    assert found is not None, decision.text
    told = [float(number) for number in found.groups()]
    assert told == pytest.approx([low + 0.04, low, low + width, units, 0.1], abs=5.1e-4)
    short = re.search(r"(?:short by|over by|reaches) (\S+?)(?:;| beyond|$)", decision.text)
    assert (short is None) == (decision.shortfall is None)
    if short is not None:
        assert float(short[1]) == pytest.approx(decision.shortfall, abs=5.1e-4)
    assert decision.text.endswith(" decides nothing") == (not interval.decides)


@pytest.mark.parametrize("decide", [at_least, equal])
@pytest.mark.parametrize("observed", [None, math.nan, math.inf])
def test_what_was_not_observed_is_told(
    decide: Callable[[float | None, Interval | None], Decision], observed: float | None
) -> None:
    decision = decide(observed, Interval(0, 1, "x", 20))
    assert (decision.observed, decision.interval) == (None, None)
    assert decision.text.startswith("no finite value was observed, needs ")
    assert decision.text.endswith("0.100")
    assert decide_identity(observed, 0, 1, "drop").text == "drop: no finite value was observed"
    assert decide_identity(observed, 0, 1, "drop").observed is None


@pytest.mark.parametrize(
    ("width", "units", "why"), [(0, FEWEST, "an interval without width"), (1, 4, "fewer than 5 people")]
)
def test_why_an_interval_decides_nothing_is_told(width: float, units: int, why: str) -> None:
    assert at_least(0.5, Interval(0.5, 0.5 + width, "x", units)).text.endswith(f": {why} decides nothing")


@pytest.mark.parametrize(("low", "some"), [(0.05, True), (0.0999, False)])
def test_how_many_units_would_decide_is_told_where_so_many_can_be_had(low: float, some: bool) -> None:
    interval = Interval(-0.5, 0.5, "x", 20)
    needed = units_needed(low, interval, 0.1)
    assert (needed is not None) == some
    told = at_least(low, interval).text.partition("the interval holds the bound, its low end is short by 0.600")[2]
    assert told == (f"; some {needed} people would decide it" if some else "")


@pytest.mark.parametrize(
    ("observed", "reach", "needed"),
    [(0.0, 0.2, 80), (0.05, 0.1, 80), (-0.05, 0.1, 80), (0.15, 0.1, 80), (-0.15, 0.1, 80), (0.1, 0.1, None)],
)
def test_how_many_units_would_show_an_equivalence_or_its_lack_is_told(
    observed: float, reach: float, needed: int | None
) -> None:
    """Within the margin both its ends are to be left out of the interval, beyond it the nearer one."""
    told = equal(observed, Interval(observed - reach, observed + reach, "x", 20)).text
    assert told.endswith(f"; some {needed} people would decide it") == (needed is not None)
    assert ("would decide" in told) == (needed is not None)


def test_as_many_units_as_there_are_leave_a_bound_out_that_lies_beyond() -> None:
    assert units_needed(0.5, Interval(0.4, 0.6, "x", 20), 0.7) == 20
    assert units_needed(0.0, Interval(-0.1, 0.0, "x", 20), 0.1) == 20
