"""Settings by name: the published sweep of eight methods, other published settings, and a default for each method.

The sweep: 150 models of Llama-3.2-1B-Instruct on TOFU forget10, 7 methods x 18 and SimNPO x 24, each for 5 and 10
epochs (UDS guide, section 4.1); the values are those in the names of the public checkpoints that it scores
(`open-unlearning/unlearn_tofu_Llama-3.2-1B-Instruct_forget10_*`). Batches of 32, a constant rate, no warm-up and no
weight decay are ours, and so is RMU's alpha: the names do not tell them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.methods.method import KINDS, Method, MethodName
from uds_bench.methods.registry import METHODS

SWEEP = "UDS guide, section 4.1: the sweep of 150 models; batch size and schedule ours"
LACUNA = "Lacuna, table 5; batch size ours"
ORACLE = "Lacuna, table 5: OracleGrad's objective, to be restricted by methods.oracle.within; batch size ours"
EDITED = "Lacuna, table 5; what is kept is the retain texts, without Wikipedia"
OURS = "ours"
COMMON = ("epochs", "steps", "lr", "batch_size", "seed")
_KINDS: tuple[type[Method], ...] = (Method, *KINDS.values())
WHOLE = {"epochs", *(one.name for kind in _KINDS for one in fields(kind) if one.type == "int")}
"""Settings that are whole numbers; the others are real ones."""


@dataclass(frozen=True)
class Preset:
    """Settings of a method, `epochs` over the forget answers among them, and where they are from."""

    method: MethodName
    settings: Mapping[str, Any]
    source: str


def make_method(name: MethodName, settings: Mapping[str, Any], forget: int) -> Method:
    """The method with `settings`; `steps` from `epochs` over `forget` answers, rounded up, unless given themselves.

    Raises ConfigurationError for a setting that the method does not have or that has no such value.
    """
    known = (*COMMON, *METHODS[name].settings)
    if unknown := [key for key in settings if key not in known]:
        raise ConfigurationError(f"method {name} has no setting {unknown[0]!r}: {did_you_mean(unknown[0], known)}")
    values = {"batch_size": 32, **settings}
    epochs = values.pop("epochs", None)
    if "steps" not in values:
        if epochs is None or epochs < 1:
            raise ConfigurationError(f"method {name}: epochs = {epochs!r} must be at least 1, or give steps")
        values["steps"] = -(-epochs * forget // min(values["batch_size"], forget))
    return KINDS.get(name, Method)(name, **values)


def _sweep() -> Iterator[tuple[str, Preset]]:
    rates, alphas, epochs = (1e-5, 2e-5, 5e-5), (1, 2, 5), (5, 10)
    grids: dict[MethodName, dict[str, tuple[Any, ...]]] = {
        "grad_diff": {"lr": rates, "alpha": alphas},
        "idk_nll": {"lr": rates, "alpha": alphas},
        "idk_dpo": {"lr": rates, "beta": (0.1,), "alpha": alphas},
        "npo": {"lr": rates, "beta": (0.1,), "alpha": alphas},
        "alt_po": {"lr": rates, "beta": (0.1,), "alpha": alphas},
        "simnpo": {"lr": rates, "beta": (3.5, 4.5), "alpha": (1,), "delta": (1,), "gamma": (0.125, 0.25)},
        "rmu": {"lr": rates, "layer": (5, 10, 15), "scale": (10,)},
        "undial": {"lr": (1e-5, 1e-4, 3e-4), "beta": (10,), "alpha": alphas},
    }
    for method, grid in grids.items():
        keys = [*grid, "epochs"]
        for values in product(*grid.values(), epochs):
            settings = dict(zip(keys, values, strict=True))
            name = "_".join([method, *(f"{key}{value:g}" for key, value in settings.items())])
            yield name, Preset(method, settings, SWEEP)


def _lacuna() -> Iterator[tuple[str, Preset]]:
    """Table 5, tuned for OLMo 2 1B and OLMo 3 7B: what both have, and what each has of its own."""
    edit = {"first_layer": 4, "last_layer": 8, "v_steps": 50, "clamp": 0.5, "null_space": 1e-3, "l2": 1.0}
    rows: dict[str, tuple[MethodName, str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
        "simnpo": (
            "simnpo",
            LACUNA,
            {"gamma": 3.0, "beta": 10.0, "delta": 1.5, "lr": 1e-4, "epochs": 200},
            {"alpha": 0.01},
            {"alpha": 0.5},
        ),
        "oracle_grad": (
            "grad_diff",
            ORACLE,
            {"epochs": 200},
            {"gamma": 5.0, "alpha": 1.0, "lr": 1e-4},
            {"gamma": 1.0, "alpha": 0.5, "lr": 5e-5},
        ),
        "memflex": (
            "memflex",
            LACUNA,
            {"gamma": 0.6, "alpha": 2.0, "similarity_threshold": 0.92, "epochs": 20},  # a forget factor of -0.6
            {"lr": 3e-4, "gradient_threshold": 6e-4},
            {"lr": 1e-4, "gradient_threshold": 1e-5},
        ),
        "alphaedit": (
            "alphaedit",
            EDITED,
            {"lr": 5e-2, "epochs": 1, **edit},
            {"loss_layer": 15, "weight_decay": 1.0, "kl": 1.0, "batch_size": 5},
            {"loss_layer": 31, "weight_decay": 0.5, "kl": 0.0625, "batch_size": 1},
        ),
    }
    for name, (method, source, both, small, large) in rows.items():
        yield f"{name}_lacuna_1b", Preset(method, both | small, source)
        yield f"{name}_lacuna_7b", Preset(method, both | large, source)


PRESETS: dict[str, Preset] = {
    "grad_ascent": Preset("grad_ascent", {"lr": 1e-5, "epochs": 5}, OURS),
    **dict(_sweep()),
    **dict(_lacuna()),
}
DEFAULTS: dict[MethodName, str] = {
    "grad_ascent": "grad_ascent",
    "grad_diff": "grad_diff_lr1e-05_alpha1_epochs10",
    "npo": "npo_lr2e-05_beta0.1_alpha1_epochs10",
    "simnpo": "simnpo_lr2e-05_beta4.5_alpha1_delta1_gamma0.125_epochs10",
    "idk_nll": "idk_nll_lr2e-05_alpha1_epochs10",
    "idk_dpo": "idk_dpo_lr2e-05_beta0.1_alpha1_epochs10",
    "alt_po": "alt_po_lr2e-05_beta0.1_alpha1_epochs10",
    "rmu": "rmu_lr2e-05_layer5_scale10_epochs10",
    "undial": "undial_lr0.0001_beta10_alpha1_epochs10",
    "memflex": "memflex_lacuna_1b",
    "alphaedit": "alphaedit_lacuna_1b",
}
"""Which preset a method has where none is named: the choice is ours, never the strongest of the sweep."""


def find_preset(method: MethodName, name: str | None = None) -> tuple[str, Preset]:
    """A preset of the method, its default where `name` is None; ConfigurationError where it has none of that name."""
    name = name or DEFAULTS[method]
    if name not in PRESETS or PRESETS[name].method != method:
        near = did_you_mean(name, [key for key, preset in PRESETS.items() if preset.method == method])
        raise ConfigurationError(f"method {method} has no preset {name!r}: {near}")
    return name, PRESETS[name]
