"""Scores that are counted beside all pairs of them: exact while held, and never further off than is said."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits.localization import auc_tally
from uds_bench.audits.localization.auc import Auc
from uds_bench.audits.localization.auc_tally import Tally
from uds_bench.errors import UdsError

NEIGHBOURS = 1.0 + np.arange(4, dtype=np.float32) * 2.0**-23
"""Neighbours within one bucket."""
VALUES = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from([0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38, *NEIGHBOURS.tolist(), *(-NEIGHBOURS).tolist()]),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
)
BATCHES = st.lists(st.lists(st.lists(VALUES, max_size=8), min_size=3, max_size=3), min_size=1, max_size=4)


def every_pair(ours: list[float], theirs: list[float]) -> int:
    return sum(2 * (a > b) + (a == b) for a in ours for b in theirs)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Buckets from the first score on, few and wide; what comes twice at once comes often."""
    monkeypatch.setattr(auc_tally, "LOW", 20)
    monkeypatch.setattr(auc_tally, "BUCKETS", 1 << 12)
    monkeypatch.setattr(auc_tally, "EXACT_SCORES", 0)
    monkeypatch.setattr(auc_tally, "OFTEN", 2)
    monkeypatch.setattr(auc_tally, "CROWD", 8)
    monkeypatch.setattr(auc_tally, "MOST_TIES", 3)
    return iter(())


def filled(batches: list[list[list[float]]]) -> Tally:
    found = Tally(3)
    for batch in batches:
        flat = np.array([score for one in batch for score in one], np.float32)
        found.add(flat, [0, *np.cumsum([len(one) for one in batch]).tolist()])
    return found


SIDES = [((0,), (1,)), ((0,), (1, 2)), ((0, 1), (2,))]


def pooled(batches: list[list[list[float]]], kinds: tuple[int, ...]) -> list[float]:
    return [float(np.float32(score)) for batch in batches for kind in kinds for score in batch[kind]]


@given(BATCHES)
def test_while_held_it_is_every_pair(batches: list[list[list[float]]]) -> None:
    found = filled(batches)
    for wanted, others in SIDES:
        ours, theirs = pooled(batches, wanted), pooled(batches, others)
        assert found.auc(wanted, others) == Auc(every_pair(ours, theirs), len(ours), len(theirs))


@given(BATCHES)
@pytest.mark.usefixtures("few")
@pytest.mark.filterwarnings("ignore")
def test_in_buckets_it_is_every_pair_but_those_told_to_be_unsure(batches: list[list[list[float]]]) -> None:
    found = filled(batches)
    for wanted, others in SIDES:
        ours, theirs, auc = pooled(batches, wanted), pooled(batches, others), found.auc(wanted, others)
        assert (auc.positives, auc.negatives) == (len(ours), len(theirs))
        assert abs(auc.twice_wins - every_pair(ours, theirs)) <= auc.unsure
        assert auc.unsure <= sum(near(a, b) for a in ours for b in theirs)


def near(one: float, other: float) -> bool:
    """Whether two may share their sign, exponent and the first three bits behind the point."""
    return abs(one - other) <= 2.0**-3 * max(abs(one), abs(other)) + 2.0**-126


@pytest.mark.usefixtures("few")
def test_zeros_and_what_comes_often_are_ties_and_known_to_be() -> None:
    often = NEIGHBOURS.repeat(2).tolist()
    found = filled([[[0.0, *often], [-0.0, *often], []], [[0.0], [0.0], []]])
    assert found.auc([0], [1]) == Auc(every_pair([0.0, 0.0, *often], [0.0, 0.0, *often]), 10, 10)


@pytest.mark.usefixtures("few")
def test_all_equal_is_one_half() -> None:
    found = filled([[[2.5] * 4, [2.5] * 3, []]] * 2)
    assert found.auc([0], [1]).value == 0.5
    assert found.auc([0], [1]).slack == 0


@pytest.mark.usefixtures("few")
def test_a_bucket_of_many_values_is_told_apart_from_then_on_and_one_of_ties_or_of_few_is_not() -> None:
    """Buckets are an eighth wide. Ten neighbours crowd the first; ten times 2 are ties; one lies alone."""
    found = Tally(2)
    found.add(np.float32([*(1 + np.arange(10) / 100), *[2.0] * 10, 4.1]), [0, 21, 21])
    found.add(np.float32([1.055, 2.1, 4.2]), [0, 0, 3])
    auc = found.auc([0], [1])
    assert auc.unsure == 10 * 1 + 1 * 1, "the ten 2s beside 2.1, and 4.1 beside 4.2"
    assert auc.twice_wins == 2 * (4 + 10 + 1 + 1) + auc.unsure, "each above 1.055 or 2.1, and half of what is unsure"


@pytest.mark.usefixtures("few")
def test_what_comes_just_often_enough_is_a_tie() -> None:
    found = Tally(2)
    found.add(np.float32([8.0] * 4), [0, 2, 4])
    assert found.auc([0], [1]) == Auc(4, 2, 2)


@pytest.mark.usefixtures("few")
def test_a_value_that_comes_again_and_again_takes_no_more_room() -> None:
    found = auc_tally.Buckets(1)
    for _ in range(40):
        found.add(0, np.float32([8.0, 8.0]))
    assert sum(len(values) for values, _ in found._ties[0]) <= 2 * auc_tally.MOST_TIES
    assert found.auc([0], [0]) == Auc(80 * 80, 80, 80)


@pytest.mark.usefixtures("few")
def test_pairs_of_billions_of_weights_are_whole_numbers() -> None:
    found = auc_tally.Buckets(2)
    (found._counts[0][7], found._counts[1][3]) = ours, theirs = 3 * 10**9 + 1, 3 * 10**9 + 7
    assert found.auc([0], [1]) == Auc(2 * ours * theirs, ours, theirs)
    tied = auc_tally.Buckets(2)
    for kind, (value, count) in enumerate(((5, ours), (4, theirs))):
        tied._ties[kind] = [(np.array([value], np.uint32), np.array([count]))]
    assert tied.auc([0], [1]) == Auc(2 * ours * theirs, ours, theirs), "ties of one bucket"


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("most", [2, 3, 5, 6, 7])
def test_what_was_held_goes_into_buckets_once_there_is_too_much(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three scores, three more and one, each in a bucket of its own."""
    monkeypatch.setattr(auc_tally, "EXACT_SCORES", most)
    batches = [[[1.0, 3.0], [2.0], []], [[4.0], [0.5, 8.0], []], [[16.0], [], []]]
    found = filled(batches)
    assert (found._buckets is None) is (most == 7)
    assert found.auc([0], [1]) == Auc(every_pair([1.0, 3.0, 4.0, 16.0], [2.0, 0.5, 8.0]), 4, 3)


@pytest.mark.usefixtures("few")
def test_what_is_unsure_widens_the_interval() -> None:
    found = filled([[[float(NEIGHBOURS[0])], [float(NEIGHBOURS[1])], []]] * 2).auc([0], [1])
    assert (found.value, found.unsure, found.slack) == (0.5, 4, 0.5)
    wide, sure = found.interval, Auc(4, 2, 2).interval
    assert wide.low <= max(0.0, sure.low - 0.5)
    assert wide.high >= min(1.0, sure.high + 0.5)


@pytest.mark.parametrize("held", [0, 100])
def test_a_score_that_is_no_number_is_refused(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auc_tally, "EXACT_SCORES", held)
    with pytest.raises(UdsError, match="a weight's score is no number"):
        filled([[[1.0], [float("nan")], []]])


def test_a_million_scores_are_as_they_are_when_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Continuous scores beside rounded ones and zeros: off by less than said, and that is little."""
    luck = np.random.default_rng(0)
    scores = luck.standard_normal(300_000).astype(np.float32)
    scores[luck.random(len(scores)) < 0.3] = 0
    rounded = luck.random(len(scores)) < 0.3
    scores[rounded] = scores[rounded].round(2)
    bounds = [0, 50_000, 120_000, 300_000]
    scores[:50_000] += np.float32(0.3)
    exact = Tally(3)
    exact.add(scores.copy(), bounds)
    monkeypatch.setattr(auc_tally, "EXACT_SCORES", 0)
    told = Tally(3)
    told.add(scores, bounds)
    for wanted, others in SIDES:
        one, other = exact.auc(wanted, others), told.auc(wanted, others)
        assert one.unsure == 0 < other.unsure
        assert abs(one.value - other.value) <= other.slack < 5e-5


def test_where_many_crowd_into_one_bucket_they_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a share of injection that was taken back: 1 less a trifle, of which the trifle decides."""
    monkeypatch.setattr(auc_tally, "EXACT_SCORES", 0)
    luck = np.random.default_rng(0)
    size = luck.random(40_000).astype(np.float32) + np.float32(0.01)
    near_one = size / (size + np.float32(1e-6))
    assert len(np.unique(near_one)) > 100
    found = Tally(2)
    for start in range(0, len(size), 10_000):
        found.add(near_one[start : start + 10_000], [0, 4_000, 10_000])
    auc = found.auc([0], [1])
    wanted = np.arange(len(size)) % 10_000 < 4_000
    ours, theirs = near_one[wanted], np.sort(near_one[~wanted])
    expected = theirs.searchsorted(ours, "left").sum() + theirs.searchsorted(ours, "right").sum()
    assert abs(auc.twice_wins - int(expected)) <= auc.unsure
    assert auc.slack < 1e-4
