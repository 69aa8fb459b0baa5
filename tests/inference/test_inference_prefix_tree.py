"""Sentences as one tree: its shape against sets of beginnings, and the pieces that it is cut into."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.inference.prefix_tree import cut, grow

sentences = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=7), min_size=1, max_size=40)


@given(sentences)
def test_a_node_is_a_beginning_and_every_beginning_has_one(rows: list[list[int]]) -> None:
    tree = grow(rows)
    beginnings = {tuple(row[: end + 1]) for row in rows for end in range(len(row))}
    paths = [tree.path(node) for node in range(len(tree.tokens))]
    assert {tuple(tree.tokens[path].tolist()) for path in paths} == beginnings
    assert len(paths) == len(beginnings)
    assert [tree.tokens[tree.path(int(end))].tolist() for end in tree.ends] == rows
    assert all(tree.depths[node] == len(path) - 1 for node, path in enumerate(paths))
    going_on = {tuple(row[:end]) for row in rows for end in range(1, len(row))}
    assert int(tree.fed.sum()) == len(going_on)


@given(sentences, st.integers(0, 99))
def test_sums_are_those_of_the_paths(rows: list[list[int]], seed: int) -> None:
    tree = grow(rows)
    steps = np.random.default_rng(seed).integers(0, 100, len(tree.tokens)).astype(float)
    before = steps.copy()
    slow = [sum(steps[node] for node in tree.path(int(end))) for end in tree.ends]
    assert tree.sums(steps).tolist() == slow
    np.testing.assert_array_equal(steps, before)


@given(sentences, st.integers(1, 12))
def test_pieces_hold_every_fed_node_once_after_what_it_follows(rows: list[list[int]], room: int) -> None:
    tree = grow(rows)
    pieces = cut(tree, room)
    read = {-1}
    for piece in pieces:
        assert 1 <= len(piece.nodes) <= room
        assert piece.after in read
        seen = piece.seen()
        inside = set(piece.nodes.tolist())
        for place, node in enumerate(piece.nodes.tolist()):
            path = tree.path(node)
            assert sorted(piece.nodes[seen[place]].tolist()) == [one for one in path if one in inside]
            assert [one for one in path if one not in inside] == tree.path(piece.after)
        read |= inside
    assert sorted(node for piece in pieces for node in piece.nodes) == np.flatnonzero(tree.fed).tolist()


def test_small_branches_share_a_piece() -> None:
    rows = [[0, 1, first, 9] for first in range(2, 8)]
    assert [len(piece.nodes) for piece in cut(grow(rows), 8)] == [8]
    assert [len(piece.nodes) for piece in cut(grow(rows), 3)] == [2, 3, 3]


@pytest.mark.parametrize("rows", [[], [[1], []]])
def test_nothing_has_no_tree(rows: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="a token or more"):
        grow(rows)


def test_a_piece_has_room() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        cut(grow([[1, 2]]), 0)
