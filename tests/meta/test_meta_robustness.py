"""Q and R, symmetric and one-sided: their algebra (definitions 004.5, items 5 to 7), and the means over models."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from references import meta_formulas as plain

from uds_bench.audits.metrics.estimate import Estimate, harmonic, mean_over_models
from uds_bench.audits.metrics.judged_metrics import JUDGED, row_of
from uds_bench.audits.metrics.robustness import (
    one_sided_q,
    one_sided_r,
    oriented,
    robustness,
    symmetric_q,
)
from uds_bench.metrics import METRICS
from uds_bench.statistics import FEWEST, Interval, harmonic_mean

SHARES = st.integers(0, 1000).map(lambda n: n / 1000)
SIGNED = st.integers(-1000, 1000).map(lambda n: n / 1000)
POSITIVE = st.integers(1, 1000).map(lambda n: n / 1000)


@given(SIGNED, SIGNED)
def test_q_is_the_plain_formula(before: float, after: float) -> None:
    expected = plain.change_kept(Fraction(before), Fraction(after))
    assert symmetric_q(before, after) == pytest.approx(float(expected), abs=1e-15)


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_q_lies_in_its_range_and_knows_no_side(before: float, after: float) -> None:
    q = symmetric_q(before, after)
    assert 0 <= q <= 1
    assert q == symmetric_q(after, before) == symmetric_q(-before, -after)


@given(SIGNED, SIGNED)
def test_q_is_one_only_where_nothing_changed(before: float, after: float) -> None:
    assert (symmetric_q(before, after) == 1) == (before == after)


@given(SIGNED, SIGNED, st.sampled_from([2.0**-20, 0.25, 8.0, 2.0**20]))
def test_q_does_not_see_the_scale(before: float, after: float, scale: float) -> None:
    assert symmetric_q(before * scale, after * scale) == symmetric_q(before, after)


@given(POSITIVE, POSITIVE)
def test_q_is_nought_where_signs_differ_or_one_is_nought(one: float, other: float) -> None:
    assert symmetric_q(one, -other) == 0
    assert symmetric_q(one, 0.0) == symmetric_q(0.0, one) == 0
    assert symmetric_q(0.0, 0.0) == 1


@given(POSITIVE, POSITIVE)
def test_q_is_two_q_over_one_plus_q(before: float, after: float) -> None:
    ratio = min(before, after) / max(before, after)
    assert symmetric_q(before, after) == pytest.approx(2 * ratio / (1 + ratio), rel=1e-12)


@given(SHARES, SHARES)
def test_the_one_sided_q_misses_every_fall(before: float, after: float) -> None:
    q, one_sided = symmetric_q(before, after), one_sided_q(before, after)
    assert one_sided == pytest.approx(float(plain.recovered(Fraction(before), Fraction(after))), rel=1e-12)
    if after >= before:
        assert q == pytest.approx(2 * one_sided / (1 + one_sided), abs=1e-12)
        assert q >= one_sided - 1e-15
    else:
        assert one_sided == 1 > q


def test_a_ratio_of_negative_values_says_nothing() -> None:
    assert math.isnan(one_sided_q(-0.1, 0.2))
    assert math.isnan(one_sided_q(0.1, -0.2))
    assert math.isnan(one_sided_q(math.nan, 0.2))
    assert math.isnan(one_sided_r(0.1, math.nan))
    assert math.isnan(symmetric_q(math.nan, 0.2))


@given(SIGNED, SIGNED)
def test_the_one_sided_r_misses_everything_that_is_not_regained(unlearned: float, retain: float) -> None:
    found = one_sided_r(unlearned, retain)
    assert 0 <= found <= 1
    if unlearned <= retain:
        assert found == 1
    elif retain >= 0:  # both gain: the published quotient
        assert found == pytest.approx(retain / unlearned, rel=1e-12)
    if unlearned > 0 >= retain:
        assert found == 0


@given(SHARES, SHARES, SHARES, SHARES)
def test_r_does_not_see_the_direction(before: float, after: float, was: float, became: float) -> None:
    """On a grid of exact fractions, where 1 - m is exact too."""
    turned = [Fraction(1) - Fraction(v) for v in (before, after, was, became)]
    straight = plain.change_kept(Fraction(after) - Fraction(before), Fraction(became) - Fraction(was))
    assert plain.change_kept(turned[1] - turned[0], turned[3] - turned[2]) == straight
    found = [
        robustness({"m": b}, {"m": b}, {"m": a}, (w, v), converted=c).r.value
        for b, a, w, v, c in ((before, after, was, became, False), (before, after, was, became, True))
    ]
    # Changes that differ by rounding alone may have no sign at all: only those of some size are compared.
    assume(all(x == 0 or abs(x) > 1e-3 for x in (after - before, became - was)))
    assume((after == before) == (1 - after == 1 - before))
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_q_sees_the_direction() -> None:
    assert symmetric_q(0.1, 0.2) == pytest.approx(2 / 3)
    assert symmetric_q(oriented(0.1, True), oriented(0.2, True)) == pytest.approx(16 / 17)


def test_the_direction_table_is_the_authors() -> None:
    assert {name for name, row in JUDGED.items() if row.converted} == {
        "uds", "s_loss", "s_zlib", "s_min_k", "s_min_k_plus_plus",
    }  # fmt: skip
    assert len(JUDGED) == 20
    tags = [tag for row in JUDGED.values() for tag in row.tags]
    assert {tag: tags.count(tag) for tag in "ORI"} == {"O": 18, "R": 8, "I": 4}
    assert all(row.direction == "erasure" for row in JUDGED.values() if row.converted)


@pytest.mark.parametrize("name", sorted(JUDGED.keys() & METRICS.keys()))
def test_the_table_and_the_metrics_agree_on_direction(name: str) -> None:
    assert row_of(METRICS[name]) is JUDGED[name]
    assert METRICS[name].direction == JUDGED[name].direction


NAMES = [f"m{i}" for i in range(8)]


@st.composite
def lineups(draw: st.DrawFn) -> tuple[dict[str, float], dict[str, float], dict[str, float], tuple[float, float]]:
    """Values of up to eight models before, quantized and relearned, and the retain model's pair; sixteenths."""
    names = NAMES[: draw(st.integers(1, 8))]
    share = st.integers(0, 16).map(lambda n: n / 16)
    before, quantized, relearned = ({n: draw(share) for n in names} for _ in range(3))
    return before, quantized, relearned, (draw(share), draw(share))


@given(lineups(), st.booleans())
def test_means_over_models_are_the_plain_ones(lineup: tuple, converted: bool) -> None:
    before, quantized, relearned, retain = lineup
    exact = [{n: Fraction(v) for n, v in values.items()} for values in (before, quantized, relearned)]
    q, r = plain.means(*exact, (Fraction(retain[0]), Fraction(retain[1])), converted)
    found = robustness(before, quantized, relearned, retain, converted=converted)
    assert found.q.value == pytest.approx(float(q), abs=1e-12)
    assert found.r.value == pytest.approx(float(r), abs=1e-12)
    assert found.rob.value == pytest.approx(float(plain.harmonic([q, r])), abs=1e-12)
    for part in (found.q, found.r, found.rob):
        assert part.interval.low - 1e-12 <= part.value <= part.interval.high + 1e-12
        assert part.interval.units == len(before)


def test_a_model_that_lacks_a_value_is_not_left_out() -> None:
    with pytest.raises(KeyError):
        robustness({"a": 0.1, "b": 0.1}, {"a": 0.1}, {"a": 0.1, "b": 0.1}, (0.0, 0.1), converted=False)


def test_no_models_give_no_number() -> None:
    found = robustness({}, {}, {}, (0.0, 0.1), converted=False)
    assert math.isnan(found.rob.value)
    assert not found.rob.interval.decides


def test_few_models_decide_nothing() -> None:
    values = {n: 0.1 * i for i, n in enumerate(NAMES[: FEWEST - 1], 1)}
    found = robustness(values, {n: v + 0.01 for n, v in values.items()}, values, (0.0, 0.1), converted=False)
    assert not found.q.interval.decides


def test_perfect_models_are_bounded_exactly() -> None:
    """Eight models that do not move at all: the bootstrap has no width, and would pass any bound."""
    values = dict.fromkeys(NAMES, 0.5)
    found = robustness(values, values, dict.fromkeys(NAMES, 0.75), (0.25, 0.5), converted=False)
    assert found.q.value == found.r.value == found.rob.value == 1
    assert found.q.interval.low == pytest.approx(0.025 ** (1 / 8))
    assert found.rob.interval.low == pytest.approx(0.0125 ** (1 / 8))


# ---- harmonic means of estimates


def fixed(value: float, width: float) -> Estimate:
    """An estimate whose interval is wider the surer it must be."""
    return Estimate(value, lambda level: Interval(value - width * level, value + width * level, "fixed", 9))


@given(st.lists(SHARES, min_size=1, max_size=5))
def test_the_harmonic_mean_lies_where_it_must(values: list[float]) -> None:
    found, smallest = harmonic_mean(*values), min(values)
    geometric, mean = math.prod(values) ** (1 / len(values)), math.fsum(values) / len(values)
    assert found == pytest.approx(float(plain.harmonic([Fraction(v) for v in values])), rel=1e-12)
    for lower, higher in ((smallest, found), (found, geometric), (geometric, mean), (found, len(values) * smallest)):
        assert lower <= higher * (1 + 1e-9)
    assert (found == 0) == (smallest == 0)


def test_a_joined_interval_shares_out_what_it_may_miss() -> None:
    joined = harmonic(fixed(0.8, 0.1), fixed(0.6, 0.1))
    low = harmonic_mean(0.8 - 0.1 * 0.975, 0.6 - 0.1 * 0.975)
    assert joined.value == harmonic_mean(0.8, 0.6)
    assert joined.interval.low == pytest.approx(low)
    assert joined.interval.low < harmonic_mean(0.8 - 0.095, 0.6 - 0.095)


def test_a_part_without_a_number_leaves_none() -> None:
    joined = harmonic(fixed(0.8, 0.1), mean_over_models({}))
    assert math.isnan(joined.value)
    assert not joined.interval.decides
