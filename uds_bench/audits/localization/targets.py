"""Which weights a score should find, and among which others."""

from __future__ import annotations

from collections.abc import Iterator

from uds_bench.audits.localization.auc import Auc, Scores, exact_auc
from uds_bench.audits.localization.families import FAMILIES, Family
from uds_bench.audits.localization.names import Target
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
