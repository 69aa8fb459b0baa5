"""The orthogonal matrix nearest to a square one: by singular values on a processor, where that is the quicker way;
by inverses on a GPU, in milliseconds, where singular values take minutes."""

from __future__ import annotations

import torch

STEPS = 30
NEAR, DONE = 1e-2, 1e-8
"""Relative changes of a step: from the first on it is no longer scaled, and after the second rounding alone is left, as
each step squares the error."""


def nearest_orthogonal(matrix: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The orthogonal factor of a matrix's polar decomposition: U V' of its singular value decomposition U S V'.

    Args:
        matrix: [width, width], finite, in float64.

    Returns:
        The factor, [width, width], where it was; and in how many directions the matrix is 0 but for rounding (numpy's
        bound of a rank), 0 and above: in those any factor is as near.

    Source: Higham 1986, Computing the polar decomposition, with his scaling. Of a matrix that is near to singular it is
        U V' itself, on the processor.

    Example:
        >>> nearest_orthogonal(torch.tensor([[0.0, 2.0], [-3.0, 0.0]], dtype=torch.float64))
        (tensor([[ 0.,  1.],
                [-1.,  0.]], dtype=torch.float64), 0)
    """
    rounding = len(matrix) * torch.finfo(matrix.dtype).eps
    found = None if matrix.device.type == "cpu" else _by_inverses(matrix, rounding)
    return _by_singular_values(matrix, rounding) if found is None else (found, 0)


def _by_inverses(matrix: torch.Tensor, rounding: float) -> torch.Tensor | None:
    """None of a matrix that is near to singular, or does not settle."""
    inverse, singular = torch.linalg.inv_ex(matrix)
    # The product bounds the ratio of the largest singular value to the smallest from above.
    if singular or not float(matrix.norm() * inverse.norm()) * rounding < 1:
        return None
    found, moved = matrix, torch.inf
    for _ in range(STEPS):
        scale = 1.0 if moved <= NEAR else float((_size(inverse) / _size(found)) ** 0.25)
        before, found = found, (scale * found + inverse.mT / scale) / 2
        moved = float((found - before).norm() / found.norm())
        if moved <= DONE:
            settled: torch.Tensor = (3 * found - found @ (found.mT @ found)) / 2
            return settled
        inverse = torch.linalg.inv(found)
    return None


def _by_singular_values(matrix: torch.Tensor, rounding: float) -> tuple[torch.Tensor, int]:
    left, sizes, right = torch.linalg.svd(matrix.cpu())
    return (left @ right).to(matrix.device), int((sizes <= sizes[0] * rounding).sum())


def _size(matrix: torch.Tensor) -> torch.Tensor:
    """Product of the largest column sum and the largest row sum."""
    sums = matrix.abs()
    return sums.sum(0).max() * sums.sum(1).max()
