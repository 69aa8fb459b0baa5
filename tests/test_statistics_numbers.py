"""McNemar's test, rates, and numbers of any kind."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from uds_bench.statistics import (
    EXACT_UP_TO,
    Interval,
    Rate,
    auc,
    auc_interval,
    auc_resamples,
    balanced_cut,
    between_percentiles,
    cluster_interval,
    difference_interval,
    largest,
    mcnemar,
    skewed,
)

# ---- McNemar's test


@given(st.integers(0, EXACT_UP_TO), st.integers(0, EXACT_UP_TO))
def test_few_discordant_pairs_are_a_fair_coins(b: int, c: int) -> None:
    """Twice the shorter tail of fair coin tosses, at most 1."""
    assume(b + c <= EXACT_UP_TO)
    tail = sum(math.comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
    name, statistic, p = mcnemar(b, c)
    assert (name, statistic) == ("exact binomial", None)
    assert p == pytest.approx(min(1, 2 * tail))


@given(st.integers(0, 200), st.integers(0, 200))
def test_many_discordant_pairs_are_a_normals_square(b: int, c: int) -> None:
    """The chance that a normal lies further out than the difference, half a pair a side nearer, over its spread."""
    assume(b + c > EXACT_UP_TO)
    z = max(0, abs(b - c) - 1) / math.sqrt(b + c)
    name, statistic, p = mcnemar(b, c)
    assert name == "chi-squared, continuity corrected"
    assert statistic == pytest.approx(z**2)
    assert p == pytest.approx(math.erfc(z / math.sqrt(2)))


@pytest.mark.parametrize("counts", [(-1, 5), (5, -1), (-1, -1)])
def test_counts_below_none_are_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        mcnemar(*counts)


# ---- rates


def test_a_rate_writes_its_numbers_and_none_of_what_is_not_finite() -> None:
    assert Rate(0.5, Interval(0.25, 0.75, "x", 8)).to_json() == {"value": 0.5, "low": 0.25, "high": 0.75, "units": 8}
    nothing = Rate(math.nan, Interval(math.nan, math.inf, "x", 0)).to_json()
    assert nothing == {"value": None, "low": None, "high": None, "units": 0}


# ---- the largest


def test_what_could_not_be_computed_hides_behind_no_other() -> None:
    for values in ([0.0, math.nan], [math.nan, 0.0], []):
        assert math.isnan(largest(values))
    assert largest(iter([0.0, 0.5])) == 0.5


# ---- numbers of any kind

HALF, ONE = Fraction(1, 2), Fraction(1)


@pytest.mark.parametrize(
    "of",
    [
        lambda x: auc(x, [HALF, ONE]),
        lambda x: auc([HALF, ONE], x),
        lambda x: auc_interval(x, [HALF], "ab", "c"),
        lambda x: auc_interval([HALF], x, "c", "ab"),
        lambda x: auc_resamples(x, [HALF], "ab", "c", 3).tolist(),
        lambda x: auc_resamples([HALF], x, "c", "ab", 3).tolist(),
        lambda x: balanced_cut(x, [ONE, HALF]),
        lambda x: balanced_cut([HALF], x),
        lambda x: cluster_interval(x, "ab"),
        lambda x: skewed(0.0, [x]),
        lambda x: between_percentiles(x, "x", 2),
        lambda x: difference_interval(list(zip("ab", x, strict=True)), [("c", HALF)]),
    ],
)
def test_fractions_are_read_as_the_numbers_they_are(of: Callable[[list[Any]], object]) -> None:
    """What numpy takes for objects, unless it is told that these are numbers."""
    assert of([HALF, 3 * HALF]) == of([0.5, 1.5])
