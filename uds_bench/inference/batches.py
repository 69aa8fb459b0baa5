"""Padded batches of encoded facts, cut right after the last token whose prediction is measured."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch

from uds_bench.errors import CheckpointError
from uds_bench.facts import EncodedFact

PaddingSide = Literal["right", "left"]
TOKENS = 1024
"""Of a text, beyond which fewer go through a model at a time: what memory holds goes by tokens."""


@dataclass(frozen=True)
class EntityBatch:
    """One batch of facts for a causal model.

    `ids`, `mask`, `positions`: [facts, length]. `predicting`: [facts, entity length], the index in the row at which
    each entity token is predicted, one before the token itself (UDS guide, section 3.2, read at the position that
    carries the log-probability); `targets`: the entity tokens; `valid`: False where a shorter entity was padded.
    `rows`: the place of each fact in the sequence that was batched.
    """

    rows: tuple[int, ...]
    ids: torch.Tensor
    mask: torch.Tensor
    positions: torch.Tensor
    predicting: torch.Tensor
    targets: torch.Tensor
    valid: torch.Tensor

    def inputs(self) -> dict[str, torch.Tensor]:
        """What the model is called with."""
        return {"input_ids": self.ids, "attention_mask": self.mask, "position_ids": self.positions}

    def take(self, rows: slice) -> EntityBatch:
        """The same batch, narrowed to some of its rows (padding stays as it is)."""
        tensors = (self.ids, self.mask, self.positions, self.predicting, self.targets, self.valid)
        return EntityBatch(self.rows[rows], *(tensor[rows] for tensor in tensors))

    def mean_over_entity(self, values: torch.Tensor) -> torch.Tensor:
        """Mean of [..., facts, entity length] over the real entity tokens: [..., facts]."""
        lengths = self.valid.sum(-1)
        return torch.where(self.valid, values, torch.zeros_like(values)).sum(-1) / lengths


def entity_batches(
    encoded: Sequence[EncodedFact],
    size: int,
    device: torch.device | str = "cpu",
    side: PaddingSide = "right",
) -> list[EntityBatch]:
    """Batches of facts of like length, longest first (the peak of memory comes first).

    Args:
        encoded: The facts in a model's own tokens, [facts].
        size: Facts in a batch, at most; fewer of those that are longer than `TOKENS`.
        device: Where the batches are to lie.
        side: Where shorter rows are padded.

    Returns:
        The batches; `rows` tells which facts are in each.

    Raises:
        ValueError: The size is below 1.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(ids=(5, 6, 7), start=2, end=3), SimpleNamespace(ids=(5, 6, 7, 8), start=3, end=4)]
        >>> (batch,) = entity_batches(facts, 2)
        >>> batch.rows, batch.ids.tolist(), batch.predicting.tolist(), batch.targets.tolist()
        ((1, 0), [[5, 6, 7], [5, 6, 0]], [[2], [1]], [[8], [7]])
    """
    if size < 1:
        raise ValueError(f"batch size must be at least 1, not {size}")
    groups = together([fact.end for fact in encoded], size)
    return [_pad([encoded[i] for i in group], tuple(group), device, side) for group in groups]


def together(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Which texts go through a model at a time: those of like length, longest first.

    Args:
        lengths: Of each text, in tokens.
        size: Texts at a time, at most, and `TOKENS` times as many tokens, with their padding.

    Returns:
        Places of the texts, group by group; a text that is longer than all that is alone.

    Example:
        >>> together([5, 7, 6], 2), together([3000, 5, 1500], 2)
        ([[1, 2], [0]], [[0], [2], [1]])
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    groups, start = [], 0
    while start < len(order):
        most = max(1, min(size, size * TOKENS // max(1, lengths[order[start]])))
        groups.append(order[start : start + most])
        start += most
    return groups


def _pad(
    facts: Sequence[EncodedFact], rows: tuple[int, ...], device: torch.device | str, side: PaddingSide
) -> EntityBatch:
    # A causal model's earlier positions never see later ones: what follows the entity can be cut without effect.
    kept = [fact.ids[: fact.end - 1] for fact in facts]
    length = max(len(ids) for ids in kept)
    span = max(fact.end - fact.start for fact in facts)
    ids = torch.zeros(len(facts), length, dtype=torch.long)
    mask = torch.zeros(len(facts), length, dtype=torch.long)
    positions = torch.zeros(len(facts), length, dtype=torch.long)
    predicting = torch.zeros(len(facts), span, dtype=torch.long)
    targets = torch.zeros(len(facts), span, dtype=torch.long)
    valid = torch.zeros(len(facts), span, dtype=torch.bool)
    for row, (fact, kept_ids) in enumerate(zip(facts, kept, strict=True)):
        first = 0 if side == "right" else length - len(kept_ids)
        place = slice(first, first + len(kept_ids))
        ids[row, place] = torch.tensor(kept_ids)
        mask[row, place] = 1
        positions[row, place] = torch.arange(len(kept_ids))
        # Positions of padding must be legal ones, their values never reach a measured token.
        count = fact.end - fact.start
        at = torch.arange(fact.start - 1, fact.end - 1) + first
        predicting[row, :count] = at
        predicting[row, count:] = at[-1]
        targets[row, :count] = torch.tensor(fact.ids[fact.start : fact.end])
        valid[row, :count] = True
    return EntityBatch(rows, *(t.to(device) for t in (ids, mask, positions, predicting, targets, valid)))


def gather_positions(hidden: torch.Tensor, predicting: torch.Tensor) -> torch.Tensor:
    """The states at some positions of each row.

    Args:
        hidden: [facts, length, width].
        predicting: Places in a row, [facts, T].

    Returns:
        [facts, T, width].

    Example:
        >>> hidden = torch.tensor([[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]])
        >>> gather_positions(hidden, torch.tensor([[2, 0]]))
        tensor([[[4., 5.],
                 [0., 1.]]])
    """
    return hidden.gather(1, predicting.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))


T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_HALVED: ContextVar[dict[str, int]] = ContextVar("halved")


_OF_CPU = ("DefaultCPUAllocator", "can't allocate memory", "std::bad_alloc")
"""What a RuntimeError of torch says where a processor's memory is out: it has no type of its own."""
MORE_ROOM = "use a device with more, fewer bits (dtype, quantization), or shorter texts"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the memory of a device, or of this machine, did not hold what was asked for.

    Example:
        >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes do not match"))
        (True, False)
    """
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(said in str(error) for said in _OF_CPU)


def lacking(error: BaseException) -> str:
    """What such an error says was asked for, in some words."""
    found = re.search(r"(tried|unable) to allocate \d[\d.]* \w+", str(error), re.IGNORECASE)
    return found[0][0].lower() + found[0][1:] if found else str(error).split(". ")[0] or "out of memory"


@contextmanager
def halved() -> Iterator[dict[str, int]]:
    """What memory does not hold meanwhile.

    Yields:
        How few go through a model at a time, by what they are: filled as it comes.

    Example:
        >>> with halved() as found:
        ...     make_room(8, "answers")
        ...     make_room(4, "answers")
        >>> found
        {'answers': 4}
    """
    found: dict[str, int] = {}
    before = _HALVED.set(found)
    try:
        yield found
    finally:
        _HALVED.reset(before)
        for what, size in found.items():  # what is measured for something else is part of that
            _note(size, what)


def _note(size: int, what: str) -> None:
    known = _HALVED.get({})
    known[what] = min(size, known.get(what, size))


def make_room(size: int, what: str) -> None:
    """Says that no more of something go through a model at a time, and gives back what the device holds for nobody."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    _note(size, what)
    told = f"{size} {what} at a time from here on" if size else f"no {what} from here on"
    _LOG.warning("too little memory: %s", told)


def halving(run: Callable[[int], T], size: int, what: str = "facts") -> T:
    """What `run(size)` gives, or with half as many at a time, and half of that, until they fit.

    Args:
        run: Does all of the work, so many at a time; it is started anew, and must bear that.
        size: How many at first.
        what: What they are, in words.

    Returns:
        Its result, which does not depend on how many there were at a time, but for rounding.

    Raises:
        CheckpointError: The memory does not hold a single one.

    Example:
        >>> def run(size: int) -> int:
        ...     if size > 4:
        ...         raise torch.OutOfMemoryError
        ...     return size
        >>> halving(run, 16)
        4
    """
    while True:
        try:
            return run(size)
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if size <= 1:
                raise CheckpointError(
                    f"the device has too little memory for one at a time of {what} ({lacking(error)}): {MORE_ROOM}"
                ) from None
        # Outside of the clause: the error keeps alive what was computed before it.
        size //= 2
        make_room(size, what)
