"""Every family against every target, for an update and for updates of which it is known what they know of the masks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from uds_bench.audits.localization.auc import Auc
from uds_bench.audits.localization.composite import composite_auc
from uds_bench.audits.localization.controls import misplaced_update, permuted, planted_update, random_update
from uds_bench.audits.localization.families import FAMILIES, Part
from uds_bench.audits.localization.names import HEADLINE, MOST_WEIGHTS, PUBLISHED, SUBJECTS, TARGETS, Subject, Target
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.targets import Touched, auc_of, touched, weight_inside, written
from uds_bench.checkpoints.masks import read_masks
from uds_bench.checkpoints.stored import write_shards
from uds_bench.statistics import finite_or_none

COMPOSITE = "composite"
COMPOSED: tuple[Subject, ...] = ("unlearned", "random", "misplaced")
"""The subjects of which the composite is learned."""
WEIGHED: tuple[Subject, ...] = ("unlearned", "random", "misplaced", "planted")
"""The subjects of which it is told how much of their length lies inside."""
Aucs = Mapping[Target, Mapping[str, Auc]]


@dataclass(frozen=True)
class WeightScores:
    """AUCs by subject, target and family; `touched`: what the update left and moved; `weights`: how many are scored;
    `absent`: families that had no control to be read beside; `outside`: see `CheckpointSet.outside`;
    `unmasked`: |D_unmask| of that control against the headline target, None without it: it knows of no mask;
    `written`: as the function; `inside`: by subject, see `weight_inside`."""

    aucs: Mapping[Subject, Aucs]
    touched: Touched
    weights: int
    absent: tuple[str, ...]
    outside: tuple[float, float]
    unmasked: Auc | None = None
    written: Auc | None = None
    inside: Mapping[Subject, float] = field(default_factory=dict)

    def elsewhere(self, subject: Subject = "unlearned") -> float:
        """The share of an update's squared length outside the forget groups' masks, a random update's being 1.

        Args:
            subject: The update, or a control.

        Returns:
            0 and above, lower is more in its place: 0 within the masks, 1 as a random update; NaN where nothing moved,
            or every weight is in a mask.

        Example:
            >>> shares = {"unlearned": 0.75, "random": 0.5}
            >>> WeightScores({}, Touched(1, 0, 0), 1, (), (0.0, 0.5), inside=shares).elsewhere()
            0.5
        """
        drawn = self.inside["random"]
        chance = 0.0 if math.isnan(drawn) else drawn  # an update that lies in other tensors alone
        return (1 - self.inside[subject]) / (1 - chance) if chance < 1 else math.nan

    def to_json(self) -> dict[str, Any]:
        """As it is stored, for JSON."""
        aucs = {
            subject: {t: {name: vars(auc) for name, auc in found.items()} for t, found in targets.items()}
            for subject, targets in self.aucs.items()
        }
        return {"aucs": aucs, "touched": vars(self.touched), "weights": self.weights, "absent": list(self.absent)} | {
            "outside": [finite_or_none(share) for share in self.outside],
            "inside": {subject: finite_or_none(share) for subject, share in self.inside.items()},
            **{name: auc and vars(auc) for name, auc in (("unmasked", self.unmasked), ("written", self.written))},
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> WeightScores:
        """As it was before it was stored."""
        # In the order of their lists, whatever that of a file is: of equals the first is the best one.
        aucs = {
            subject: {
                t: {name: Auc(**targets[t][name]) for name in (*FAMILIES, COMPOSITE) if name in targets[t]}
                for t in TARGETS
                if t in targets
            }
            for subject in SUBJECTS
            if (targets := found["aucs"].get(subject))
        }
        share, alike = (float("nan") if one is None else one for one in found["outside"])
        unmasked, told = (found[name] and Auc(**found[name]) for name in ("unmasked", "written"))
        left = Touched(**found["touched"])
        inside = {s: math.nan if (one := found["inside"].get(s)) is None else one for s in WEIGHED}
        return cls(aucs, left, found["weights"], tuple(found["absent"]), (share, alike), unmasked, told, inside)


def weigh(lineup: CheckpointSet, seed: int = 0, most: int = MOST_WEIGHTS) -> WeightScores:
    """Score an update, and the four beside it, by every family whose checkpoints are there and by all together.

    `most`: weights that the composite is learned from. What is drawn follows `seed`; drawn updates and masks lie in a
    temporary folder meanwhile, as large as a checkpoint's maskable weights.
    """
    offered = [family for family in FAMILIES.values() if lineup.offers(family)]
    with TemporaryDirectory() as folder:
        lineups = _drawn(lineup, Path(folder), seed)
        aucs: dict[Subject, dict[Target, dict[str, Auc]]] = {}
        for subject, one in lineups.items():
            aucs[subject] = {}
            for target in _targets(subject):
                found = {family.name: auc_of(one, family, target) for family in offered}
                if subject in COMPOSED:
                    found[COMPOSITE] = composite_auc(one, offered, target, seed, most)
                aucs[subject][target] = found
        outside = lineup.outside()
        inside = {subject: weight_inside(lineups[subject]) for subject in WEIGHED}
        inside["unlearned"] = weight_inside(lineup, outside[0])  # what is drawn moves nothing in other tensors
    absent = tuple(family.name for family in FAMILIES.values() if family not in offered)
    left, weights = touched(lineup, HEADLINE), lineup.masks.weights
    return WeightScores(aucs, left, weights, absent, outside, _unmasked(lineup), written(lineup), inside)


def _unmasked(lineup: CheckpointSet) -> Auc | None:
    """How the contrasts' own control is told by the masks that it was made without."""
    if "unmasked" not in lineup.folders:
        return None
    folders: dict[Part, Path] = {
        "injected": lineup.folders["unmasked"],
        "unlearned": lineup.folders["unmasked_unlearned"],
    }
    return auc_of(CheckpointSet(folders, lineup.masks), FAMILIES["raw"], HEADLINE)


def _drawn(lineup: CheckpointSet, folder: Path, seed: int) -> dict[Subject, CheckpointSet]:
    """The update beside what is drawn for it, each in a folder of its own."""
    masks, names = lineup.masks, list(lineup.masks.words)
    forget = masks.named("forget")
    injected, unlearned = partial(lineup.tensor, "injected"), partial(lineup.tensor, "unlearned")
    random = ((name, random_update(name, injected(name), unlearned(name), seed)) for name in names)
    planted = ((name, planted_update(name, injected(name), masks.of(name, *forget), seed)) for name in names)
    before = partial(lineup.tensor, "pretrained") if "pretrained" in lineup.folders else lambda _: None
    misplaced = (
        (name, misplaced_update(name, before(name), injected(name), masks.of(name, *forget), seed)) for name in names
    )
    write_shards(folder / "random", "model", random)
    write_shards(folder / "planted", "model", planted)
    write_shards(folder / "misplaced", "model", misplaced)
    write_shards(
        folder / "permuted",
        "masks",
        ((name, permuted(name, masks.words[name][:], seed)) for name in names),
        masks.metadata,
    )
    return {
        "unlearned": lineup,
        "random": CheckpointSet({**lineup.folders, "unlearned": folder / "random"}, masks),
        "permuted": CheckpointSet(lineup.folders, read_masks(folder / "permuted")),
        "planted": CheckpointSet({**lineup.folders, "unlearned": folder / "planted"}, masks),
        "misplaced": CheckpointSet({**lineup.folders, "unlearned": folder / "misplaced"}, masks),
    }


def _targets(subject: Subject) -> Sequence[Target]:
    """All for what is compared with the published numbers, those that are judged for the others."""
    return TARGETS if subject in ("unlearned", "random") else (HEADLINE, PUBLISHED)
