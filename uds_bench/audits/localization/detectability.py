"""Whether masks can be told from the injected model alone: then localizing would need no method (Lacuna, section 3.2).

The paper has a classifier "trained on the model's own components" and its F1, .485 beside .438 for guessing. Which
components and which classifier is ours: each weight's value, its size, its rank within the tensor, and the mean size
of its row and column, learned by gradient boosting out of fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from uds_bench.audits.localization.controls import seed_of
from uds_bench.checkpoints.masks import Masks
from uds_bench.checkpoints.stored import stored
from uds_bench.checkpoints.weights import weight_files

FOLDS = 5
MOST_WEIGHTS = 100_000


@dataclass(frozen=True)
class Detected:
    """F1 of "some group may write here", 0 to 1; `chance`: of the same classifier for labels that are dealt anew."""

    f1: float
    chance: float
    weights: int


def detect(injected: Path, masks: Masks, most: int = MOST_WEIGHTS) -> Detected:
    """How well the masks of all groups are told from a model's weights. Whole tensors are read, one at a time.

    Args:
        injected: The folder of the injected model.
        masks: Which weights which group may write.
        most: Weights that are drawn, about.

    Returns:
        F1 of 0 to 1, near `chance` where localizing needs a method; NaN where too few weights are on one side.

    Source: Lacuna, section 3.2; features and classifier are ours.
    """
    places = {name: tensor for file in weight_files(injected) for name, tensor in stored(file)[0].items()}
    features, labels = [], []
    for name, word in masks.words.items():
        generator = np.random.default_rng(seed_of(name, 0))
        kept = np.flatnonzero(generator.random(int(np.prod(word.shape))) < most / max(1, masks.weights))
        features.append(_features(places[name][:].float().numpy())[kept])
        labels.append((word[:] != 0).numpy().reshape(-1)[kept])
    rows, wanted = np.concatenate(features), np.concatenate(labels)
    dealt = np.random.default_rng(0).permutation(wanted)
    return Detected(_f1(rows, wanted), _f1(rows, dealt), len(wanted))


def _features(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """[weights, 5] of a matrix."""
    size = np.abs(weights)
    flat = weights.reshape(len(weights), -1)
    rows = np.broadcast_to(np.abs(flat).mean(1, keepdims=True), flat.shape)
    columns = np.broadcast_to(np.abs(flat).mean(0, keepdims=True), flat.shape)
    ranks = rankdata(size) / size.size
    found = [weights.reshape(-1), size.reshape(-1), ranks, rows.reshape(-1), columns.reshape(-1)]
    return np.stack(found, axis=1).astype(np.float32)


def _f1(rows: NDArray[np.float32], labels: NDArray[np.bool_]) -> float:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import f1_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    if np.bincount(labels.astype(int), minlength=2).min() < FOLDS:
        return float("nan")
    split = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    classifier = HistGradientBoostingClassifier(class_weight="balanced", max_iter=50, random_state=0)
    return float(f1_score(labels, cross_val_predict(classifier, rows, labels, cv=split)))
