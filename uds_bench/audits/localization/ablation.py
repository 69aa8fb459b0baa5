"""One model of an ablation: what it says, whether its masks show, how well an update finds them (Lacuna, section 4).

Extraction, utility and precision are those of the audit; precision is by |D_unl| alone, the forget mask among the other
groups' masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from uds_bench.audits.localization import rates
from uds_bench.audits.localization.auc import Auc
from uds_bench.audits.localization.audit import experiment_of
from uds_bench.audits.localization.detectability import Detected, detect
from uds_bench.audits.localization.experiment import Experiment
from uds_bench.audits.localization.families import FAMILIES
from uds_bench.audits.localization.names import HEADLINE
from uds_bench.audits.localization.outputs import tell
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.section import Localization
from uds_bench.audits.localization.sweep import sweep
from uds_bench.audits.localization.zoo import models
from uds_bench.audits.localization.zoo.recipes import Injected, Removed
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.checkpoints.masks import MASKS, Masks, read_masks
from uds_bench.progress import hush
from uds_bench.statistics import Rate, finite_or_none
from uds_bench.zoo import recipes, training


@dataclass(frozen=True)
class AblationShares:
    """Shares of replies that hold the answer, 0 to 1: of whom is to be forgotten, of whom is retained, of these asked
    for what the others are to forget, and of the public."""

    forget: Rate
    retain: Rate
    spared: Rate
    public: Rate


PARTS = tuple(part.name for part in fields(AblationShares))


@dataclass(frozen=True)
class MaskDetection:
    """How well |D_unl| tells the forget mask among the other groups', 0 to 1; `inside`: within the tensors that the
    update changed at all, which are the share `edited` of those that groups have weights in."""

    auc: Auc
    inside: Auc
    edited: float

    def to_json(self) -> dict[str, Any]:
        """Both AUCs with their intervals, and the share that was edited."""
        auc, inside = (Rate(one.value, one.interval).to_json() for one in (self.auc, self.inside))
        return {"auc": auc, "inside": inside, "edited": self.edited}


@dataclass(frozen=True)
class Ablated:
    """`detected`: of a model that groups were or could be written into; `found`: of an update of one."""

    said: AblationShares
    detected: Detected | None = None
    found: MaskDetection | None = None

    def to_json(self) -> dict[str, Any]:
        """None for what is not defined of the model."""
        return {
            **{part: getattr(self.said, part).to_json() for part in PARTS},
            "detected": self.detected and {key: finite_or_none(value) for key, value in vars(self.detected).items()},
            "found": self.found and self.found.to_json(),
        }


def said(checkpoint: Checkpoint, experiment: Experiment) -> AblationShares:
    """Every part is asked as the audit asks it."""
    parts = [getattr(experiment, part) for part in PARTS]
    items = [item for part in parts for item in part]
    told = {item.id: {"plain": one} for item, one in zip(items, tell(checkpoint, items), strict=True)}
    return AblationShares(*(rates.extraction(part, told) for part in parts))


def found(injected: Path, unlearned: Path, masks: Masks) -> MaskDetection:
    """Where unlearning moved the weights.

    Raises CheckpointError as `CheckpointSet` does, and for an update of nothing.
    """
    everywhere = CheckpointSet({"injected": injected, "unlearned": unlearned}, masks)
    inside = edited(everywhere)
    auc, within = (sweep(one, [FAMILIES["raw"]]).auc("raw", HEADLINE) for one in (everywhere, inside))
    return MaskDetection(auc, within, len(inside.masks.words) / len(masks.words))


def edited(lineup: CheckpointSet) -> CheckpointSet:
    """The same update, scored within the tensors that it changed at all, as a method that chooses components can be
    asked (Lacuna, section 4.3). Raises CheckpointError where it changed none, or no group has a weight there."""
    sizes = lineup.scores(FAMILIES["raw"])
    words = {name: word for name, word in lineup.masks.words.items() if sizes[name].any()}
    return CheckpointSet(lineup.folders, Masks(words, lineup.masks.groups))


def ablate(
    checkpoint: Checkpoint, folder: Path, masks: Masks, experiment: Experiment, injected: Path | None
) -> Ablated:
    """A model as it lies in a folder. `injected`: what it was unlearned from; None for one that nothing was unlearned
    from, whose masks are looked for instead."""
    if injected is None:
        return Ablated(said(checkpoint, experiment), detected=detect(folder, masks))
    return Ablated(said(checkpoint, experiment), found=found(injected, folder, masks))


def ablations(cache: Path) -> Iterator[tuple[str, Ablated]]:
    """The models by name, in order, each as soon as it is measured; they are trained first where they are missing."""
    folders = training.paths([*models.ROWS, *map(injected, models.ROWS)], cache)
    experiment = experiment_of(Localization())
    hush()
    for name in models.ROWS:
        folder, source = folders[name], folders[injected(name)]
        origin = source if isinstance(recipes.find(name), Removed) else None
        masks = read_masks(source / MASKS)
        yield name, ablate(load(CheckpointSpec(str(folder))), folder, masks, experiment, origin)


def injected(name: str) -> str:
    """The model whose masks a model is held against: the one it was unlearned from, itself, or, of a pretrained one,
    the one that was injected into it."""
    recipe = recipes.find(name)
    if isinstance(recipe, Removed):
        return recipe.parent
    return name if isinstance(recipe, Injected) else models.INJECTED_INTO[name]
