"""How likely whole sentences are to a model, each shared beginning read once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import DynamicCache

from uds_bench.checkpoints import Checkpoint
from uds_bench.inference.batches import halving, is_out_of_memory, make_room
from uds_bench.inference.hooks import reading
from uds_bench.inference.logprobs import POSITIONS_PER_STEP, token_logprobs
from uds_bench.inference.prefix_tree import Piece, PrefixTree, cut, grow
from uds_bench.inference.target import AGREEMENT
from uds_bench.inference.upcast import in_float32

ROOM = 128
"""Tokens of a piece: attention within one costs their square."""
TOKENS = 4096
"""Tokens that are read at once."""
AHEAD = 1024
"""Pieces among which those of like length are looked for."""
CHECKED, CHECKED_IN_16_BITS = 16, 64
"""Sentences that are read apart too, to see whether a model scores a tree as it scores each of them."""
AS_NEAR = 2.0
"""Of 16 bits: how many times as far from float32 a tree may be as sentences that are read apart."""

Nll = NDArray[np.float64]


@torch.inference_mode()
def sentence_nll(model: Checkpoint, sentences: Sequence[Sequence[int]], room: int = ROOM, tokens: int = TOKENS) -> Nll:
    """How unlikely each sentence is: -log p of all its tokens but the first, which is given.

    Beginnings that sentences share are read once, however far apart the sentences stand: a model reads as many tokens
    as there are different beginnings after which a sentence goes on. One that does not score trees as it scores
    sentences apart, as where attention reaches less far back than a text is long, is given each sentence apart. So is
    one of 16 bits whose trees lie further from its own weights in float32 than sentences apart do.

    Args:
        model: The model that is read.
        sentences: Token ids, two or more each, [sentences].
        room: Tokens of a piece of the tree.
        tokens: Tokens that are read at once.

    Returns:
        [sentences], in nats, 0 or more; lower is more knowledge.

    Raises:
        ValueError: A sentence has no token to be scored.
        CheckpointError: The memory does not hold a single one.

    Source: WikiMem, section 5.
    """
    if any(len(sentence) < 2 for sentence in sentences):
        raise ValueError("a sentence has a given token and one to be scored at least")
    if not sentences:
        return np.zeros(0)
    tree, is_too_large = grow(sentences), False
    try:
        found = tree.sums(_Reader(model, tree).read(cut(tree, room), tokens))
        if _holds(model, sentences, found, tokens):
            return found
    except Exception as error:  # families refuse a mask of its own shape, or a cache, each in their own words
        is_too_large = is_out_of_memory(error)
    if is_too_large:
        make_room(0, "shared beginnings")
    return nll_apart(model, sentences, tokens)


def _holds(model: Checkpoint, sentences: Sequence[Sequence[int]], found: Nll, tokens: int) -> bool:
    """Whether some sentences come out as they do apart: of float32 as near, of 16 bits as near to float32."""
    is_exact = model.model.dtype == torch.float32
    longest = max(range(len(sentences)), key=lambda at: len(sentences[at]))
    count = CHECKED if is_exact else CHECKED_IN_16_BITS
    checked = np.unique([longest, *np.linspace(0, len(sentences) - 1, count).astype(int)])
    some = [sentences[at] for at in checked]
    # By token: float32 itself moves the sum of a long sentence's steps, read in any two ways, by more than a step.
    steps, apart = np.array([len(sentence) - 1 for sentence in some]), nll_apart(model, some, tokens)
    if is_exact:
        return bool((np.abs(found[checked] - apart) / steps).max() <= AGREEMENT)
    with in_float32(model.model):
        exact = nll_apart(model, some, tokens)
    missed, by_apart = (np.abs(one - exact) / steps for one in (found[checked], apart))
    return bool(missed.max() <= AS_NEAR * by_apart.max())


@torch.inference_mode()
def nll_apart(model: Checkpoint, sentences: Sequence[Sequence[int]], tokens: int = TOKENS) -> Nll:
    """As `sentence_nll`, from padded batches of sentences of like length, nothing shared.

    Args:
        model: The model that is read.
        sentences: Token ids, two or more each, [sentences].
        tokens: Tokens that are read at once.

    Returns:
        [sentences], in nats, 0 or more; lower is more knowledge.

    Raises:
        CheckpointError: The memory does not hold a single one.
    """
    order = sorted(range(len(sentences)), key=lambda i: (-len(sentences[i]), i))
    found = np.zeros(len(sentences))

    def read(tokens: int) -> None:
        start = 0
        while start < len(order):
            size = max(1, tokens // len(sentences[order[start]]))
            rows = order[start : start + size]
            found[rows] = _padded(model, [sentences[row] for row in rows])
            start += size

    halving(read, tokens, "tokens")
    return found


def _padded(model: Checkpoint, sentences: Sequence[Sequence[int]]) -> Nll:
    length = max(map(len, sentences))
    ids, mask = torch.zeros(2, len(sentences), length, dtype=torch.long)
    for row, sentence in enumerate(sentences):
        ids[row, : len(sentence)] = torch.tensor(sentence)
        mask[row, : len(sentence)] = 1
    ids, mask = ids.to(model.device), mask.to(model.device)
    with reading({"last": model.anatomy.blocks[-1]}, lambda hidden: hidden[:, :-1]) as kept:
        model.model(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=1)
    logp = token_logprobs(model.anatomy.readout, kept["last"], ids[:, 1:])
    summed: Nll = -(logp.double() * mask[:, 1:]).sum(1).cpu().numpy()
    return summed


class _Reader:
    """Reads a tree piece by piece; keys and values of what later pieces follow are kept until they are read."""

    def __init__(self, model: Checkpoint, tree: PrefixTree) -> None:
        self.model, self.tree = model, tree
        self.steps = np.zeros(len(tree.tokens))
        children = np.flatnonzero(tree.parents >= 0)
        self.children = children[np.argsort(tree.parents[children], kind="stable")]
        self.firsts = np.searchsorted(tree.parents[self.children], np.arange(len(tree.tokens) + 1))
        self.kept = _Kept(len(tree.tokens))

    def read(self, pieces: Sequence[Piece], tokens: int) -> Nll:
        """[nodes]: -log p of each token after what comes before it; 0 of a first one."""
        paths = {piece.after: self.tree.path(piece.after) for piece in pieces}
        for piece in pieces:
            self.kept.wanted[paths[piece.after]] += 1
        waiting = list(pieces)
        while waiting:
            batch, waiting = self._next(waiting, tokens)
            self._read(batch, [paths[piece.after] for piece in batch])
        return self.steps

    def _next(self, waiting: list[Piece], tokens: int) -> tuple[list[Piece], list[Piece]]:
        """Pieces of like length whose beginning is read, the first ones first, so that little must be kept; and the
        others."""
        ready = [piece for piece in waiting[:AHEAD] if piece.after < 0 or self.kept.holds(piece.after)]
        longest = len(ready[0].nodes)
        alike = [piece for piece in ready if longest // 2 <= len(piece.nodes) <= longest]
        batch = alike[: max(1, tokens // longest)]
        taken = {id(piece) for piece in batch}
        return batch, [piece for piece in waiting[:AHEAD] if id(piece) not in taken] + waiting[AHEAD:]

    def _read(self, batch: Sequence[Piece], paths: Sequence[list[int]]) -> None:
        past, length = max(map(len, paths)), max(len(piece.nodes) for piece in batch)
        ids, positions = torch.zeros(2, len(batch), length, dtype=torch.long)
        seen = torch.zeros(len(batch), length, past + length, dtype=torch.bool)
        # Padding too sees itself: attention to nothing at all would be NaN.
        seen[:, :, past:] = torch.eye(length, dtype=torch.bool)
        for row, (piece, path) in enumerate(zip(batch, paths, strict=True)):
            count = len(piece.nodes)
            ids[row, :count] = torch.from_numpy(self.tree.tokens[piece.nodes])
            positions[row, :count] = torch.from_numpy(self.tree.depths[piece.nodes])
            seen[row, :count, : len(path)] = True
            seen[row, :count, past : past + count] = torch.from_numpy(piece.seen())
        dtype, device = self.model.model.dtype, self.model.device
        mask = torch.zeros(seen.shape, dtype=dtype).masked_fill_(~seen, torch.finfo(dtype).min).unsqueeze(1)
        cache = self.kept.cache(paths, past)
        last = {"last": self.model.anatomy.blocks[-1]}
        counts = torch.tensor([len(piece.nodes) for piece in batch])
        rows, places = (torch.arange(length) < counts.unsqueeze(1)).nonzero(as_tuple=True)
        at = (rows * length + places).to(device)
        with reading(last, lambda hidden: hidden.flatten(0, 1)[at]) as found:
            self.model.model(
                input_ids=ids.to(device),
                attention_mask=mask.to(device),
                position_ids=positions.to(device),
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
        nodes = np.concatenate([piece.nodes for piece in batch])
        self.kept.keep(nodes, cache, rows, past + places)
        for path in paths:
            self.kept.release(path)
        self._score(nodes, found["last"])

    def _score(self, nodes: NDArray[np.int64], hidden: torch.Tensor) -> None:
        """The steps from some nodes, whose last states are [nodes, width], to every child."""
        firsts, counts = self.firsts[nodes], self.firsts[nodes + 1] - self.firsts[nodes]
        bounds = np.concatenate([[0], np.cumsum(counts)])
        places = np.repeat(firsts - bounds[:-1], counts) + np.arange(bounds[-1])
        children, rows = self.children[places], np.repeat(np.arange(len(nodes)), counts)
        tokens = torch.from_numpy(self.tree.tokens[children]).to(hidden.device)
        for start in range(0, len(nodes), POSITIONS_PER_STEP):
            logits = self.model.anatomy.readout(hidden[start : start + POSITIONS_PER_STEP]).float()
            some = slice(bounds[start], bounds[min(start + POSITIONS_PER_STEP, len(nodes))])
            at = torch.from_numpy(rows[some] - start).to(hidden.device)
            steps = logits.logsumexp(-1)[at] - logits[at, tokens[some]]
            self.steps[children[some]] = steps.double().cpu().numpy()


class _Kept:
    """Keys and values of nodes by layer, [slots, heads, width], of those that are still wanted."""

    def __init__(self, nodes: int) -> None:
        self.wanted = np.zeros(nodes, np.int64)
        self._slots = np.full(nodes, -1, np.int64)
        self._free: list[int] = []
        self._layers: list[tuple[torch.Tensor, torch.Tensor]] = []

    def holds(self, node: int) -> bool:
        return bool(self._slots[node] >= 0)

    def keep(self, nodes: NDArray[np.int64], cache: DynamicCache, rows: torch.Tensor, places: torch.Tensor) -> None:
        """Those of `nodes` that are wanted, which stand at some rows and places of the cache."""
        wanted = np.flatnonzero(self.wanted[nodes])
        if not len(wanted):
            return
        rows, places = rows[wanted], places[wanted]
        layers: Any = cache.layers
        found = [(layer.keys[rows, :, places], layer.values[rows, :, places]) for layer in layers]
        if len(self._free) < len(wanted):
            self._grow(found, len(wanted))
        slots = np.array([self._free.pop() for _ in wanted])
        self._slots[nodes[wanted]] = slots
        for pools, new in zip(self._layers, found, strict=True):
            for pool, values in zip(pools, new, strict=True):
                pool[slots] = values

    def cache(self, paths: Sequence[list[int]], past: int) -> DynamicCache:
        """What is kept of the paths, [rows, heads, past, width] a layer; what is padded after a path is not seen."""
        slots = np.zeros((len(paths), past), np.int64)
        for row, path in zip(slots, paths, strict=True):
            row[: len(path)] = self._slots[path]
        cache = DynamicCache()
        if past:
            for layer, pools in enumerate(self._layers):
                keys, values = (pool[slots].transpose(1, 2) for pool in pools)
                cache.update(keys, values, layer)
        return cache

    def release(self, path: Sequence[int]) -> None:
        self.wanted[path] -= 1
        for node in path:
            if not self.wanted[node]:
                self._free.append(int(self._slots[node]))
                self._slots[node] = -1

    def _grow(self, like: Sequence[tuple[torch.Tensor, torch.Tensor]], more: int) -> None:
        """Twice the slots, or as many more as are needed."""
        held = len(self._layers[0][0]) if self._layers else 0
        more = max(more, held)
        old = self._layers or [(keys[:0], values[:0]) for keys, values in like]
        self._layers = [(_longer(keys, more), _longer(values, more)) for keys, values in old]
        self._free += range(held, held + more)


def _longer(pool: torch.Tensor, more: int) -> torch.Tensor:
    return torch.cat([pool, pool.new_zeros((more, *pool.shape[1:]))])
