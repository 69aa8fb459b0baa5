"""The best of scores that come in blocks, beside a sort of all of them; sets of rows beside Python's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.retrieval.blocks import RowPlaces, best_of, places_of

CLOSE = st.sampled_from([0.0, 0.25, 0.5, 0.5000001, 0.4999999, 0.500001, 0.75, 1.0, -1.0])
"""Scores of which some differ by less, and some by little more, than what is rounded away."""
SETS = st.sets(st.integers(0, 30))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.data(), st.integers(1, 3), st.integers(1, 30), st.integers(1, 6), st.integers(1, 8))
def test_the_best_are_those_of_a_sort(dtype: Any, data: Any, lookups: int, rows: int, k: int, width: int) -> None:
    listed = data.draw(st.lists(st.lists(CLOSE, min_size=rows, max_size=rows), min_size=lookups, max_size=lookups))
    gone = [data.draw(st.sets(st.integers(0, rows - 1))) for _ in range(lookups)]
    scores = np.array(listed, dtype)
    parts = [(at, scores[:, at : at + width].copy()) for at in range(0, rows, width)]
    found = best_of(parts, k, [places_of(some) for some in gone])
    for hits, row, out in zip(found, scores.astype(float).tolist(), gone, strict=True):
        order = sorted(range(rows), key=lambda at, row=row: (-float(np.round(row[at], 6)), at))
        there = [at for at in order if at not in out][:k]
        assert hits.kept[0].tolist() == there
        assert hits.kept[1].tolist() == [row[at] for at in there]
        assert hits.lost[0].tolist() == [at for at in order if at in out]


def test_no_lookup_finds_nothing() -> None:
    assert best_of([(0, np.zeros((0, 3)))], 2, []) == []


@given(SETS, SETS)
def test_rows_are_a_set(one: set[int], other: set[int]) -> None:
    rows = RowPlaces(one)
    assert rows == one
    assert frozenset(one) == rows
    assert list(rows) == sorted(one)
    assert len(rows) == len(one)
    assert [at in rows for at in range(31)] == [at in one for at in range(31)]
    assert (rows <= other, frozenset(other) <= rows) == (one <= other, other <= one)
    assert rows - frozenset(other) == one - other
    assert rows | RowPlaces(other) == one | other
    assert RowPlaces(np.array([*one, *one], np.int64)) == one
    assert places_of(one).tolist() == places_of(rows).tolist() == sorted(one)
    assert "1" not in rows
