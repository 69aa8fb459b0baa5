"""Weights of several checkpoints side by side, straight from their files, a piece at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from uds_bench.audits.localization.families import FAMILIES, Change, Family, Part, Weights
from uds_bench.checkpoints.masks import Masks
from uds_bench.checkpoints.stored import Rows, pieces, stored
from uds_bench.checkpoints.weights import finite, weight_files
from uds_bench.errors import CheckpointError

Marks = NDArray[np.bool_]
MADE: dict[Part, Part] = {"pretrained": "unlearned", "injected": "unlearned", "unmasked": "unmasked_unlearned"}
"""By checkpoint the update that was made of it."""


@dataclass(frozen=True)
class CheckpointSet:
    """Folders of checkpoints that differ in their weights alone: `injected` and `unlearned` always, `pretrained` for
    reversals. `unmasked`, `unmasked_unlearned`: the contrast's control, a model that was injected without a mask and
    what the same method made of it; both or none. `held`: their tensors by name, where they are in memory instead of
    those folders' files; what is scored of them is kept, as several targets ask for it.

    Raises CheckpointError, naming tensor and folder, where one lacks a tensor of the masks, has it in another shape, or
    holds what is no number in it.
    """

    folders: Mapping[Part, Path]
    masks: Masks
    held: Mapping[Part, Mapping[str, Rows]] | None = None

    def __post_init__(self) -> None:
        lacking = set(FAMILIES["raw"].reads) - set(self.folders)
        if lacking:
            raise CheckpointError(f"localization needs {', '.join(sorted(lacking))}: name the folders")
        if ("unmasked" in self.folders) != ("unmasked_unlearned" in self.folders):
            raise CheckpointError("a contrast needs the unmasked model and what the method made of it: name both")
        for part, tensors in self._tensors.items():
            for name, word in self.masks.words.items():
                if name not in tensors:
                    raise CheckpointError(
                        f"{self.folders[part]}: has no tensor {name} as the masks have: they are another model's"
                    )
                if (shape := tuple(tensors[name].shape)) != (masked := tuple(word.shape)):
                    raise CheckpointError(
                        f"{self.folders[part]}: {name} has shape {shape} and its mask {masked}: they are another "
                        "model's"
                    )

    def require_kin(self) -> None:
        """Raises CheckpointError, naming tensor and folder, where the checkpoints do not have the same tensors, of the
        same shapes, outside the masks too; and where nothing was injected."""
        injected = self._tensors["injected"]
        for part, tensors in self._tensors.items():
            if differ := sorted(injected.keys() ^ tensors.keys()):
                raise CheckpointError(f"{self.folders[part]}: {differ[0]} is in one of injected and {part} alone")
            for name, tensor in tensors.items():
                if tensor.shape != injected[name].shape:
                    raise CheckpointError(
                        f"{self.folders[part]}: {name} has shape {tensor.shape}, in the injected model "
                        f"{injected[name].shape}: they are not made of each other"
                    )
        if "pretrained" in self.folders and self._alike("pretrained"):
            raise CheckpointError(
                f"{self.folders['pretrained']}: every weight that masks reach is the injected model's: name the model "
                "before injection"
            )

    def _alike(self, part: Part) -> bool:
        """Whether what masks reach is the injected model's; read no further than to the first difference."""
        return all(
            torch.equal(self._tensors[part][name][rows], self._tensors["injected"][name][rows])
            for name, word in self.masks.words.items()
            for rows in pieces(word.shape)
        )

    @cached_property
    def _tensors(self) -> Mapping[Part, Mapping[str, Rows]]:
        """By checkpoint and name."""
        if self.held is not None:
            return self.held
        found: dict[Part, dict[str, Rows]] = {}
        for part, folder in self.folders.items():
            found[part] = {}
            for path in weight_files(folder):
                found[part] |= stored(path)[0]
        return found

    def offers(self, family: Family) -> bool:
        """Whether all checkpoints that a family reads are there."""
        return set(family.reads) <= set(self.folders)

    def scores(self, family: Family) -> Mapping[str, Weights]:
        """By tensor, every maskable weight's score. Raises CheckpointError where a checkpoint that the family reads is
        not there."""
        if not self.offers(family):
            lacking = sorted(set(family.reads) - set(self.folders))
            raise CheckpointError(f"{family.name} needs {', '.join(lacking)}: name the folders")
        if (found := self._scored.get(family.name)) is None:
            spread = self._spread() if family.name == "layernorm" else {}
            words = self.masks.words
            found = {name: family.score(self.change(family, name, spread.get(group(name), 1.0))) for name in words}
        if self.held is not None:
            self._scored[family.name] = found
        return found

    @cached_property
    def _scored(self) -> dict[str, Mapping[str, Weights]]:
        return {}

    def change(self, family: Family, name: str, spread: float = 1.0) -> Change:
        """A tensor in each checkpoint that a family reads, and in no other."""
        read = {part: self._read(part, name, slice(None)) for part in family.reads}
        unmasked = read["unmasked_unlearned"] - read["unmasked"] if family.needs_control else None
        return Change(read.get("pretrained"), read["injected"], read["unlearned"], unmasked, spread)

    def tensor(self, part: Part, name: str) -> torch.Tensor:
        """A whole tensor of a checkpoint, as it is stored; see `stored`."""
        return self.stored(part, name, slice(None))

    def outside(self, masked: float) -> tuple[float, float]:
        """How much of unlearning lies in tensors that no mask could be in: the last blocks, norms, embeddings.

        Args:
            masked: The squared length of unlearning in the others.

        Returns:
            Their share of unlearning's squared length, 0 to 1, NaN where it moved nothing; and their share of all
            weights, which an update of every weight alike has.
        """
        apart, size = 0.0, 0
        for name, tensor in self._tensors["injected"].items():
            if name not in self.masks.words:
                for rows in pieces(tuple(tensor.shape)):
                    moved = self._read("unlearned", name, rows) - self._read("injected", name, rows)
                    apart += float((moved.astype(np.float64) ** 2).sum())
                    size += moved.size
        length = apart + masked
        return apart / length if length else math.nan, size / (size + self.masks.weights)

    def _read(self, part: Part, name: str, rows: slice) -> Weights:
        return self.numbers(part, name, self.stored(part, name, rows))

    def numbers(self, part: Part, name: str, rows: torch.Tensor) -> Weights:
        """Some rows of a checkpoint's tensor as numbers. Raises CheckpointError where one is none."""
        found = rows.float()
        if not finite(found):
            raise CheckpointError(f"{self.folders[part]}: {name} holds NaN or infinity: the training diverged")
        weights: Weights = found.numpy()
        return weights

    def stored(self, part: Part, name: str, rows: slice) -> torch.Tensor:
        """Some rows as they are stored; of what an update was made of, rounded as the update is, where that is stored
        more coarsely: rounding alone would look like a change of every weight."""
        found, made = self._tensors[part][name][rows], MADE.get(part)
        if made is None or made not in self._tensors:
            return found
        coarse = self._tensors[made][name].dtype
        if not (coarse.is_floating_point and found.dtype.is_floating_point):
            return found  # whole numbers, as some buffers are, have no precision
        return found.to(coarse) if torch.finfo(coarse).eps > torch.finfo(found.dtype).eps else found

    def _spread(self) -> dict[str, float]:
        """By layer and component, the standard deviation of D_unl."""
        found: dict[str, ScoreMoments] = {}
        for name in self.masks.words:
            found.setdefault(group(name), ScoreMoments()).add(self.change(FAMILIES["raw"], name).unlearning)
        return {key: moments.spread for key, moments in found.items()}


@dataclass
class ScoreMoments:
    """What a standard deviation is made of, of numbers that come in pieces."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, moved: Weights) -> None:
        """Some more of them."""
        fine = moved.astype(np.float64)
        self.count += fine.size
        self.total += float(fine.sum())
        self.squares += float((fine**2).sum())

    @property
    def spread(self) -> float:
        """Their standard deviation."""
        return math.sqrt(max(0.0, self.squares / self.count - (self.total / self.count) ** 2))


def group(name: str) -> str:
    """The layer and component (attention, feed-forward) of a tensor: its name without the projection's.

    Example:
        >>> group("model.layers.3.self_attn.q_proj.weight")
        'model.layers.3.self_attn'
    """
    return ".".join(name.split(".")[:-2])
