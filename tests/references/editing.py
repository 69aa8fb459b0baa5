"""AlphaEdit's closed form and the choice of MemFlex, slow and in NumPy, written from the papers' formulas.

Fang et al. 2025: P from the singular vectors of K0 K0^T whose values lie below a threshold; the update
R K^T P (K_p K_p^T P + K K^T P + L2 I)^-1. Columns of a key matrix are keys. Tian et al. 2024: a module is unlearned
where its forget gradient is large and unlike its retain gradient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np


def projector(kept: np.ndarray, threshold: float) -> np.ndarray:
    """`kept`: [in, tokens]. Singular vectors of the mean outer product, the small ones times themselves transposed."""
    moment = sum(np.outer(key, key) for key in kept.T) / kept.shape[1]
    left, singular, _ = np.linalg.svd(moment)
    total = np.zeros_like(moment)
    for at, value in enumerate(singular):
        if value < threshold:
            total += np.outer(left[:, at], left[:, at])
    return total


def update(residual: np.ndarray, keys: np.ndarray, earlier: np.ndarray, p: np.ndarray, l2: float) -> np.ndarray:
    """`residual`: [out, items]; `keys`: [in, items]; `earlier`: [in, any]. Inverts [in, in]."""
    inverse = np.linalg.inv(earlier @ earlier.T @ p + keys @ keys.T @ p + l2 * np.eye(len(p)))
    return residual @ keys.T @ p @ inverse


def objective(
    change: np.ndarray, residual: np.ndarray, keys: np.ndarray, earlier: np.ndarray, p: np.ndarray, l2: float
) -> float:
    """What the update minimises over all changes, of which only what P leaves of them is applied."""
    applied = change @ p
    missed = applied @ keys - residual
    return float((missed**2).sum() + ((applied @ earlier) ** 2).sum() + l2 * (applied**2).sum())


def chosen(
    forget: Mapping[str, Sequence[float]], retain: Mapping[str, Sequence[float]], gradient: float, similarity: float
) -> list[str]:
    """Flat gradients by module: those that MemFlex unlearns in."""
    names = []
    for name, g in forget.items():
        size = sum(abs(x) for x in g) / len(g)
        dot = sum(x * y for x, y in zip(g, retain[name], strict=True))
        lengths = math.sqrt(sum(x * x for x in g)) * math.sqrt(sum(y * y for y in retain[name]))
        cosine = dot / lengths if lengths else 0.0
        if size > gradient and cosine < similarity:
            names.append(name)
    return names
