"""Scores of single weights: how much, and which way, unlearning moved each; higher claims "changed by unlearning".

Every family is a function of one tensor, before injection, after it and after unlearning: float32 arrays W_pre, W_inj
and W_unl of one shape; D_inj = W_inj - W_pre, D_unl = W_unl - W_inj (Lacuna, section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Weights = NDArray[np.float32]
EPSILON = np.float32(1e-8)
"""Keeps ratios finite where injection moved nothing: there `reversal` is -|D_unl| / 1e-8, below every other score."""


Part = Literal["pretrained", "injected", "unlearned", "unmasked", "unmasked_unlearned"]


@dataclass(frozen=True)
class Change:
    """One tensor in each checkpoint that the score reads. `unmasked`: D_unl of the same method on a model that was
    injected without a mask; `spread`: standard deviation of D_unl over the tensor's layer and component."""

    pretrained: Weights | None
    injected: Weights
    unlearned: Weights
    unmasked: Weights | None = None
    spread: float = 1.0

    @cached_property
    def injection(self) -> Weights:
        """D_inj."""
        return self.injected - self._before()

    @cached_property
    def unlearning(self) -> Weights:
        """D_unl."""
        return self.unlearned - self.injected

    @property
    def remaining(self) -> Weights:
        """W_unl - W_pre: what is left of the injection."""
        return self.unlearned - self._before()

    def _before(self) -> Weights:
        if self.pretrained is None:
            raise ValueError("a reversal needs the model before injection")
        return self.pretrained


Kind = Literal["magnitude", "reversal", "contrast"]
READS: dict[Kind, tuple[Part, ...]] = {
    "magnitude": ("injected", "unlearned"),
    "reversal": ("pretrained", "injected", "unlearned"),
    "contrast": ("injected", "unlearned", "unmasked", "unmasked_unlearned"),
}
"""The checkpoints that the scores of a kind look at: no other is read."""


@dataclass(frozen=True)
class Family:
    """A score a weight; `kind` says what it looks at."""

    name: str
    kind: Kind
    score: Callable[[Change], Weights]

    @property
    def reads(self) -> tuple[Part, ...]:
        """The checkpoints that the score looks at."""
        return READS[self.kind]

    @property
    def needs_control(self) -> bool:
        """Whether `Change.unmasked` must be there."""
        return self.kind == "contrast"


def written(change: Change) -> Weights:
    """How far injection moved each weight: |D_inj|.

    Args:
        change: One tensor in each checkpoint, [rows, columns].

    Returns:
        [rows, columns] in the weights' unit, 0 and above.

    Example:
        >>> written(Change(np.float32([0.0, 1.0]), np.float32([2.0, 0.5]), np.float32([2.0, 0.5]))).tolist()
        [2.0, 0.5]
    """
    return np.abs(change.injection)


def raw(change: Change) -> Weights:
    """How far unlearning moved each weight: |D_unl|.

    Args:
        change: One tensor in each checkpoint, [rows, columns].

    Returns:
        [rows, columns] in the weights' unit, 0 and above.

    Source: Lacuna, appendix E, magnitude.

    Example:
        >>> raw(Change(None, np.float32([1.0, 1.0]), np.float32([0.5, 3.0]))).tolist()
        [0.5, 2.0]
    """
    return np.abs(change.unlearning)


def qtile(change: Change) -> Weights:
    """The share of its tensor that |D_unl| is above, ties for half.

    Args:
        change: One tensor in each checkpoint, [rows, columns].

    Returns:
        [rows, columns], 0 to 1: 0.5 throughout a tensor that was left, whatever its size.

    Source: Lacuna, appendix E, magnitude.

    Example:
        (rank - 1/2) / 4, the ranks being 1, 2.5, 2.5 and 4:

        >>> qtile(Change(None, np.zeros(4, np.float32), np.float32([0.0, 2.0, -2.0, 4.0]))).tolist()
        [0.125, 0.5, 0.5, 0.875]
    """
    size = np.abs(change.unlearning)
    ranks: NDArray[np.float64] = rankdata(size, method="average").reshape(size.shape) - 0.5
    return (ranks / max(1, size.size)).astype(np.float32)


def layernorm(change: Change) -> Weights:
    """|D_unl| in standard deviations of its layer and component.

    Args:
        change: One tensor in each checkpoint, [rows, columns], and `spread`, the standard deviation.

    Returns:
        [rows, columns], 0 and above; 0 where nothing there moved.

    Source: Lacuna, appendix E, magnitude.

    Example:
        >>> layernorm(Change(None, np.zeros(2, np.float32), np.float32([1.0, -4.0]), spread=2.0)).tolist()
        [0.5, 2.0]
    """
    size = np.abs(change.unlearning)
    return size * np.float32(1 / change.spread) if change.spread > 0 else np.zeros_like(size)


def signrev(change: Change) -> Weights:
    """How far unlearning goes back on injection, by the product of both: -(D_inj D_unl).

    Args:
        change: One tensor in each checkpoint, before injection too, [rows, columns].

    Returns:
        [rows, columns], squared unit of the weights; positive where unlearning goes back on injection.

    Source: Lacuna, appendix E, reversal.

    Example:
        Injected by 1, and taken back by a half, wholly, and twice:

        >>> signrev(Change(np.zeros(3, np.float32), np.ones(3, np.float32), np.float32([0.5, 0.0, -1.0]))).tolist()
        [0.5, 1.0, 2.0]
    """
    return -(change.injection * change.unlearning)


def reversal(change: Change) -> Weights:
    """The share of injection that is taken back: (|D_inj| - |W_unl - W_pre|) / (|D_inj| + eps).

    Args:
        change: One tensor in each checkpoint, before injection too, [rows, columns].

    Returns:
        [rows, columns], at most 1: 1 where all of the injection is taken back, 0 where none is, below where unlearning
        leads further away; where injection moved nothing, -|D_unl| / eps.

    Source: Lacuna, appendix E, reversal.

    Example:
        Injected by 1, and taken back by a half, wholly, and twice:

        >>> reversal(Change(np.zeros(3, np.float32), np.ones(3, np.float32), np.float32([0.5, 0.0, -1.0]))).tolist()
        [0.5, 1.0, 0.0]
    """
    size = np.abs(change.injection)
    return _over(size - np.abs(change.remaining), size)


def dirreversal(change: Change) -> Weights:
    """As `reversal`, but going further back counts for more, not less: -(D_unl sign(D_inj)) / (|D_inj| + eps).

    Args:
        change: One tensor in each checkpoint, before injection too, [rows, columns].

    Returns:
        [rows, columns], any sign, positive where unlearning goes back on injection; 0 where injection moved nothing.

    Source: Lacuna, appendix E, reversal.

    Example:
        Injected by 1, and taken back by a half, wholly, and twice:

        >>> dirreversal(Change(np.zeros(3, np.float32), np.ones(3, np.float32), np.float32([0.5, 0.0, -1.0]))).tolist()
        [0.5, 1.0, 2.0]
    """
    back: Weights = -(change.unlearning * np.sign(change.injection))
    return _over(back, np.abs(change.injection))


def contrast(change: Change) -> Weights:
    """How much more the weight moves where injection was masked: |D_mask| - |D_unmask|.

    Args:
        change: One tensor in each checkpoint, [rows, columns], and `unmasked`, the control's change.

    Returns:
        [rows, columns] in the weights' unit, any sign.

    Raises:
        ValueError: There is no control.

    Source: Lacuna, appendix E, contrast.

    Example:
        >>> still = np.zeros(2, np.float32)
        >>> contrast(Change(None, still, np.float32([3.0, -1.0]), unmasked=np.float32([1.0, -3.0]))).tolist()
        [2.0, -2.0]
    """
    size, other = _both(change)
    return size - other


def contrastnorm(change: Change) -> Weights:
    """The contrast as a share of both: (|D_mask| - |D_unmask|) / (|D_mask| + |D_unmask| + eps).

    Args:
        change: One tensor in each checkpoint, [rows, columns], and `unmasked`, the control's change.

    Returns:
        [rows, columns], -1 to 1; 0 where neither moves.

    Raises:
        ValueError: There is no control.

    Source: Lacuna, appendix E, contrast.

    Example:
        >>> still = np.zeros(2, np.float32)
        >>> contrastnorm(Change(None, still, np.float32([3.0, -1.0]), unmasked=np.float32([1.0, -3.0]))).tolist()
        [0.5, -0.5]
    """
    size, other = _both(change)
    return _over(size - other, size + other)


def eratio(change: Change) -> Weights:
    """The change as a multiple of the control's: |D_mask| / (|D_unmask| + eps).

    Args:
        change: One tensor in each checkpoint, [rows, columns], and `unmasked`, the control's change.

    Returns:
        [rows, columns], 0 and above.

    Raises:
        ValueError: There is no control.

    Source: Lacuna, appendix E, contrast.

    Example:
        >>> still = np.zeros(2, np.float32)
        >>> eratio(Change(None, still, np.float32([3.0, -1.0]), unmasked=np.float32([1.0, -4.0]))).tolist()
        [3.0, 0.25]
    """
    size, other = _both(change)
    return _over(size, other)


def _over(top: Weights, bottom: Weights) -> Weights:
    found: Weights = top / (bottom + EPSILON)
    return found


def _both(change: Change) -> tuple[Weights, Weights]:
    if change.unmasked is None:
        raise ValueError("a contrast needs the same method's change of a model that was injected without a mask")
    return np.abs(change.unlearning), np.abs(change.unmasked)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("raw", "magnitude", raw),
        Family("qtile", "magnitude", qtile),
        Family("layernorm", "magnitude", layernorm),
        Family("signrev", "reversal", signrev),
        Family("reversal", "reversal", reversal),
        Family("dirreversal", "reversal", dirreversal),
        Family("contrast", "contrast", contrast),
        Family("contrastnorm", "contrast", contrastnorm),
        Family("eratio", "contrast", eratio),
    )
}
"""By name. The composite is learned from all of them (`composite`)."""
INJECTION = Family("injection", "reversal", written)
"""How far injection moved: says whose masks they are, and nothing of unlearning."""
