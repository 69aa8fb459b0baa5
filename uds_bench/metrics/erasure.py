"""From layer-wise drops to the unlearning depth score: the formula that UDS and the logit lens share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TAU = 0.05
NO_LAYER = "no knowledge-encoding layer: the retain model does as well"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Erasure:
    """Per fact: `score` in [0, 1] and its `unclipped` twin, [facts], NaN where no layer encodes the fact;
    `knowledge`: [facts, layers], the knowledge-encoding layers (FT in the UDS guide)."""

    score: Array
    unclipped: Array
    knowledge: NDArray[np.bool_]


def erasure(retain_drops: Array, drops: Array, tau: float = TAU) -> Erasure:
    """UDS_i = sum over FT of D1 * clip(D2/D1, 0, 1) / sum over FT of D1, with FT = {layers: D1 > tau}.

    `retain_drops` (D1) and `drops` (D2): [facts, layers], nats, the fall of the entity's mean log-probability when
    the retain model's or the candidate's states are patched in. 0: the knowledge is intact, 1: erased as deep as in
    the retain model (higher is LESS knowledge). `unclipped` keeps ratios beyond [0, 1]: above 1 the candidate is
    further from the full model than the retain model is (over-unlearning), which the clipped score hides.
    Source: UDS guide, sections 3.2 and 3.3. Raises ValueError for tau < 0, as ratios would then lose their meaning.
    """
    if tau < 0:
        raise ValueError(f"tau must not be negative, got {tau}")
    whole = np.isfinite(retain_drops).all(-1, keepdims=True) & np.isfinite(drops).all(-1, keepdims=True)
    # A fact with any drop that is not finite has no score, even where the layer would not have counted.
    retain_drops = np.where(whole, retain_drops, 0.0)
    drops = np.where(whole, drops, 0.0)
    knowledge = retain_drops > tau
    weight = np.where(knowledge, retain_drops, 0.0)
    total = weight.sum(-1)
    # D1 * clip(D2/D1, 0, 1) = clip(D2, 0, D1) as D1 > tau >= 0: no division by a small drop.
    kept = np.where(knowledge, np.clip(drops, 0.0, weight), 0.0).sum(-1)
    raw = np.where(knowledge, drops, 0.0).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Erasure(np.where(total > 0, kept / total, np.nan), np.where(total > 0, raw / total, np.nan), knowledge)
