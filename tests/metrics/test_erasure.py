"""The formula that UDS and the logit lens share: its range, its identities, and where it is undefined."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from references import depth

from uds_bench.metrics.erasure import TAU, erasure

Table = NDArray[np.float64]
NATS = st.floats(-3.0, 12.0).map(lambda x: round(x, 6))
TAUS = st.sampled_from([0.0, 0.02, 0.05, 0.1, 1.0])


@st.composite
def drops(draw: st.DrawFn) -> tuple[Table, Table]:
    """Retain and candidate drops, [facts, layers]."""
    facts, layers = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    cells = st.lists(NATS, min_size=facts * layers, max_size=facts * layers)
    retain, candidate = (np.array(draw(cells)).reshape(facts, layers) for _ in range(2))
    return retain, candidate


@st.composite
def encoded_drops(draw: st.DrawFn) -> tuple[Table, Table]:
    """As `drops`, with at least one knowledge layer in each fact."""
    retain, candidate = draw(drops())
    retain[:, draw(st.integers(0, retain.shape[1] - 1))] = draw(st.floats(TAU + 0.01, 12.0))
    return retain, candidate


@given(drops(), TAUS)
def test_score_is_the_reference(pair: tuple[Table, Table], tau: float) -> None:
    retain, candidate = pair
    found = erasure(retain, candidate, tau)
    for row, (one, two) in enumerate(zip(retain.tolist(), candidate.tolist(), strict=True)):
        assert np.flatnonzero(found.knowledge[row]).tolist() == depth.knowledge_layers(one, tau)
        for values, clipped in ((found.score, True), (found.unclipped, False)):
            expected = depth.erasure(one, two, tau, clipped)
            expected = math.nan if expected is None else expected
            assert float(values[row]) == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@given(drops(), TAUS)
def test_score_is_undefined_exactly_where_no_layer_holds_knowledge(pair: tuple[Table, Table], tau: float) -> None:
    found = erasure(*pair, tau)
    empty = ~(pair[0] > tau).any(-1)
    assert np.array_equal(np.isnan(found.score), empty)
    assert np.array_equal(np.isnan(found.unclipped), empty)


@given(encoded_drops())
def test_score_lies_between_intact_and_erased(pair: tuple[Table, Table]) -> None:
    score = erasure(*pair).score
    assert ((score >= 0) & (score <= 1)).all()


@given(encoded_drops())
def test_closed_form(pair: tuple[Table, Table]) -> None:
    retain, candidate = pair
    inside = retain > TAU
    expected = (np.minimum(np.maximum(candidate, 0), retain) * inside).sum(-1) / (retain * inside).sum(-1)
    np.testing.assert_allclose(erasure(retain, candidate).score, expected, rtol=1e-12)


@given(encoded_drops(), st.integers(0, 23), st.floats(0, 5))
def test_a_larger_drop_never_lowers_the_score(pair: tuple[Table, Table], cell: int, more: float) -> None:
    retain, candidate = pair
    larger = candidate.copy()
    larger.flat[cell % larger.size] += more
    before, after = erasure(retain, candidate), erasure(retain, larger)
    assert (after.score >= before.score).all()
    assert (after.unclipped >= before.unclipped - 1e-12).all()


@given(encoded_drops())
def test_the_retain_model_is_erased_exactly(pair: tuple[Table, Table]) -> None:
    found = erasure(pair[0], pair[0])
    assert (found.score == 1.0).all()
    assert (found.unclipped == 1.0).all()


@given(encoded_drops())
def test_no_drop_is_knowledge_intact(pair: tuple[Table, Table]) -> None:
    retain, candidate = pair
    inside = retain > TAU
    assert (erasure(retain, np.where(inside, -abs(candidate), candidate)).score == 0.0).all()
    assert (erasure(retain, np.zeros_like(retain)).score == 0.0).all()


@given(encoded_drops(), NATS)
def test_other_layers_have_no_influence(pair: tuple[Table, Table], other: float) -> None:
    retain, candidate = pair
    inside = retain > TAU
    found = erasure(retain, candidate)
    changed = erasure(np.where(inside, retain, min(other, TAU)), np.where(inside, candidate, other))
    assert np.array_equal(found.score, changed.score)
    assert np.array_equal(found.unclipped, changed.unclipped)


@given(encoded_drops(), st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_units_do_not_matter_where_the_threshold_follows(pair: tuple[Table, Table], scale: float) -> None:
    """Powers of two are exact, so that no layer crosses the threshold by rounding."""
    retain, candidate = pair
    found, scaled = erasure(retain, candidate), erasure(scale * retain, scale * candidate, scale * TAU)
    np.testing.assert_allclose(scaled.score, found.score, rtol=1e-12)
    np.testing.assert_allclose(scaled.unclipped, found.unclipped, rtol=1e-12)


@given(encoded_drops())
def test_facts_do_not_meet(pair: tuple[Table, Table]) -> None:
    retain, candidate = pair
    alone = [erasure(retain[row : row + 1], candidate[row : row + 1]).score[0] for row in range(len(retain))]
    np.testing.assert_array_equal(erasure(retain, candidate).score, alone)


def test_a_higher_threshold_can_raise_or_lower_the_score() -> None:
    retain = np.array([[0.06, 0.5, 1.0]])
    candidate = np.array([[0.0, 0.5, 0.0]])
    scores = [float(erasure(retain, candidate, tau).score[0]) for tau in (0.05, 0.1, 0.6)]
    assert scores == pytest.approx([0.5 / 1.56, 0.5 / 1.5, 0.0])
    assert scores[0] < scores[1] > scores[2]


def test_unclipped_shows_what_the_score_hides() -> None:
    found = erasure(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[3.0, 0.0], [-1.0, 0.0]]))
    assert found.score.tolist() == [0.5, 0.0]
    assert found.unclipped.tolist() == [1.5, -0.5]


def test_a_drop_at_the_threshold_is_not_above_it() -> None:
    assert erasure(np.array([[TAU, 1.0]]), np.array([[TAU, 0.0]])).knowledge.tolist() == [[False, True]]


def test_a_negative_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match="tau"):
        erasure(np.ones((1, 1)), np.ones((1, 1)), -0.01)


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("which", ["retain", "candidate"])
@settings(max_examples=30)
@given(pair=encoded_drops(), cell=st.integers(0, 23))
def test_a_drop_that_is_not_finite_never_yields_a_score(
    broken: float, which: str, pair: tuple[Table, Table], cell: int
) -> None:
    """Whichever layer it is in: a pass that went wrong there says nothing good of the others."""
    retain, candidate = pair
    table = retain if which == "retain" else candidate
    cell %= table.size
    table.flat[cell] = broken
    found = erasure(retain, candidate)
    row = cell // table.shape[1]
    assert math.isnan(found.score[row])
    assert math.isnan(found.unclipped[row])
    others = np.delete(np.arange(len(retain)), row)
    assert np.isfinite(found.score[others]).all()
