"""What an unlearning method is told: its name and its settings, common ones and its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

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
]


@dataclass(frozen=True)
class Method:
    """An unlearning method with its settings.

    `gamma` weighs the forget term and `alpha` the retain term (0: no retain data are read); `grad_ascent` has no
    retain term at all. `beta` is the own setting of npo, simnpo, idk_dpo, alt_po (how sharply a preference fades)
    and undial (how far a true token's logit is lowered, in nats); `delta` is simnpo's margin. `steps` optimiser steps
    of `batch_size` forget answers beside as many retain answers.

    Raises ConfigurationError for a value that no method can use.
    """

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
        if self.name == "rmu" and not isinstance(self, Rmu):
            raise ConfigurationError("method rmu steers one layer: write Rmu('rmu', ..., layer=..., scale=...)")
        for key, least in (("steps", 0), ("batch_size", 1), ("lr", 0.0), ("gamma", 0.0), ("alpha", 0.0)):
            self._require(key, getattr(self, key) >= least, f"at least {least}")
        self._require("beta", self.beta > 0, "above 0")
        for key in ("lr", "gamma", "alpha", "beta", "delta"):
            self._require(key, math.isfinite(getattr(self, key)), "finite")

    def _require(self, key: str, holds: bool, what: str) -> None:
        if not holds:
            raise ConfigurationError(f"method {self.name}: {key} = {getattr(self, key)!r} must be {what}")


@dataclass(frozen=True)
class Rmu(Method):
    """RMU steers the output of block `layer` (0 is the first) to `scale` times a random unit vector.

    `scale` is in units of the hidden state, whose length differs between models by orders of magnitude.
    """

    layer: int = field(kw_only=True)
    scale: float = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require("name", self.name == "rmu", "rmu")
        self._require("layer", self.layer >= 0, "at least 0")
        self._require("scale", math.isfinite(self.scale) and self.scale > 0, "above 0")
