"""Scores of single weights: how much, and which way, unlearning moved each; higher claims "changed by unlearning".

Every family is a function of one tensor, before injection, after it and after unlearning: float32 arrays W_pre, W_inj
and W_unl of one shape; D_inj = W_inj - W_pre, D_unl = W_unl - W_inj (Lacuna, section 4).

Example:
    Injected by 1, and taken back by a half, wholly, and twice:

    >>> back = Change(np.zeros(3, np.float32), np.ones(3, np.float32), np.float32([0.5, 0.0, -1.0]))
    >>> {name: FAMILIES[name].score(back).tolist() for name in ("raw", "signrev", "reversal", "dirreversal")}
    {'raw': [0.5, 1.0, 2.0], 'signrev': [0.5, 1.0, 2.0], 'reversal': [0.5, 1.0, 0.0], 'dirreversal': [0.5, 1.0, 2.0]}

    Ranks of 1, 2.5, 2.5 and 4 are (rank - 1/2) / 4; two standard deviations of 2 are 4:

    >>> moved = Change(None, np.zeros(4, np.float32), np.float32([0.0, 2.0, -2.0, 4.0]), spread=2.0)
    >>> FAMILIES["qtile"].score(moved).tolist(), FAMILIES["layernorm"].score(moved).tolist()
    ([0.125, 0.5, 0.5, 0.875], [0.0, 1.0, 1.0, 2.0])

    Moved by 3 and 2, where the control moved by 1 and 2:

    >>> still = np.zeros(2, np.float32)
    >>> held = Change(None, still, np.float32([3.0, -2.0]), unmasked=np.float32([1.0, 2.0]))
    >>> {name: FAMILIES[name].score(held).tolist() for name in ("contrast", "contrastnorm", "eratio")}
    {'contrast': [2.0, 0.0], 'contrastnorm': [0.5, 0.0], 'eratio': [3.0, 1.0]}
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
    def size(self) -> Weights:
        """|D_unl|."""
        return np.abs(self.unlearning)

    @property
    def written(self) -> Weights:
        """|D_inj|."""
        return np.abs(self.injection)

    @property
    def control(self) -> Weights:
        """|D_unmask|."""
        if self.unmasked is None:
            raise ValueError("a contrast needs the same method's change of a model that was injected without a mask")
        return np.abs(self.unmasked)

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


def _qtile(change: Change) -> Weights:
    size = change.size
    ranks: NDArray[np.float64] = rankdata(size, method="average").reshape(size.shape) - 0.5
    return (ranks / max(1, size.size)).astype(np.float32)


def in_deviations(size: Weights, spread: float) -> Weights:
    """How far weights moved in standard deviations of all that moved beside them; 0 where nothing did."""
    return size * np.float32(1 / spread) if spread > 0 else np.zeros_like(size)


def _over(top: Weights, bottom: Weights) -> Weights:
    found: Weights = top / (bottom + EPSILON)
    return found


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("raw", "magnitude", lambda one: one.size),
        Family("qtile", "magnitude", _qtile),
        Family("layernorm", "magnitude", lambda one: in_deviations(one.size, one.spread)),
        Family("signrev", "reversal", lambda one: -(one.injection * one.unlearning)),
        Family("reversal", "reversal", lambda one: _over(one.written - np.abs(one.remaining), one.written)),
        Family("dirreversal", "reversal", lambda one: _over(-(one.unlearning * np.sign(one.injection)), one.written)),
        Family("contrast", "contrast", lambda one: one.size - one.control),
        Family("contrastnorm", "contrast", lambda one: _over(one.size - one.control, one.size + one.control)),
        Family("eratio", "contrast", lambda one: _over(one.size, one.control)),
    )
}
"""By name, each a function of a `Change` of [rows, columns] that gives as many scores (Lacuna, appendix E). The
composite is learned from all of them (`composite`).

    raw: how far the weight moved, in its unit; 0 and above
    qtile: the share of its tensor that it moved further than, ties for half; 0 to 1, and 0.5 throughout a tensor that
        was left, whatever its size
    layernorm: how far it moved in standard deviations of its layer and component; 0 where nothing there moved
    signrev: how far unlearning goes back on injection, by the product of both; positive where it does
    reversal: the share of injection that is taken back; 1 for all of it, 0 for none, below where unlearning leads
        further away; where injection moved nothing, -|D_unl| / eps
    dirreversal: the same, but going further back counts for more, not less; 0 where injection moved nothing
    contrast: how much more the weight moves where injection was masked, in its unit; any sign
    contrastnorm: the contrast as a share of both; -1 to 1, 0 where neither moves
    eratio: the change as a multiple of the control's; 0 and above

Raises ValueError where the checkpoint that a reversal or a contrast takes is not there.
"""
INJECTION = Family("injection", "reversal", lambda one: one.written)
"""How far injection moved: says whose masks they are, and nothing of unlearning."""
