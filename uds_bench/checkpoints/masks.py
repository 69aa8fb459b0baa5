"""Which group of facts may be written into which weight: up to 32 disjoint masks in one 32-bit word a weight."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from uds_bench.checkpoints.source import one_line
from uds_bench.errors import CheckpointError
from uds_bench.storage import content_key, write_atomic

Role = Literal["forget", "retain", "held_out"]
ROLES: tuple[Role, ...] = get_args(Role)
MOST = 32


@dataclass(frozen=True)
class Group:
    """A group of facts that has weights of its own; `role`: what unlearning is to do with it."""

    name: str
    role: Role


@dataclass(frozen=True)
class Masks:
    """`words`: by parameter name, an int32 tensor of its shape; bit i is set where `groups[i]` may write.

    Every parameter that could have been chosen is there, also where no bit is set: what is not there (norms,
    embeddings, the last layers) is not scored either. Raises CheckpointError where two groups share a weight, a group
    has none, or a bit belongs to no group.
    """

    words: Mapping[str, torch.Tensor]
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.groups) <= MOST:
            raise CheckpointError(f"masks: {len(self.groups)} groups; a word holds 1 to {MOST}")
        names = [group.name for group in self.groups]
        if twice := [name for name in names if names.count(name) > 1]:
            raise CheckpointError(f"masks: two groups are called {twice[0]}: rename one")
        sizes = dict.fromkeys(names, 0)
        for name, word in self.words.items():
            if word.dtype != torch.int32:
                raise CheckpointError(f"masks: {name} has dtype {word.dtype}: words are int32")
            left = word.clone()
            for bit, group in enumerate(names):
                marked = _has(word, bit)
                sizes[group] += int(marked.sum())
                left &= ~_bit(bit)
            if left.any():
                raise CheckpointError(f"masks: {name} has a bit beyond the {len(names)} groups: name all of them")
            # A power of two or nothing: exactly then it and the number below it have no bit in common.
            if (word & (word - 1)).any():
                raise CheckpointError(f"masks: two groups share a weight of {name}: masks must be disjoint")
        if empty := [name for name, size in sizes.items() if not size]:
            raise CheckpointError(f"masks: group {empty[0]} has no weight: its facts could be written nowhere")

    def of(self, parameter: str, *groups: str) -> torch.Tensor:
        """Where a parameter may be written by any of some groups, true or false in its shape."""
        word, bits = self.words[parameter], [self.bit(name) for name in groups]
        return (word & _bits(bits)) != 0

    def named(self, *roles: Role) -> tuple[str, ...]:
        """The groups of some roles."""
        return tuple(group.name for group in self.groups if group.role in roles)

    def sizes(self) -> dict[str, int]:
        """How many weights each group has."""
        found = dict.fromkeys((group.name for group in self.groups), 0)
        for word in self.words.values():
            for bit, name in enumerate(found):
                found[name] += int(_has(word, bit).sum())
        return found

    @property
    def weights(self) -> int:
        """How many weights could have been chosen."""
        return sum(word.numel() for word in self.words.values())

    def digest(self) -> str:
        """SHA-256 (hex) of groups and words."""
        from uds_bench.checkpoints.digest import tensor_digest

        words = {name: tensor_digest(word) for name, word in self.words.items()}
        return content_key([[[group.name, group.role] for group in self.groups], words])

    def bit(self, group: str) -> int:
        """Which bit of a word is the group's."""
        names = [one.name for one in self.groups]
        if group not in names:
            raise CheckpointError(f"masks: there is no group {group!r}: choose from {', '.join(names)}")
        return names.index(group)


def pack(masks: Mapping[str, Sequence[torch.Tensor]], groups: Sequence[Group]) -> Masks:
    """From true/false tensors by parameter, one a group."""
    words = {}
    for name, marked in masks.items():
        word = torch.zeros(marked[0].shape, dtype=torch.int32)
        for bit, one in enumerate(marked):
            word |= torch.where(one, _bit(bit), torch.tensor(0, dtype=torch.int32))
        if sum(one.sum() for one in marked) != (word != 0).sum():
            raise CheckpointError(f"masks: two groups share a weight of {name}: masks must be disjoint")
        words[name] = word
    return Masks(words, tuple(groups))


def write_masks(masks: Masks, path: Path) -> None:
    """One safetensors file: a word a weight, and the groups in its metadata."""
    groups = json.dumps([[group.name, group.role] for group in masks.groups])
    write_atomic(path, save(dict(masks.words), metadata={"groups": groups}))


def read_masks(path: Path) -> Masks:
    """Raises CheckpointError, in a line, for a file that is damaged, names no groups or holds overlapping masks."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            metadata, words = file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        groups = tuple(_group(*each) for each in json.loads(metadata["groups"]))
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: not a readable safetensors file ({one_line(error)})") from error
    except (KeyError, ValueError, TypeError) as error:
        raise CheckpointError(
            f'{path}: its metadata must say "groups" as [[name, {" | ".join(ROLES)}], ...] ({one_line(error)})'
        ) from error
    try:
        return Masks(words, groups)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {str(error).removeprefix('masks: ')}") from error


def _group(name: str, role: Role) -> Group:
    if role not in ROLES:
        raise ValueError(f"role {role!r}")
    return Group(str(name), role)


def _has(word: torch.Tensor, bit: int) -> torch.Tensor:
    return (word & _bit(bit)) != 0


def _bit(bit: int) -> torch.Tensor:
    return _bits([bit])


def _bits(bits: Sequence[int]) -> torch.Tensor:
    """Their word; the highest bit makes a signed one negative."""
    return torch.tensor([sum(1 << bit for bit in bits)], dtype=torch.int64).to(torch.int32)
