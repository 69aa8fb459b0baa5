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

# The ablations: less room, whole heads and neurons, no room, and ascent alone. Nothing was tuned for them: each has the
# settings of the model above from which it differs in one thing.
HEADS = 8
"""With four heads six groups cannot have one each."""
COVERAGES = (0.01, 0.02, 0.05)
_ORACLE = TUNED["oracle_grad"][1]
_ASCENT: dict[str, Any] = {key: _ORACLE[key] for key in ("lr", "epochs")}

_INJECTIONS: dict[str, Recipe] = {
    **{f"{PREFIX}share{share * 100:02.0f}": Injected(PRETRAINED, share=share) for share in COVERAGES},
    f"{PREFIX}single": Injected(f"{PRETRAINED}_heads", share=1 / HEADS),
    f"{PREFIX}units": Injected(f"{PRETRAINED}_heads", share=1 / HEADS, whole_units=True),
    f"{PREFIX}units_slow": Injected(f"{PRETRAINED}_heads", share=1 / HEADS, whole_units=True, lr=1e-3),
}

ABLATED: dict[str, Recipe] = {
    f"{PRETRAINED}_heads": Pretrained(heads=HEADS),
    **_INJECTIONS,
    **{f"{name}_oracle_grad": removed("grad_diff", name, within=True, **_ORACLE) for name in _INJECTIONS},
    f"{PREFIX}grad_diff": removed("grad_diff", **_ORACLE),
    f"{PREFIX}grad_ascent": removed("grad_ascent", **_ASCENT),
    f"{PREFIX}oracle_ascent": removed("grad_ascent", within=True, **_ASCENT),
}
"""By name; `single` and `units` differ in what a mask is made of and in nothing else, `units_slow` in the rate too."""

INJECTED_INTO = {PRETRAINED: INJECTED, f"{PRETRAINED}_heads": f"{PREFIX}units"}
"""By pretrained model the one whose masks are looked for in it, where they cannot be."""

ROWS: tuple[str, ...] = (
    PRETRAINED,
    f"{PREFIX}unmasked",
    INJECTED,
    f"{PREFIX}oracle_grad",
    f"{PREFIX}oracle_ascent",
    f"{PREFIX}grad_diff",
    f"{PREFIX}grad_ascent",
    *(f"{PREFIX}{name}" for name in TUNED if name != "oracle_grad"),
    *(row for name in _INJECTIONS if "share" in name for row in (name, f"{name}_oracle_grad")),
    f"{PRETRAINED}_heads",
    *(row for name in _INJECTIONS if "share" not in name for row in (name, f"{name}_oracle_grad")),
)
"""The table's models in its order."""
