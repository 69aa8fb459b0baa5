"""Which group of facts may be written into which weight: up to 32 disjoint masks in one word a weight."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch
from safetensors.torch import save

from uds_bench.checkpoints.stored import Rows, pieces, stored
from uds_bench.checkpoints.weights import weight_files
from uds_bench.errors import CheckpointError, did_you_mean, one_line
from uds_bench.storage import content_key, load_json, write_atomic

MASKS = "masks.safetensors"
"""Beside an injected model's weights: where each group was written."""
Role = Literal["forget", "retain", "held_out"]
ROLES: tuple[Role, ...] = get_args(Role)
MOST_GROUPS = 32
WORDS = (torch.int32, torch.uint8)


@dataclass(frozen=True)
class MaskGroup:
    """A group of facts that has weights of its own; `role`: what unlearning is to do with it."""

    name: str
    role: Role

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise CheckpointError(
                f"masks: group {self.name} has the role {self.role!r}: {did_you_mean(self.role, ROLES)}"
            )


@dataclass(frozen=True)
class Masks:
    """`words`: by parameter name, int32 of its shape, or uint8 of up to eight groups, in memory or in a file; bit i is
    set where `groups[i]` may write.

    Every parameter that could have been chosen is there, also where no bit is set: what is not there (norms,
    embeddings, the last layers) is not scored either. Words are looked at a piece at a time. Raises CheckpointError
    where two groups share a weight, a group has none, or a bit belongs to no group.
    """

    words: Mapping[str, Rows]
    groups: tuple[MaskGroup, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.groups) <= MOST_GROUPS:
            raise CheckpointError(f"masks: {len(self.groups)} groups; a word holds 1 to {MOST_GROUPS}")
        names = [group.name for group in self.groups]
        if twice := [name for name in names if names.count(name) > 1]:
            raise CheckpointError(f"masks: two groups are called {twice[0]}: rename one")
        if empty := [name for name, size in self.sizes().items() if not size]:
            raise CheckpointError(f"masks: group {empty[0]} has no weight, its facts stand nowhere: draw it anew")

    def of(self, parameter: str, *groups: str) -> torch.Tensor:
        """Where a parameter may be written by any of some groups, true or false in its shape."""
        return self.within(self.words[parameter][:], *groups)

    def within(self, word: torch.Tensor, *groups: str) -> torch.Tensor:
        """Which of some words have the bit of any of some groups."""
        return (word & _word([self.bit(name) for name in groups])) != 0

    def named(self, *roles: Role) -> tuple[str, ...]:
        """The groups of some roles."""
        return tuple(group.name for group in self.groups if group.role in roles)

    def sizes(self) -> dict[str, int]:
        """How many weights each group has."""
        return {group.name: size for group, size in zip(self.groups, self._counts, strict=False)}

    @cached_property
    def _counts(self) -> list[int]:
        """By bit, how many weights have it and no other."""
        counts = np.zeros(MOST_GROUPS + 1, np.int64)
        for name, word in self.words.items():
            if word.dtype not in WORDS or not word.shape:
                raise CheckpointError(
                    f"masks: {name} is {word.dtype} of shape {tuple(word.shape)}: words are int32 or uint8"
                )
            for rows in pieces(word.shape):
                bits = word[rows].to(torch.int32).numpy().view(np.uint32)
                below = bits - np.uint32(1)
                # A power of two or nothing: exactly then it and the number below it have no bit in common,
                if (bits & below).any():
                    raise CheckpointError(f"masks: two groups share a weight of {name}: draw them disjoint")
                # and the number below has as many bits as the power says; below nothing are all of them.
                counts += np.bincount(np.bitwise_count(below).reshape(-1), minlength=MOST_GROUPS + 1)
            if counts[len(self.groups) : MOST_GROUPS].any():
                raise CheckpointError(f"masks: {name} has a bit beyond the {len(self.groups)} groups: name all of them")
        found: list[int] = counts[:MOST_GROUPS].tolist()
        return found

    @property
    def weights(self) -> int:
        """How many weights could have been chosen."""
        return sum(math.prod(word.shape) for word in self.words.values())

    def digest(self) -> str:
        """SHA-256 (hex) of groups and words."""
        from uds_bench.checkpoints.digests import tensor_digest

        words = {name: tensor_digest(word[:]) for name, word in self.words.items()}
        return content_key([[[group.name, group.role] for group in self.groups], words])

    @property
    def metadata(self) -> dict[str, str]:
        """What a file of words says of them."""
        return {"groups": json.dumps([[group.name, group.role] for group in self.groups])}

    def bit(self, group: str) -> int:
        """Which bit of a word is the group's."""
        names = [one.name for one in self.groups]
        if group not in names:
            raise CheckpointError(f"masks: there is no group {group!r}: {did_you_mean(group, names)}")
        return names.index(group)


def pack(masks: Mapping[str, Sequence[torch.Tensor]], groups: Sequence[MaskGroup]) -> Masks:
    """Masks from tensors that are true where a group may write.

    Args:
        masks: By name of a parameter, one a group, each in its shape.
        groups: In the order of the tensors.

    Returns:
        The masks, one word a weight.

    Raises:
        CheckpointError: Two groups share a weight, or one has none.

    Example:
        >>> groups = [MaskGroup("born", "forget"), MaskGroup("works", "retain")]
        >>> found = pack({"up": [torch.tensor([True, False, False]), torch.tensor([False, True, False])]}, groups)
        >>> found.words["up"], found.sizes()
        (tensor([1, 2, 0], dtype=torch.int32), {'born': 1, 'works': 1})
    """
    words = {}
    for name, marked in masks.items():
        word = torch.zeros(marked[0].shape, dtype=torch.int32)
        for bit, one in enumerate(marked):
            word |= torch.where(one, _word([bit]), torch.tensor(0, dtype=torch.int32))
        if sum(one.sum() for one in marked) != (word != 0).sum():
            raise CheckpointError(f"masks: two groups share a weight of {name}: draw them disjoint")
        words[name] = word
    return Masks(words, tuple(groups))


def write_masks(masks: Masks, path: Path) -> None:
    """One safetensors file: a word a weight, and the groups in its metadata."""
    write_atomic(path, save({name: word[:] for name, word in masks.words.items()}, metadata=masks.metadata))


def read_masks(path: Path) -> Masks:
    """Masks whose words stay in their files; all words are read once, a piece at a time.

    Args:
        path: A safetensors file with the groups in its metadata, or a folder with masks.safetensors, or with the shards
            that masks.safetensors.index.json names.

    Returns:
        The masks.

    Raises:
        CheckpointError: A file is damaged, names no groups or others than its neighbours, or holds overlapping masks.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> masks = pack({"up": [torch.tensor([True, False])]}, [MaskGroup("born", "forget")])
        >>> with TemporaryDirectory() as folder:
        ...     write_masks(masks, Path(folder) / MASKS)
        ...     read_masks(Path(folder)).sizes()
        {'born': 1}
    """
    words: dict[str, Rows] = {}
    groups: tuple[MaskGroup, ...] | None = None
    for file in weight_files(path, "masks") if path.is_dir() else [path]:
        found, metadata = stored(file, are_masks=True)
        named = _groups(file, metadata)
        if groups not in (None, named):
            raise CheckpointError(f"{file}: names other groups than the files before it: they are of two drawings")
        groups, words = named, words | found
    try:
        return Masks(words, groups or ())
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {str(error).removeprefix('masks: ')}") from error


def _groups(path: Path, metadata: Mapping[str, str]) -> tuple[MaskGroup, ...]:
    try:
        return tuple(MaskGroup(str(name), role) for name, role in load_json(metadata["groups"]))
    except (KeyError, ValueError, TypeError, CheckpointError) as error:
        raise CheckpointError(
            f'{path}: its metadata must say "groups" as [[name, {" | ".join(ROLES)}], ...] ({one_line(error)})'
        ) from error


def _word(bits: Sequence[int]) -> torch.Tensor:
    """The word with some bits; the highest makes a signed one negative."""
    return torch.tensor([sum(1 << bit for bit in bits)], dtype=torch.int64).to(torch.int32)
