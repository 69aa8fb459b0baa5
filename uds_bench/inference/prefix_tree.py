"""Sentences that begin alike as one tree of tokens, cut into pieces of which a model reads every token once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]


@dataclass(frozen=True)
class PrefixTree:
    """Every beginning of some sentences once; all arrays are [nodes], a node after the one that it follows.

    `tokens`: the last token of each beginning; `parents`: the node before it, -1 for a first token; `depths`: how many
    tokens come before; `ends`: [sentences], the node that is the whole sentence.
    """

    tokens: Places
    parents: Places
    depths: Places
    ends: Places

    @cached_property
    def fed(self) -> NDArray[np.bool_]:
        """The nodes after which some sentence goes on: a model need read no others."""
        found = np.zeros(len(self.tokens), bool)
        found[self.parents[self.parents >= 0]] = True
        return found

    def path(self, node: int) -> list[int]:
        """From the first token to the node."""
        found = []
        while node >= 0:
            found.append(node)
            node = int(self.parents[node])
        return found[::-1]

    def sums(self, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """[nodes] -> [sentences]: what the nodes on the way to each sentence's end add up to."""
        totals = steps.astype(np.float64, copy=True)
        for nodes in _by_depth(self, self.parents >= 0):
            totals[nodes] += totals[self.parents[nodes]]
        return totals[self.ends]


def grow(sentences: Sequence[Sequence[int]]) -> PrefixTree:
    """The tree of one sentence or more, each of a token or more; equal ones share their end. Tokens are at least 0."""
    if not sentences or not all(sentences):
        raise ValueError("a tree has a sentence or more, each of a token or more")
    longest = max(map(len, sentences))
    rows = np.full((len(sentences), longest), -1, np.int64)
    for row, sentence in zip(rows, sentences, strict=True):
        row[: len(sentence)] = sentence
    order = np.lexsort(rows.T[::-1])
    ranked = rows[order]
    lengths = (ranked >= 0).sum(1)
    # How far each sentence goes along with the one before it in order: what comes after is its own.
    same = np.zeros(len(ranked), np.int64)
    same[1:] = np.cumprod(ranked[1:] == ranked[:-1], axis=1).sum(1)
    own = (np.arange(longest) >= same[:, None]) & (ranked >= 0)
    numbers = np.cumsum(own.ravel()).reshape(own.shape) - 1
    # A beginning that is not a sentence's own is the last one before it in order at that depth.
    nodes = np.maximum.accumulate(np.where(own, numbers, -1), axis=0)
    parents = np.concatenate([np.full((len(nodes), 1), -1), nodes[:, :-1]], axis=1)[own]
    ends = np.zeros(len(ranked), np.int64)
    ends[order] = nodes[np.arange(len(nodes)), lengths - 1]
    return PrefixTree(ranked[own], parents, np.nonzero(own)[1], ends)


@dataclass(frozen=True)
class Piece:
    """Some nodes that are read together. `after`: the node that all of them follow, read before; -1: none is.

    `nodes`: each followed at once by all that follow it here; `lasts`: the place in `nodes` behind the last of those.
    """

    after: int
    nodes: Places
    lasts: Places

    def seen(self) -> NDArray[np.bool_]:
        """[nodes, nodes]: which of them each one follows, itself too."""
        places = np.arange(len(self.nodes))
        return (places <= places[:, None]) & (places[:, None] < self.lasts)


def cut(tree: PrefixTree, room: int) -> list[Piece]:
    """The fed nodes in pieces of at most `room`, each node in one, a piece after those that it follows."""
    if room < 1:
        raise ValueError(f"a piece holds at least 1 token, not {room}")
    left, found = tree.fed.copy(), list[Piece]()
    while left.any():
        sizes = _sizes(tree, left)
        low = left & (sizes <= room)
        above = tree.parents
        tops = np.flatnonzero(low & ((above < 0) | ~low[above]))
        # Tops that follow one node go side by side into a piece, as they fit.
        tops = tops[np.argsort(above[tops], kind="stable")]
        number = np.full(len(sizes), -1, np.int64)
        number[tops] = _numbers(above[tops].tolist(), sizes[tops].tolist(), room)
        for nodes in _by_depth(tree, low & (above >= 0)):
            number[nodes] = np.where(number[nodes] < 0, number[above[nodes]], number[nodes])
        members = np.flatnonzero(low)
        members = members[np.argsort(number[members], kind="stable")]
        starts = np.searchsorted(number[members], np.arange(number.max() + 2))
        for start, stop in itertools.pairwise(starts.tolist()):
            nodes = members[start:stop]
            found.append(Piece(int(above[nodes[0]]), nodes, np.arange(len(nodes)) + sizes[nodes]))
        left &= ~low
    return sorted(found, key=lambda piece: int(piece.nodes[0]))


def _sizes(tree: PrefixTree, chosen: NDArray[np.bool_]) -> Places:
    """For each of the chosen nodes, how many of them follow it, itself too; 0 for the others."""
    sizes = chosen.astype(np.int64)
    for nodes in reversed(_by_depth(tree, chosen & (tree.parents >= 0))):
        np.add.at(sizes, tree.parents[nodes], sizes[nodes])
    return sizes


def _by_depth(tree: PrefixTree, chosen: NDArray[np.bool_]) -> list[Places]:
    nodes = np.flatnonzero(chosen)
    nodes = nodes[np.argsort(tree.depths[nodes], kind="stable")]
    depths = tree.depths[nodes]
    return np.split(nodes, np.flatnonzero(np.diff(depths)) + 1)


def _numbers(above: list[int], sizes: list[int], room: int) -> list[int]:
    """Which piece each top goes into."""
    numbers, number, left, last = [], -1, 0, None
    for node, size in zip(above, sizes, strict=True):
        if node != last or size > left:
            number, left, last = number + 1, room, node
        left -= size
        numbers.append(number)
    return numbers
