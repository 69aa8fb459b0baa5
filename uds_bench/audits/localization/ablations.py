"""The table of ablations of the embedded localization models, a row a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from uds_bench.audits.localization.ablation import Ablated, ablate
from uds_bench.audits.localization.audit import experiment_of
from uds_bench.audits.localization.section import Localization
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.checkpoints.masks import read_masks
from uds_bench.progress import hush
from uds_bench.zoo import ablated, recipes, runner
from uds_bench.zoo.injected import MASKS
from uds_bench.zoo.recipe import Injected, Removed


def ablations(cache: Path, names: tuple[str, ...] = ablated.ROWS) -> Iterator[tuple[str, Ablated]]:
    """The models by name, in order, each as soon as it is measured; they are trained first where they are missing."""
    folders = runner.paths([*names, *(injected(name) for name in names)], cache)
    experiment = experiment_of(Localization())
    hush()
    for name in names:
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
    return name if isinstance(recipe, Injected) else ablated.INJECTED_INTO[name]
