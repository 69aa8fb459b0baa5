"""Which weights a score should find, and among which others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from uds_bench.audits.localization.auc import Auc, Scores, exact_auc
from uds_bench.audits.localization.families import FAMILIES, INJECTION, Family
from uds_bench.audits.localization.names import HEADLINE, Target
from uds_bench.audits.localization.reading import CheckpointSet, Marks
from uds_bench.checkpoints.masks import Masks


def sides(masks: Masks, name: str, rows: slice, target: Target) -> tuple[Marks, Marks]:
    """Of some rows of a tensor, the weights to be found and those that they are held against."""
    named = masks.named("forget", "retain") if target == "forget_or_retain" else masks.named("forget")
    wanted = masks.among(name, rows, *named)
    among_groups = target == "forget_among_groups"
    return wanted, masks.among(name, rows, *masks.named("retain", "held_out")) if among_groups else ~wanted


def auc_of(lineup: CheckpointSet, family: Family, target: Target) -> Auc:
    """How well a score finds the target; every file is read twice, and only the wanted weights' scores are kept.

    Args:
        lineup: The checkpoints, side by side.
        family: The score.
        target: The weights to be found, and those that they are held against.

    Returns:
        An AUC, 0 to 1, higher: found better.

    Source: Lacuna, section 4.2; `forget_among_groups` is ours.
    """

    def picked(side: int) -> Iterator[Scores]:
        for name, rows, scores in lineup.scores(family):
            yield scores[sides(lineup.masks, name, rows, target)[side]]

    return exact_auc(picked(0), picked(1))


def written(lineup: CheckpointSet) -> Auc | None:
    """How far injection moved the forget masks' weights beside those of no mask.

    By one half, or below, the masks may be another injection's, or what was learned beside the facts moved as much.

    Args:
        lineup: The checkpoints, side by side.

    Returns:
        An AUC, 0 to 1, higher: moved further; None without the model before.
    """
    if "pretrained" not in lineup.folders:
        return None

    def moved(wanted: bool) -> Iterator[Scores]:
        for name, rows, scores in lineup.scores(INJECTION):
            inside, _ = sides(lineup.masks, name, rows, "forget")
            yield scores[inside if wanted else (lineup.masks.words[name][rows] == 0).numpy()]

    return exact_auc(moved(True), moved(False))


def edited(lineup: CheckpointSet) -> CheckpointSet:
    """The same update, scored within the tensors that it changed at all.

    It is what a method that chooses components can be asked.

    Raises:
        CheckpointError: It changed none, or no group has a weight there.

    Source: Lacuna, section 4.3.
    """
    raw, moved = FAMILIES["raw"], dict[str, bool]()
    for name, _, size in lineup.scores(raw):
        moved[name] = moved.get(name, False) or bool(size.any())
    words = {name: word for name, word in lineup.masks.words.items() if moved[name]}
    return CheckpointSet(lineup.folders, Masks(words, lineup.masks.groups))


@dataclass(frozen=True)
class Touched:
    """Of the wanted weights, how many unlearning left as they were; `elsewhere`: how many it moved that are in no
    wanted mask. Where that is 0, AUC = 1 - untouched/2."""

    wanted: int
    untouched: int
    elsewhere: int

    @property
    def share(self) -> float:
        """The share p0 of wanted weights that were left, 0 to 1; NaN where none is wanted."""
        return self.untouched / self.wanted if self.wanted else float("nan")


def weight_inside(lineup: CheckpointSet, apart: float = 0.0) -> float:
    """Share of unlearning's squared length that lies inside the forget groups' masks.

    An AUC compares ranks: weights that were moved by next to nothing can stand above those that were left alone, while
    what forgets is moved elsewhere.

    Args:
        lineup: The checkpoints, side by side.
        apart: The share of that length in tensors that no mask could be in, 0 to 1.

    Returns:
        0 to 1, higher is more in its place; NaN of an update that moved nothing.

    Source: ours; Lacuna, section 4.2, has the ranks alone.
    """
    inside = masked = 0.0
    for name, rows, size in lineup.scores(FAMILIES["raw"]):
        square = np.square(size, dtype=np.float64)
        inside += float(square[sides(lineup.masks, name, rows, HEADLINE)[0]].sum())
        masked += float(square.sum())
    if apart == 1:
        return 0.0
    return (1 - apart) * inside / masked if masked else math.nan


def touched(lineup: CheckpointSet, target: Target) -> Touched:
    """What unlearning moved, weight by weight.

    Args:
        lineup: The checkpoints, side by side.
        target: The weights that it should move.

    Returns:
        Counts of weights.

    Source: Lacuna, section 4.2.
    """
    wanted = untouched = elsewhere = 0
    for name, rows, size in lineup.scores(FAMILIES["raw"]):
        inside, others = sides(lineup.masks, name, rows, target)
        wanted += int(inside.sum())
        untouched += int((size[inside] == 0).sum())
        elsewhere += int(np.count_nonzero(size[others]))
    return Touched(wanted, untouched, elsewhere)
