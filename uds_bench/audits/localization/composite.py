"""The composite score: what a logistic regression makes of all families together, out of fold (Lacuna, appendix E)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from uds_bench.audits.localization.auc import Auc, Scores, exact_auc
from uds_bench.audits.localization.families import Family
from uds_bench.audits.localization.reading import Lineup
from uds_bench.audits.localization.targets import Target, sides

FOLDS = 5
MOST = 2_000_000
"""Weights that are drawn, uniformly, where there are more (appendix E)."""


def composite_auc(lineup: Lineup, families: Sequence[Family], target: Target, seed: int = 0, most: int = MOST) -> Auc:
    """How well the families find the target together: every weight is scored by a regression that never saw it.

    Families enter as their ranks over the drawn weights, as the scale of some has no bound (`reversal` where injection
    moved nothing); raw values are the published choice. Where no family tells any weights apart the AUC is one half.
    """
    columns = [_ranks(np.concatenate(list(_drawn(lineup, family, target, seed, most)))) for family in families]
    labels = np.concatenate([wanted[kept] for wanted, kept in _chosen(lineup, target, seed, most)])
    features = np.stack(columns, axis=1)
    folds = np.bincount(labels.astype(int), minlength=2).min()
    if folds < FOLDS or not np.ptp(features, axis=0).any():
        score = np.zeros(len(labels), np.float32)
    else:
        score = _out_of_fold(features, labels, seed)
    return exact_auc([score[labels]], [score[~labels]])


def _out_of_fold(features: NDArray[np.float32], labels: NDArray[np.bool_], seed: int) -> Scores:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    split = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    found = cross_val_predict(LogisticRegression(), features, labels, cv=split, method="predict_proba")
    score: Scores = found[:, 1].astype(np.float32)
    return score


def _drawn(lineup: Lineup, family: Family, target: Target, seed: int, most: int) -> Iterator[Scores]:
    """A family's scores of the drawn weights, in the order of `_chosen`."""
    parts: dict[str, list[Scores]] = {}
    for name, _, scores in lineup.scores(family):
        parts.setdefault(name, []).append(scores)
        if sum(len(part) for part in parts[name]) == lineup.masks.words[name].shape[0]:
            whole = np.concatenate(parts.pop(name))
            yield whole[_kept(lineup, name, target, seed, most)]


def _chosen(
    lineup: Lineup, target: Target, seed: int, most: int
) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """By tensor, which weights are wanted and which were drawn."""
    for name, word in lineup.masks.words.items():
        wanted, _ = sides(lineup.masks, name, slice(0, word.shape[0]), target)
        yield wanted, _kept(lineup, name, target, seed, most)


def _kept(lineup: Lineup, name: str, target: Target, seed: int, most: int) -> NDArray[np.bool_]:
    """The weights of a tensor that are drawn, of those on either side: the same for every family."""
    word = lineup.masks.words[name]
    wanted, others = sides(lineup.masks, name, slice(0, word.shape[0]), target)
    share = most / max(1, lineup.masks.weights)
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    luck = np.random.default_rng(int.from_bytes(digest[:8], "big")).random(tuple(word.shape))
    kept: NDArray[np.bool_] = (wanted | others) & (luck < share)
    return kept


def _ranks(values: Scores) -> NDArray[np.float32]:
    """0 to 1, ties at their mean."""
    ranks: NDArray[np.float32] = (rankdata(values) / max(1, len(values))).astype(np.float32)
    return ranks
