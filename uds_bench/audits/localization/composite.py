"""The composite score: what a logistic regression makes of all families together, out of fold (Lacuna, appendix E)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from uds_bench.audits.localization.auc import Auc, Scores, exact_auc
from uds_bench.audits.localization.controls import seed_of
from uds_bench.audits.localization.families import Family
from uds_bench.audits.localization.names import MOST_WEIGHTS, Target
from uds_bench.audits.localization.reading import CheckpointSet, Marks
from uds_bench.checkpoints.masks import Masks

FOLDS = 5


def composite_auc(
    lineup: CheckpointSet, families: Sequence[Family], target: Target, seed: int = 0, most: int = MOST_WEIGHTS
) -> Auc:
    """How well the families find the target together: every weight is scored by a regression that never saw it.

    Families enter as their ranks over the drawn weights, as the scale of some has no bound (`reversal` where injection
    moved nothing); raw values are the published choice.

    Args:
        lineup: The checkpoints, side by side.
        families: The scores that are put together.
        target: The weights to be found.
        seed: Of which weights are drawn, and of the folds.
        most: Weights that are drawn, about, where there are more.

    Returns:
        An AUC, 0 to 1, higher: found better; one half where no family tells any weights apart.

    Source: Lacuna, appendix E.
    """
    drawn = {name: _drawn(lineup.masks, name, target, seed, most) for name in lineup.masks.words}
    labels = np.concatenate([wanted for _, wanted in drawn.values()])
    columns = []
    for scores in map(lineup.scores, families):
        found = np.concatenate([scores[name].reshape(-1)[places] for name, (places, _) in drawn.items()])
        columns.append((rankdata(found) / max(1, len(found))).astype(np.float32))
    features = np.stack(columns, axis=1)
    folds = np.bincount(labels.astype(int), minlength=2).min()
    if folds < FOLDS or not np.ptp(features, axis=0).any():
        score = np.zeros(len(labels), np.float32)
    else:
        score = _out_of_fold(features, labels, seed)
    return exact_auc([score[labels]], [score[~labels]])


def _out_of_fold(features: NDArray[np.float32], labels: Marks, seed: int) -> Scores:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    split = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    found = cross_val_predict(LogisticRegression(), features, labels, cv=split, method="predict_proba")
    score: Scores = found[:, 1].astype(np.float32)
    return score


def _drawn(masks: Masks, name: str, target: Target, seed: int, most: int) -> tuple[NDArray[np.int64], Marks]:
    """Weights of a tensor, on either side, that are drawn, the same for every family: their places in it laid out flat,
    and which of them are wanted."""
    wanted, others = (side.reshape(-1) for side in sides(masks, name, target))
    luck = np.random.default_rng(seed_of(name, seed)).random(wanted.size)
    places = np.flatnonzero((wanted | others) & (luck < most / masks.weights))
    return places, wanted[places]


def sides(masks: Masks, name: str, target: Target) -> tuple[Marks, Marks]:
    """The weights of a tensor to be found and those that they are held against."""
    named = masks.named("forget", "retain") if target == "forget_or_retain" else masks.named("forget")
    wanted = masks.of(name, *named).numpy()
    if target != "forget_among_groups":
        return wanted, ~wanted
    return wanted, masks.of(name, *masks.named("retain", "held_out")).numpy()
