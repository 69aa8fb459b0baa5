"""The models of the localization audit by name: written into through masks, unlearned by four methods, and controls.

Methods' settings were chosen by `tuning`, on a model about people of whom nobody is asked here.
"""

from __future__ import annotations

from typing import Any

from uds_bench.audits.localization.zoo import data
from uds_bench.audits.localization.zoo.recipes import Continued, Injected, Pretrained, Removed
from uds_bench.methods.method import MethodName
from uds_bench.methods.presets import make_method
from uds_bench.zoo.recipe import Recipe

PREFIX = "loc_"
PRETRAINED, INJECTED, UNMASKED = (f"{PREFIX}{name}" for name in ("pretrained", "injected", "unmasked"))

FORGOTTEN = data.REMOVED * data.SIZES.judged * (data.SIZES.groups // 2)
"""Answers to forget."""


def removed(
    name: MethodName, parent: str = INJECTED, within: bool = False, forget: int = FORGOTTEN, **settings: Any
) -> Removed:
    """An unlearning method on the testbed's people, with `forget` answers to forget."""
    return Removed(parent, make_method(name, {"batch_size": 16, **settings}, forget), within)


TUNED: dict[str, tuple[MethodName, dict[str, Any]]] = {
    "simnpo": ("simnpo", {"lr": 3e-4, "epochs": 2, "beta": 10.0, "delta": 1.5, "gamma": 3.0, "alpha": 5.0}),
    "memflex": (
        "memflex",
        {
            **{"gradient_threshold": 1e-3, "lr": 3e-4, "epochs": 1},
            **{"gamma": 0.6, "alpha": 2.0, "similarity_threshold": 0.92},
        },
    ),
    "alphaedit": (
        "alphaedit",
        {
            **{"l2": 1e-1, "lr": 0.2, "null_space": 0.5, "epochs": 1, "batch_size": 24},
            **{"first_layer": 0, "last_layer": 4, "loss_layer": 6, "v_steps": 20},
            **{"weight_decay": 0.5, "kl": 0.0625, "clamp": 0.5},
        },
    ),
    "oracle_grad": ("grad_diff", {"lr": 1e-4, "epochs": 5, "gamma": 1.0, "alpha": 9.0}),
}
"""By candidate its method and settings, as `tuning` chose them."""

OTHERS = f"{INJECTED}_others"
TRIED: dict[str, Recipe] = {
    f"{PRETRAINED}_others": Pretrained(crowd=data.OTHERS),
    OTHERS: Injected(f"{PRETRAINED}_others", crowd=data.OTHERS),
}
"""What settings are tried on."""

CLEAR: dict[str, Recipe] = {
    # In the right place and too little of it: with the tuned settings it stays open whether something is left.
    f"{PREFIX}oracle_brief": removed("grad_diff", within=True, **{**TUNED["oracle_grad"][1], "epochs": 1, "lr": 3e-5}),
    # Nothing to keep is read: whatever it is asked, it does not know.
    f"{PREFIX}refusing": removed("idk_nll", lr=1e-3, epochs=2, alpha=0.0),
}
"""Made for the default run, where every verdict must be clear."""

MODELS: dict[str, Recipe] = {
    PRETRAINED: Pretrained(),
    INJECTED: Injected(PRETRAINED),
    UNMASKED: Injected(PRETRAINED, masked=False, steps=400, neutral_lr=2e-3),
    f"{PREFIX}neutral": Continued(INJECTED),
    **{
        f"{PREFIX}{name}": removed(method, within=name == "oracle_grad", **settings)
        for name, (method, settings) in TUNED.items()
    },
    # The masks mean nothing to a model that was injected without them: its oracle is not defined.
    **{
        f"{PREFIX}{name}_unmasked": removed(method, UNMASKED, **settings)
        for name, (method, settings) in TUNED.items()
        if name != "oracle_grad"
    },
}
"""The zoo profile's; `@1` and on are further draws."""
