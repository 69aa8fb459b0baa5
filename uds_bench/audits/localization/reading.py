"""Weights of several checkpoints side by side, straight from their files, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open

from uds_bench.audits.localization.families import Change, Family, Weights
from uds_bench.checkpoints.masks import Masks
from uds_bench.checkpoints.weights import finite, weight_files
from uds_bench.errors import CheckpointError

PIECE = 1 << 20
"""Weights of a tensor that are read at a time, where a score looks at each by itself."""
Part = Literal["pretrained", "injected", "unlearned", "unmasked", "unmasked_unlearned"]
THREE: tuple[Part, Part, Part] = ("pretrained", "injected", "unlearned")
Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class Lineup:
    """Folders of checkpoints that differ in their weights alone. `unmasked`, `unmasked_unlearned`: the contrast's
    control, a model that was injected without a mask and what the same method made of it; both or none.

    Raises CheckpointError, naming tensor and folder, where one lacks a tensor of the masks, has it in another shape, or
    holds what is no number in it.
    """

    folders: Mapping[Part, Path]
    masks: Masks

    def __post_init__(self) -> None:
        lacking = set(THREE) - set(self.folders)
        if lacking:
            raise CheckpointError(f"localization needs {', '.join(sorted(lacking))}: name the folders")
        if ("unmasked" in self.folders) != ("unmasked_unlearned" in self.folders):
            raise CheckpointError("a contrast needs the unmasked model and what the method made of it: name both")
        for part, places in self._places.items():
            for name, word in self.masks.words.items():
                self._check(part, places, name, tuple(word.shape))

    def _check(self, part: Part, places: Mapping[str, Path], name: str, masked: tuple[int, ...]) -> None:
        if name not in places:
            raise CheckpointError(
                f"{self.folders[part]}: has no tensor {name} as the masks have: they are another model's"
            )
        with safe_open(places[name], framework="pt", device="cpu") as file:
            shape = tuple(file.get_slice(name).get_shape())
        if shape != masked:
            raise CheckpointError(
                f"{self.folders[part]}: {name} has shape {shape} and its mask {masked}: they are another model's"
            )

    @cached_property
    def _places(self) -> dict[Part, dict[str, Path]]:
        """By checkpoint and tensor, the file that holds it."""
        found: dict[Part, dict[str, Path]] = {}
        for part, folder in self.folders.items():
            found[part] = {}
            for path in weight_files(folder):
                with safe_open(path, framework="pt", device="cpu") as file:
                    found[part] |= dict.fromkeys(file.keys(), path)
        return found

    @property
    def has_control(self) -> bool:
        return "unmasked" in self.folders

    def scores(self, family: Family) -> Iterator[tuple[str, slice, Weights]]:
        """Every maskable weight's score: tensor, rows, and the rows' scores. Whole tensors where the family ranks them
        within one, else pieces of them."""
        spread = self._spread() if family.name == "layernorm" else {}
        for name, word in self.masks.words.items():
            scale = spread.get(group(name), 1.0)
            for rows in [slice(0, word.shape[0])] if family.name == "qtile" else _pieces(word):
                yield name, rows, family.score(self.change(name, rows, family.needs_control, scale))

    def change(self, name: str, rows: slice, control: bool = False, spread: float = 1.0) -> Change:
        """Some rows of a tensor in each checkpoint."""
        unmasked = None
        if control and self.has_control:
            unmasked = self._read("unmasked_unlearned", name, rows) - self._read("unmasked", name, rows)
        pretrained, injected, unlearned = (self._read(part, name, rows) for part in THREE)
        return Change(pretrained, injected, unlearned, unmasked, spread)

    def _read(self, part: Part, name: str, rows: slice) -> Weights:
        with safe_open(self._places[part][name], framework="pt", device="cpu") as file:
            found: torch.Tensor = file.get_slice(name)[rows].float()
        if not finite(found):
            raise CheckpointError(f"{self.folders[part]}: {name} holds NaN or infinity: the training diverged")
        weights: Weights = found.numpy()
        return weights

    def _spread(self) -> dict[str, float]:
        """By layer and component, the standard deviation of D_unl."""
        count: dict[str, int] = {}
        total: dict[str, float] = {}
        squares: dict[str, float] = {}
        for name, word in self.masks.words.items():
            key = group(name)
            for rows in _pieces(word):
                moved = self.change(name, rows).unlearning.astype(np.float64)
                count[key] = count.get(key, 0) + moved.size
                total[key] = total.get(key, 0.0) + float(moved.sum())
                squares[key] = squares.get(key, 0.0) + float((moved**2).sum())
        return {key: max(0.0, squares[key] / n - (total[key] / n) ** 2) ** 0.5 for key, n in count.items()}


def group(name: str) -> str:
    """The layer and component (attention, feed-forward) of a tensor: its name without the projection's."""
    return ".".join(name.split(".")[:-2])


def _pieces(word: torch.Tensor) -> Iterator[slice]:
    rows = max(1, PIECE // max(1, word[0].numel()))
    return (slice(start, min(word.shape[0], start + rows)) for start in range(0, word.shape[0], rows))
