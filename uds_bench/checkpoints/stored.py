"""Tensors that stay in their safetensors files: what they are is known, and their rows are read when asked for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from uds_bench.checkpoints.weights import opened
from uds_bench.errors import CheckpointError, one_line
from uds_bench.storage import load_json

PIECE = 1 << 20
"""Weights of a tensor that are looked at at a time."""
FLOATS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
"""By a file's name of them: those that are weights by themselves (8-bit ones have scales elsewhere)."""
_DTYPES = FLOATS | {"I32": torch.int32}
"""These, and masks' words."""
_BYTES = {"U8": torch.uint8}
"""Types of masks alone: weights in bytes are quantized."""


class Rows(Protocol):
    """A tensor in memory or in a file, of which rows may be had."""

    @property
    def dtype(self) -> torch.dtype:
        """The type of its values, as torch has it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole tensor."""

    def __getitem__(self, rows: slice, /) -> torch.Tensor: ...


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a file, from byte `start` on; `tensor[rows]` is as of a tensor in memory.

    Bytes are copied, not mapped: a mapped page counts as this process's memory for as long as the file is open.
    """

    path: Path
    name: str
    stored_as: str
    shape: tuple[int, ...]
    start: int
    is_mask: bool = False

    @property
    def dtype(self) -> torch.dtype:
        """Raises CheckpointError for a type whose values are no weights by themselves."""
        known = _DTYPES | _BYTES if self.is_mask else _DTYPES
        if self.stored_as not in known:
            raise CheckpointError(
                f"{self.path}: {self.name} is stored as {self.stored_as}, not as one of {', '.join(_DTYPES)}: "
                "save the weights unquantized"
            )
        return known[self.stored_as]

    def __getitem__(self, rows: slice) -> torch.Tensor:
        """Some consecutive rows. Raises CheckpointError where the file is shorter than it was."""
        first, last, step = rows.indices(self.shape[0])
        if step != 1:
            raise ValueError(f"rows {rows} are not consecutive")
        shape = (max(0, last - first), *self.shape[1:])
        if not math.prod(shape):
            return torch.empty(shape, dtype=self.dtype)
        row = math.prod(self.shape[1:]) * self.dtype.itemsize
        try:
            found = np.fromfile(self.path, np.uint8, shape[0] * row, offset=self.start + first * row)
        except OSError as error:
            raise CheckpointError(f"{self.path}: cannot be read ({one_line(error)}): copy it again") from error
        if len(found) < shape[0] * row:
            raise CheckpointError(f"{self.path}: was cut short while it was read: leave it alone during an audit")
        return torch.from_numpy(found).view(self.dtype).reshape(shape)


def stored(path: Path, are_masks: bool = False) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """A safetensors file's tensors, in the order of names, and its metadata; reads the header alone.

    Raises CheckpointError for a file that is damaged.
    """
    with opened(path) as file:  # checks types, shapes and offsets
        metadata = file.metadata() or {}
    with path.open("rb") as raw:
        length = int.from_bytes(raw.read(8), "little")
        header = load_json(raw.read(length))
    header.pop("__metadata__", None)
    found = {}
    for name, said in sorted(header.items()):
        start = 8 + length + said["data_offsets"][0]
        found[name] = StoredTensor(path, name, said["dtype"], tuple(said["shape"]), start, are_masks)
    return found, metadata


def pieces(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices of rows, about `PIECE` weights each, that make up a tensor of a shape."""
    rows = max(1, PIECE // max(1, math.prod(shape[1:])))
    return (slice(start, min(shape[0], start + rows)) for start in range(0, shape[0], rows))
