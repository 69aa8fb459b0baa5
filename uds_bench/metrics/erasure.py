"""From layer-wise drops to scores: the formula that UDS and the logit lens share, and that of what is spared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TAU = 0.05
NO_LAYER = "no knowledge-encoding layer: the retain model does as well"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Erasure:
    """Depth scores of facts, in the order of the drops.

    `score`: [facts], 0 to 1, NaN where no layer encodes the fact, and `unclipped`, its twin. `knowledge`:
    [facts, layers], the knowledge-encoding layers (FT in the UDS guide).
    """

    score: Array
    unclipped: Array
    knowledge: NDArray[np.bool_]


def erasure(retain_drops: Array, drops: Array, tau: float = TAU) -> Erasure:
    """UDS_i = sum over FT of D1 * clip(D2/D1, 0, 1) / sum over FT of D1, with FT = {layers: D1 > tau}.

    Args:
        retain_drops: D1, [facts, layers], nats: the fall of the entity's mean log-probability when the retain model's
            states are patched into the full model.
        drops: D2, [facts, layers], nats: the same with the candidate's states.
        tau: Drop that a layer must exceed to encode the fact, nats.

    Returns:
        Scores, 0 where the knowledge is intact, 1 where it is erased as deep as in the retain model: higher is LESS
        knowledge. `unclipped` keeps ratios beyond: above 1 the candidate is further from the full model than the
        retain model is (over-unlearning), which the clipped score hides.

    Raises:
        ValueError: tau < 0, as ratios would then lose their meaning.

    Source: UDS guide, sections 3.2 and 3.3.

    Example:
        The third layer is below tau; (1 * 0.5 + 3 * 1) / (1 + 3), and unclipped (0.5 + 4.5) / 4:

        >>> found = erasure(np.array([[1.0, 3.0, 0.01]]), np.array([[0.5, 4.5, 9.0]]))
        >>> found.score.tolist(), found.unclipped.tolist(), found.knowledge.tolist()
        ([0.875], [1.25], [[True, True, False]])
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


def spared(retain_drops: Array, drops: Array, tau: float = TAU) -> Array:
    """1 - sum clip(D, 0, W) / sum W over layers with W > tau: 1 less the share that is lost of what there is to lose.

    W is the mean drop of the retain model on the facts to be forgotten: what not knowing a fact costs at a layer.

    Args:
        retain_drops: Of the retain model on the facts to be forgotten, [forgotten, layers], nats.
        drops: Of the candidate on the facts to be retained, [retained, layers], nats.
        tau: Drop that a layer must exceed to count, nats.

    Returns:
        [retained], 1 where a fact is kept as the full model has it, 0 where it is lost as one that was never known:
        higher is MORE knowledge. NaN where no layer counts, or a drop is not finite.

    Source: ours; UDS guide, section 3.3, turned to the facts that are kept.

    Example:
        Not knowing costs 1 and 3 nats; half a nat is lost of 4, and all of it:

        >>> spared(np.array([[0.5, 3.0], [1.5, 3.0]]), np.array([[0.5, -1.0], [9.0, 9.0]])).tolist()
        [0.875, 0.0]
    """
    usual = retain_drops[np.isfinite(retain_drops).all(-1)]
    weight = usual.mean(0) if len(usual) else np.zeros(drops.shape[-1])
    weight = np.where(weight > tau, weight, 0.0)
    total = weight.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(
            np.isfinite(drops).all(-1) & (total > 0), 1 - np.clip(drops, 0.0, weight).sum(-1) / total, np.nan
        )
