"""Scores, ranks and strengths against plain loops, and what follows from their definitions (definitions 003.4)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from references.association import slow_rank, slow_score

from uds_bench.audits.association.ranking import Ranked, calibrated, ranked
from uds_bench.audits.association.rates import held

seeds = st.integers(0, 2**32 - 1)


def drawn(seed: int, names: int = 3, candidates: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole numbers of sixteenths: sums of them are exact, and some are the same."""
    rng = np.random.default_rng(seed)
    sizes = [(candidates,), (names, candidates), (candidates,)]
    own, similar, generic = (rng.integers(0, 64, size) / 16 for size in sizes)
    return own, similar, generic


@given(seeds, st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.integers(1, 5))
def test_a_score_is_the_loop(seed: int, alpha: float, names: int) -> None:
    own, similar, generic = drawn(seed, names)
    found = calibrated(own, similar, generic, alpha)
    np.testing.assert_allclose(found, slow_score(own.tolist(), similar.tolist(), generic.tolist(), alpha), atol=1e-12)


@given(seeds)
def test_at_alpha_one_nobody_matters_and_elsewhere_by_one_less_alpha(seed: int) -> None:
    own, similar, generic = drawn(seed)
    other = drawn(seed + 1)[2]
    np.testing.assert_array_equal(calibrated(own, similar, generic), calibrated(own, similar, other))
    np.testing.assert_array_equal(calibrated(own, similar), similar.mean(0) - own)
    np.testing.assert_array_equal(calibrated(own, [], generic, alpha=0.0), generic - own)
    for alpha in (0.0, 0.25, 2.0):
        shift = calibrated(own, similar, other, alpha) - calibrated(own, similar, generic, alpha)
        np.testing.assert_allclose(shift, (1 - alpha) * (other - generic), atol=1e-12)


@given(seeds, st.integers(1, 4), st.sampled_from([4, 12]))
def test_a_rank_is_the_loop(seed: int, truths: int, candidates: int) -> None:
    truths = min(truths, candidates - 1)
    own, similar, _ = drawn(seed, 4, candidates)
    scores = calibrated(own, similar)
    found, (rank, lead, strength) = ranked(scores, truths), slow_rank(scores.tolist(), truths)
    assert (found.rank, found.candidates) == (rank, candidates)
    assert found.memorized is (rank == 1)
    assert found.lead == pytest.approx(lead, abs=1e-12)
    assert found.lenient is (lead >= 0)
    assert (math.isnan(found.strength) and math.isnan(strength)) or found.strength == pytest.approx(strength, abs=1e-9)


@given(seeds, st.floats(0.1, 10), st.integers(-100, 100))
def test_what_all_candidates_share_changes_nothing(seed: int, scale: float, shift: int) -> None:
    own, similar, _ = drawn(seed, names=4)  # a mean of four sixteenths is exact, and so is a tie
    before, after = (ranked(calibrated(o, s), 2) for o, s in ((own, similar), (own + shift, similar - 3 * shift)))
    assert after.rank == before.rank
    assert after.lead == pytest.approx(before.lead, abs=1e-9)
    scaled = ranked(scale * calibrated(own, similar) + shift, 2)
    assert scaled.strength == pytest.approx(before.strength, rel=1e-6, abs=1e-6)


@given(seeds, st.integers(2, 40))
def test_strength_of_the_first_is_positive_and_bounded(seed: int, candidates: int) -> None:
    scores = np.random.default_rng(seed).normal(size=candidates)
    scores[0] = scores.max() + abs(scores[0])
    found = ranked(scores, 1)
    if found.memorized:
        assert 0 < found.strength <= math.sqrt(candidates - 1) * (1 + 1e-9)


def test_a_perfect_lead_reaches_the_bound() -> None:
    """All others alike, and far behind: the largest z* that n candidates allow."""
    assert ranked([9.0, *[0.0] * 100], 1).strength == pytest.approx(10.0)


def test_ties_are_never_memorized_and_no_spread_has_no_strength() -> None:
    tie = ranked([1.0, 1.0, 0.0], 1)
    assert (tie.rank, tie.memorized, tie.lenient, tie.lead) == (2, False, True, 0.0)
    assert math.isnan(ranked([1.0, 1.0, 1.0], 1).strength)
    assert ranked([2.0, 1.0], 1).strength == pytest.approx(1.0), "of two both leads are as large"
    assert ranked([1.0, 2.0], 1).strength == pytest.approx(-1.0)


@given(seeds)
def test_more_counterfactuals_can_only_worsen_a_rank_and_duplicates_do_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 20, 10).astype(float)
    found = ranked(scores, 2)
    assert ranked([*scores, *rng.integers(0, 20, 5)], 2).rank >= found.rank
    lower = [score for score in scores[2:] if score < scores[:2].max()]
    assert ranked([*scores, *lower], 2).rank == found.rank
    assert ranked([*scores[:2], *scores[2:], *scores[2:]], 2).memorized is found.memorized


def test_true_values_are_no_rivals() -> None:
    both = ranked([5.0, 4.9, 1.0, 0.0], 2)
    assert both.lead == 4.0
    assert ranked([5.0, 4.9, 1.0, 0.0], 1).lead == pytest.approx(0.1)
    assert both.memorized


@pytest.mark.parametrize(
    ("scores", "truths", "told"),
    [
        ([1.0], 1, "at least one of each"),
        ([1.0, 2.0], 0, "at least one of each"),
        ([1.0, 2.0], 2, "at least one of each"),
        ([1.0, math.nan], 1, "no number"),
        ([1.0, math.inf], 1, "no number"),
    ],
)
def test_what_cannot_be_ranked(scores: list[float], truths: int, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ranked(scores, truths)


def test_what_cannot_be_scored() -> None:
    with pytest.raises(ValueError, match="no similar name"):
        calibrated([1.0, 2.0], [])
    with pytest.raises(ValueError, match="give them"):
        calibrated([1.0, 2.0], [[1.0, 2.0]], alpha=0.5)


HIT = Ranked(1, True, True, (1.0,), 3.0, 11)


def test_over_templates() -> None:
    ranks = [HIT, replace(HIT, rank=2, memorized=False, leads=(0.0,), strength=1.0), replace(HIT, strength=2.0)]
    found = held(ranks, ["judge", "clerk"])
    assert (found.mean, found.every, found.some) == (2 / 3, False, True)
    assert found.lenient == 1.0
    assert found.strength == pytest.approx(2.0), "of all templates, hits or not"
    assert found.chance == pytest.approx(2 / 11)
    assert float(found.every) <= found.mean <= float(found.some)
    assert held([HIT], ["judge"]).every
    with pytest.raises(ValueError, match="no template"):
        held([], ["judge"])
