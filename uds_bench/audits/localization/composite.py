"""The composite score: what a logistic regression makes of all families together, out of fold (Lacuna, appendix E)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from uds_bench.audits.localization.auc import Auc, Scores, exact_auc, sides
from uds_bench.audits.localization.controls import seed_of
from uds_bench.audits.localization.families import Family
from uds_bench.audits.localization.names import MOST_WEIGHTS, Target
from uds_bench.audits.localization.reading import CheckpointSet, Marks
from uds_bench.checkpoints.masks import Masks
from uds_bench.checkpoints.stored import pieces

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
    draws = {name: _draw(lineup.masks, name, target, seed, most) for name in lineup.masks.words}
    labels = np.concatenate([draw.wanted for draw in draws.values()])
    columns = [_ranks(np.concatenate(list(_drawn(lineup, family, draws)))) for family in families]
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


@dataclass(frozen=True)
class DrawnWeights:
    """Weights of a tensor that are drawn, the same for every family: where they are in it laid out flat, in order, and
    which of them are wanted."""

    places: NDArray[np.int64]
    wanted: Marks


def _draw(masks: Masks, name: str, target: Target, seed: int, most: int) -> DrawnWeights:
    """Of the weights on either side."""
    shape, places, labels = masks.words[name].shape, [], []
    luck, share = np.random.default_rng(seed_of(name, seed)), most / masks.weights
    for rows in pieces(shape):
        wanted, others = (side.reshape(-1) for side in sides(masks, name, rows, target))
        kept = np.flatnonzero((wanted | others) & (luck.random(wanted.size) < share))
        places.append(kept + rows.start * (wanted.size // (rows.stop - rows.start)))
        labels.append(wanted[kept])
    return DrawnWeights(np.concatenate(places), np.concatenate(labels))


def _drawn(lineup: CheckpointSet, family: Family, draws: Mapping[str, DrawnWeights]) -> Iterator[Scores]:
    """A family's scores of the drawn weights, in the order of the draws."""
    for name, rows, scores in lineup.scores(family):
        start = rows.start * (scores.size // len(scores))
        first, last = draws[name].places.searchsorted([start, start + scores.size])
        yield scores.reshape(-1)[draws[name].places[first:last] - start]


def _ranks(values: Scores) -> NDArray[np.float32]:
    """0 to 1, ties at their mean."""
    ranks: NDArray[np.float32] = (rankdata(values) / max(1, len(values))).astype(np.float32)
    return ranks
