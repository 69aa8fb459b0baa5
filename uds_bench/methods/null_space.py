"""Edits of a matrix that leave what is kept alone: the closed form of AlphaEdit (Fang et al. 2025, section 3).

A matrix W [out, in] maps keys k [in] to values. Keys to be kept span most directions little or not at all; an edit that
reads only those directions changes nothing of what W says to the kept keys. Tensors are float64: the eigenvalues that
decide lie many orders of magnitude apart.
"""

from __future__ import annotations

import torch
from torch import Tensor


def null_projection(moment: Tensor, threshold: float) -> Tensor:
    """P [in, in], the orthogonal projection onto the directions that kept keys hardly use.

    `moment` [in, in]: the mean of k k^T over kept keys; of a sum the threshold would depend on how many there are. A
    direction is free where its eigenvalue, the mean square of the keys along
    it, is below `threshold`. Mean |P k|^2 is the sum of the eigenvalues below it.
    """
    values, vectors = torch.linalg.eigh(moment)
    free: Tensor = vectors[:, values < threshold]
    return free @ free.T


def null_space_edit(keys: Tensor, residuals: Tensor, earlier: Tensor, projection: Tensor, l2: float) -> Tensor:
    """Delta = R K^T P (K_p K_p^T P + K K^T P + l2 I)^-1, [out, in]: what is added to W.

    Minimises |(W + Delta P) K - V|^2 + |Delta P K_p|^2 + l2 |Delta P|^2 over Delta, R = V - W K, and Delta = Delta P.
    `keys` [items, in]: rows of K^T; `residuals` [items, out]: rows of R^T, the shifts wanted; `earlier` [any, in]: keys
    of edits made before, K_p, whose values are to stay.

    Solved for items instead of directions: with A = [K_p K] and Y = [0 R] it is Y (A^T P A + l2 I)^-1 A^T P.
    """
    known = torch.cat([earlier, keys]) @ projection
    wanted = torch.cat([residuals.new_zeros(len(earlier), residuals.shape[1]), residuals])
    gram = known @ known.T + l2 * torch.eye(len(known), dtype=known.dtype, device=known.device)
    solved: Tensor = torch.linalg.solve(gram, known)
    return wanted.T @ solved
