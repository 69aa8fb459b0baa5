"""Every family against every target, for an update and for updates of which it is known what they know of the masks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from uds_bench.audits.localization.auc import Auc
from uds_bench.audits.localization.composite import composite_auc
from uds_bench.audits.localization.controls import misplaced_update, permuted, planted_update, random_update
from uds_bench.audits.localization.families import FAMILIES
from uds_bench.audits.localization.names import HEADLINE, MOST_WEIGHTS, PUBLISHED, SUBJECTS, TARGETS, Subject, Target
from uds_bench.audits.localization.part import DrawnWeights
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.sample import CONTROLLED, WeightSample
from uds_bench.audits.localization.sweep import Touched, sweep
from uds_bench.checkpoints.masks import Masks
from uds_bench.statistics import finite_or_none

COMPOSITE = "composite"
COMPOSED: tuple[Subject, ...] = ("unlearned", "random", "misplaced")
"""The subjects of which the composite is learned."""
SUBJECTS_WITH_SHARE: tuple[Subject, ...] = ("unlearned", "random", "misplaced", "planted")
"""The subjects of which it is told how much of their length lies inside."""
Aucs = Mapping[Target, Mapping[str, Auc]]


@dataclass(frozen=True)
class WeightScores:
    """AUCs by subject, target and family; `touched`: what the update left and moved; `weights`: how many are scored;
    `absent`: families that had no control to be read beside; `outside`: see `CheckpointSet.outside`;
    `unmasked`: |D_unmask| of that control against the headline target, None without it: it knows of no mask;
    `written`, `inside` (by subject): see `Sweep`; `drawn`: what all subjects but the update are told by."""

    aucs: Mapping[Subject, Aucs]
    touched: Touched
    weights: int
    absent: tuple[str, ...]
    outside: tuple[float, float]
    unmasked: Auc | None = None
    written: Auc | None = None
    inside: Mapping[Subject, float] = field(default_factory=dict)
    drawn: DrawnWeights | None = None

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
            **{name: one and vars(one) for name in ("unmasked", "written", "drawn") for one in [getattr(self, name)]},
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
        drawn = found["drawn"] and DrawnWeights(**found["drawn"])
        left = Touched(**found["touched"])
        inside = {s: math.nan if (one := found["inside"].get(s)) is None else one for s in SUBJECTS_WITH_SHARE}
        return cls(aucs, left, found["weights"], tuple(found["absent"]), (share, alike), unmasked, told, inside, drawn)


def weigh(lineup: CheckpointSet, seed: int = 0, most: int = MOST_WEIGHTS) -> WeightScores:
    """Score an update, and the four beside it, by every family whose checkpoints are there and by all together.

    The update is told by all of its weights, in one read of its files; what is drawn for it by `CONTROLLED` of them, in
    memory. `most`: weights that the composite is learned from. All luck follows `seed`.
    """
    offered = [family for family in FAMILIES.values() if lineup.offers(family)]
    sample = WeightSample(lineup, seed, CONTROLLED)
    own = sweep(lineup, offered, sample)
    aucs: dict[Subject, dict[Target, dict[str, Auc]]] = {}
    aucs["unlearned"] = {t: {f.name: own.auc(f.name, t) for f in offered} for t in _targets("unlearned")}
    left, told, unmasked = own.touched, own.written, own.unmasked
    outside = lineup.outside(sum(own.squares))
    inside: dict[Subject, float] = {"unlearned": own.inside(outside[0])}
    del own  # its counts have no room beside what is made of the sample
    taken = sample.lineup()
    for subject, one in _drawn(taken, seed):
        if subject != "unlearned":
            seen = sweep(one, offered)
            aucs[subject] = {t: {f.name: seen.auc(f.name, t) for f in offered} for t in _targets(subject)}
            if subject in SUBJECTS_WITH_SHARE:
                inside[subject] = seen.inside()  # what is drawn moves nothing in other tensors
        if subject in COMPOSED:
            for target, found in aucs[subject].items():
                found[COMPOSITE] = composite_auc(one, offered, target, seed, most)
    absent = tuple(family.name for family in FAMILIES.values() if family not in offered)
    drawn = DrawnWeights(weights=taken.masks.weights, seed=seed)
    return WeightScores(aucs, left, lineup.masks.weights, absent, outside, unmasked, told, inside, drawn)


def _drawn(lineup: CheckpointSet, seed: int) -> Iterator[tuple[Subject, CheckpointSet]]:
    """The update beside what is drawn for it, one after another."""
    masks, held = lineup.masks, lineup.held or {}
    forget = masks.named("forget")

    def changed(update: Callable[[str], torch.Tensor]) -> CheckpointSet:
        return CheckpointSet(lineup.folders, masks, {**held, "unlearned": {name: update(name) for name in masks.words}})

    injected, unlearned = partial(lineup.tensor, "injected"), partial(lineup.tensor, "unlearned")
    before = partial(lineup.tensor, "pretrained") if "pretrained" in lineup.folders else lambda _: None
    yield "unlearned", lineup
    yield "random", changed(lambda name: random_update(name, injected(name), unlearned(name), seed))
    words = {name: permuted(name, masks.words[name][:], seed) for name in masks.words}
    yield "permuted", CheckpointSet(lineup.folders, Masks(words, masks.groups), held)
    yield "planted", changed(lambda name: planted_update(name, injected(name), masks.of(name, *forget), seed))
    yield (
        "misplaced",
        changed(lambda n: misplaced_update(n, before(n), injected(n), masks.of(n, *forget), seed)),
    )


def _targets(subject: Subject) -> Sequence[Target]:
    """All for what is compared with the published numbers, those that are judged for the others."""
    return TARGETS if subject in ("unlearned", "random") else (HEADLINE, PUBLISHED)
