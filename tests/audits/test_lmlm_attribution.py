"""Through which channel an answer came: the three indicators, the counts behind them, and McNemar's test of these."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits.lmlm.attribution import (
    Contingency,
    PromptOutcome,
    artifact_gap,
    closure_gap,
    contingency,
    identity_gap,
)
from uds_bench.statistics import mcnemar

OUTCOMES = st.lists(st.builds(PromptOutcome, st.booleans(), st.booleans(), st.booleans()), max_size=30)
COUNTS = st.integers(0, 60)


@given(OUTCOMES)
def test_artifacts_are_the_mediated_and_what_weights_and_rows_make_of_them(outcomes: list[PromptOutcome]) -> None:
    """A - R = 1[on] (L - G), of each and of their sum (definitions 000.7, 1 and 2)."""
    assert artifact_gap(outcomes) == 0
    for one in outcomes:
        a, r = one.on and not one.gold_retained, one.on and not one.off
        assert (one.artifact, one.mediated, one.leaked) == (a, r, one.off)
    found = contingency(outcomes)
    held = sum(one.on and one.gold_retained for one in outcomes)
    assert sum(one.artifact for one in outcomes) - sum(one.mediated for one in outcomes) == found.a - held


@given(OUTCOMES)
def test_mediated_and_artifact_differ_where_one_precondition_alone_fails(outcomes: list[PromptOutcome]) -> None:
    """R = A where nothing leaks and nothing gold is left; also where both fail, and where the answer is wrong."""
    assert closure_gap(outcomes) == sum(one.on and one.off != one.gold_retained for one in outcomes)
    clean = [PromptOutcome(one.on, False, False) for one in outcomes]
    assert closure_gap(clean) == 0
    leaking = [PromptOutcome(one.on, True, False) for one in outcomes]
    incomplete = [PromptOutcome(one.on, False, True) for one in outcomes]
    right = sum(one.on for one in outcomes)
    assert closure_gap(leaking) == closure_gap(incomplete) == right


def test_each_precondition_is_needed() -> None:
    assert closure_gap([PromptOutcome(True, False, False)]) == 0
    assert closure_gap([PromptOutcome(True, True, False)]) == 1
    assert closure_gap([PromptOutcome(True, False, True)]) == 1
    assert closure_gap([PromptOutcome(True, True, True)]) == 0
    assert closure_gap([PromptOutcome(False, True, False), PromptOutcome(False, False, True)]) == 0


def test_a_definition_that_strays_is_counted() -> None:
    """The gap is 0 by what the three indicators are; one that is none of them shows."""

    class Strayed(PromptOutcome):
        @property
        def artifact(self) -> bool:
            return self.on

    assert artifact_gap([Strayed(True, False, True), Strayed(False, False, True), Strayed(True, False, False)]) == 1


@given(OUTCOMES)
def test_counts_are_those_of_a_loop(outcomes: list[PromptOutcome]) -> None:
    a = b = c = d = 0
    for one in outcomes:
        if one.on and one.off:
            a += 1
        elif one.on:
            b += 1
        elif one.off:
            c += 1
        else:
            d += 1
    assert contingency(outcomes) == Contingency(a, b, c, d)
    assert contingency(outcomes).n == len(outcomes)


@given(OUTCOMES, OUTCOMES)
def test_counts_of_parts_add_up(first: list[PromptOutcome], second: list[PromptOutcome]) -> None:
    assert contingency(first) + contingency(second) == contingency([*first, *second])


@given(st.lists(st.builds(PromptOutcome, st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_rates_give_the_counts_back(outcomes: list[PromptOutcome]) -> None:
    """C.1 of each answer and of their mean; C.2: the counts from L, R and the rate with retrieval on alone."""
    for one in outcomes:
        assert int(one.on) == int(one.leaked) + int(one.mediated) - int(one.off and not one.on)
    found, n = contingency(outcomes), len(outcomes)
    leaked, mediated, on = (
        Fraction(sum(values), n)
        for values in (
            [one.leaked for one in outcomes],
            [one.mediated for one in outcomes],
            [one.on for one in outcomes],
        )
    )
    assert on == leaked + mediated - Fraction(found.c, n)
    b = n * mediated
    a = n * on - b
    c = n * leaked - a
    assert (found.a, found.b, found.c, found.d) == (a, b, c, n - a - b - c)


def by_hand(b: int, c: int) -> float:
    n = b + c
    if n > 25:
        statistic = max(0, abs(b - c) - 1) ** 2 / n
        return math.erfc(math.sqrt(statistic / 2))
    return float(min(Fraction(1), 2 * Fraction(sum(math.comb(n, i) for i in range(min(b, c) + 1)), 2**n)))


@given(COUNTS, COUNTS)
def test_mcnemar_is_the_formula(b: int, c: int) -> None:
    name, statistic, p = mcnemar(b, c)
    assert p == pytest.approx(by_hand(b, c), rel=1e-9, abs=1e-15)
    assert 0 <= p <= 1
    if b + c <= 25:
        assert (name, statistic) == ("exact binomial", None)
    else:
        assert name == "chi-squared, continuity corrected"
        assert statistic == pytest.approx(max(0, abs(b - c) - 1) ** 2 / (b + c))


@given(COUNTS, COUNTS)
def test_mcnemar_does_not_know_the_sides(b: int, c: int) -> None:
    assert mcnemar(b, c)[:2] == mcnemar(c, b)[:2]
    assert mcnemar(b, c)[2] == pytest.approx(mcnemar(c, b)[2], rel=1e-9)


def test_mcnemar_of_the_released_database() -> None:
    assert mcnemar(4, 0) == ("exact binomial", None, pytest.approx(0.125))


@pytest.mark.parametrize("equal", [13, 20, 200])
def test_where_both_sides_are_equal_nothing_differs(equal: int) -> None:
    """The correction alone would make a statistic of 1 / 2b of it."""
    assert mcnemar(equal, equal) == ("chi-squared, continuity corrected", 0.0, 1.0)
    assert mcnemar(0, 0) == ("exact binomial", None, 1.0)


def test_the_test_changes_above_25_pairs() -> None:
    assert mcnemar(20, 5)[0] == "exact binomial"
    assert mcnemar(20, 6)[:2] == ("chi-squared, continuity corrected", pytest.approx(169 / 26))
    assert mcnemar(69, 4)[1] == pytest.approx(64**2 / 73)


@pytest.mark.parametrize("counts", [(-1, 3), (3, -1)])
def test_counts_are_not_negative(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="they must not be negative"):
        mcnemar(*counts)


def test_a_row_that_was_left_behind_shows_as_r_that_is_not_a() -> None:
    left, clean, leaked = PromptOutcome(True, False, True), PromptOutcome(True, False), PromptOutcome(True, True, True)
    assert identity_gap([clean, PromptOutcome(False, False), PromptOutcome(False, False, True)]) == 0
    assert identity_gap([left, clean, left]) == 2
    assert identity_gap([leaked]) == 0, "where the weights answer, R and A need not be the same"
