"""What an unlearning method is told: its name and its settings, common ones and its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal

from uds_bench.errors import ConfigurationError

MethodName = Literal[
    "identity",
    "grad_ascent",
    "grad_diff",
    "npo",
    "simnpo",
    "idk_nll",
    "idk_dpo",
    "alt_po",
    "rmu",
    "undial",
    "memflex",
    "alphaedit",
]


@dataclass(frozen=True)
class Method:
    """An unlearning method with its settings.

    `gamma` weighs the forget term and `alpha` the retain term (0: no retain data are read); `grad_ascent` has no
    retain term at all. `beta` is the own setting of npo, simnpo, idk_dpo, alt_po (how sharply a preference fades)
    and undial (how far a true token's logit is lowered, in nats); `delta` is simnpo's margin. `steps` optimiser steps
    of `batch_size` forget answers beside as many retain answers. Methods of `KINDS` have settings of their own.

    Raises ConfigurationError for a value that no method can use.
    """

    does: ClassVar[str] = "trains"

    name: MethodName
    steps: int
    lr: float
    batch_size: int = 16
    gamma: float = 1.0
    alpha: float = 1.0
    beta: float = 0.1
    delta: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        kind = KINDS.get(self.name, Method)
        if not isinstance(self, kind):
            raise ConfigurationError(f"method {self.name} {kind.does}: write {kind.__name__}({self.name!r}, ...)")
        if type(self) is not kind:
            (own,) = (name for name, each in KINDS.items() if each is type(self))
            raise ConfigurationError(f"method {self.name}: a {type(self).__name__} must be {own}")
        for key in (one.name for one in fields(self)):
            value = getattr(self, key)
            self._require(key, not isinstance(value, float) or math.isfinite(value), "finite")
            if key in LEAST:
                self._require(key, value >= LEAST[key], f"at least {LEAST[key]}")
            self._require(key, key not in POSITIVE or value > 0, "above 0")

    def _require(self, key: str, holds: bool, what: str) -> None:
        if not holds:
            raise ConfigurationError(f"method {self.name}: {key} = {getattr(self, key)!r} must be {what}")


@dataclass(frozen=True)
class Rmu(Method):
    """RMU steers the output of block `layer` (0 is the first) to `scale` times a random unit vector.

    `scale` is in units of the hidden state, whose length differs between models by orders of magnitude.
    """

    does: ClassVar[str] = "steers one layer"

    layer: int = field(kw_only=True)
    scale: float = field(kw_only=True)


@dataclass(frozen=True)
class MemFlex(Method):
    """MemFlex trains the matrices where forgetting and keeping diverge, by GradDiff (`memflex.diverging`).

    One is trained where the mean magnitude of its forget gradient (nats a weight) is above `gradient_threshold` and
    the cosine between that and its retain gradient below `similarity_threshold`. `gamma` is minus the published forget
    factor, `alpha` the retain factor. `copies`: random answers that each question is put with to find the gradients.
    """

    does: ClassVar[str] = "trains some matrices"

    gradient_threshold: float = field(kw_only=True)
    similarity_threshold: float = field(kw_only=True)
    copies: int = field(default=3, kw_only=True)


@dataclass(frozen=True)
class AlphaEdit(Method):
    """AlphaEdit writes refusals into the feed-forward output projections of blocks `first_layer` to `last_layer`.

    A step edits `batch_size` forget questions in closed form (`alphaedit`). `lr`, `v_steps`, `weight_decay`, `kl` and
    `clamp` rule the search for the state that refuses (`refusal_states`), read out behind block `loss_layer`;
    `null_space` is the mean square along a direction below which kept keys leave it free, `l2` what each edit is
    weighed against (both in squared units of a key).
    """

    does: ClassVar[str] = "edits some layers"

    first_layer: int = field(kw_only=True)
    last_layer: int = field(kw_only=True)
    loss_layer: int = field(kw_only=True)
    v_steps: int = field(kw_only=True)
    weight_decay: float = field(kw_only=True)
    kl: float = field(kw_only=True)
    clamp: float = field(kw_only=True)
    null_space: float = field(kw_only=True)
    l2: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("last_layer", self.last_layer >= self.first_layer, f"at least first_layer = {self.first_layer}")
        self._require("loss_layer", self.loss_layer >= self.last_layer, f"at least last_layer = {self.last_layer}")


LEAST = {
    **{"steps": 0, "batch_size": 1, "lr": 0.0, "gamma": 0.0, "alpha": 0.0, "layer": 0, "copies": 1, "v_steps": 1},
    **{"gradient_threshold": 0, "weight_decay": 0, "kl": 0, "first_layer": 0},
}
POSITIVE = ("beta", "scale", "clamp", "null_space", "l2")
"""What the settings of all kinds of methods must be, beside finite."""
KINDS: dict[MethodName, type[Method]] = {"rmu": Rmu, "memflex": MemFlex, "alphaedit": AlphaEdit}
"""Methods with settings of their own."""
