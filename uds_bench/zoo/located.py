"""The models of the localization audit by name: written into through masks, unlearned by four methods, and controls.

Methods' settings were chosen by `uds_bench.zoo.tuning`, on people who are neither forgotten nor retained.
"""

from __future__ import annotations

from typing import Any

from uds_bench.methods.method import Method, MethodName
from uds_bench.zoo.recipe import Continued, Injected, Pretrained, Recipe, Removed

PREFIX = "loc_"
PRETRAINED, INJECTED, UNMASKED = (f"{PREFIX}{name}" for name in ("pretrained", "injected", "unmasked"))


def removed(name: MethodName, parent: str = INJECTED, within: bool = False, **settings: Any) -> Removed:
    """An unlearning method on the testbed's people."""
    return Removed(parent, Method(name, **{"batch_size": 16, **settings}), within)


SIMNPO: dict[str, Any] = {"lr": 3e-4, "steps": 40, "beta": 10.0, "delta": 1.5, "gamma": 3.0, "alpha": 0.5}
ORACLE: dict[str, Any] = {"lr": 3e-4, "steps": 20, "gamma": 1.0, "alpha": 1.0}

MODELS: dict[str, Recipe] = {
    PRETRAINED: Pretrained(),
    INJECTED: Injected(PRETRAINED),
    UNMASKED: Injected(PRETRAINED, masked=False, steps=300),
    f"{PREFIX}neutral": Continued(INJECTED),
    f"{PREFIX}oracle_grad": removed("grad_diff", within=True, **ORACLE),
    f"{PREFIX}simnpo": removed("simnpo", **SIMNPO),
    f"{PREFIX}simnpo_unmasked": removed("simnpo", UNMASKED, **SIMNPO),
}
"""The quick profile's; `@1` and on are further draws."""
