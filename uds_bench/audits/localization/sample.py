"""A sample of an update's weights, small enough for memory: controls are made from it and judged on it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from uds_bench.audits.localization.controls import seed_of
from uds_bench.audits.localization.families import Part
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.checkpoints.masks import ROLES, MaskGroup, Masks

CONTROLLED = 2_000_000
"""About how many weights controls are drawn on; if there are fewer, all are taken."""
LEAST = 10_000
"""About the least number of weights taken of a role, whatever the share: an AUC of 10,000 is within 0.01."""
FEWEST = 2
"""The least number of weights of a tensor: the spread of one weight is no number."""


class WeightSample:
    """Weights that are drawn one by one, at one rate per role, and that make up checkpoints and masks of their own.

    The draw of a tensor depends on its name and the seed, not on the pieces that it is read in.
    """

    def __init__(self, lineup: CheckpointSet, seed: int = 0, most: int = CONTROLLED) -> None:
        self._whole, self._seed = lineup, seed
        masks, sizes = lineup.masks, lineup.masks.sizes()
        of_role = [sum(sizes[name] for name in masks.named(role)) for role in ROLES]
        share = most / max(1, masks.weights)
        self._shares = np.array([*(max(share, LEAST / size if size else 0.0) for size in of_role), share])
        self._roles = [role for role, size in zip(ROLES, of_role, strict=True) if size]
        self._luck: dict[str, np.random.Generator] = {}
        self._words: dict[str, list[NDArray[np.uint8]]] = {}
        self._taken: dict[Part, dict[str, list[torch.Tensor]]] = {part: {} for part in lineup.folders}

    def take(self, name: str, kinds: NDArray[np.uint8], stored: Mapping[Part, torch.Tensor]) -> None:
        """Add the next piece of a tensor, in order.

        Args:
            name: Of the tensor.
            kinds: [n], the place in ROLES of the role that writes each weight; one beyond the last for no role.
            stored: By checkpoint the same weights, [n].
        """
        luck = self._luck.setdefault(name, np.random.default_rng(seed_of(f"drawn {name}", self._seed)))
        kept = torch.from_numpy(np.flatnonzero(luck.random(len(kinds)) < self._shares[kinds]))
        bits = np.array([*(1 << self._roles.index(role) if role in self._roles else 0 for role in ROLES), 0], np.uint8)
        self._words.setdefault(name, []).append(bits[kinds[kept.numpy()]])
        for part, weights in stored.items():
            self._taken[part].setdefault(name, []).append(weights[kept])

    def lineup(self) -> CheckpointSet:
        """The checkpoints made up of the sampled weights, with one mask group per role."""
        words = {name: torch.from_numpy(np.concatenate(taken)) for name, taken in self._words.items()}
        words = {name: word for name, word in words.items() if len(word) >= FEWEST}
        held = {part: {name: torch.cat(taken[name]) for name in words} for part, taken in self._taken.items()}
        groups = tuple(MaskGroup(role, role) for role in self._roles)
        return CheckpointSet(self._whole.folders, Masks(words, groups), held)
