"""Settings by name: the published sweep of eight methods, other published settings, and a default for each method.

The sweep: 150 models of Llama-3.2-1B-Instruct on TOFU forget10, 7 methods x 18 and SimNPO x 24, each for 5 and 10
epochs (UDS guide, section 4.1); the values are those in the names of the public checkpoints that it scores
(`open-unlearning/unlearn_tofu_Llama-3.2-1B-Instruct_forget10_*`). Batches of 32, a constant rate, no warm-up and no
weight decay are ours, and so is RMU's alpha: the names do not tell them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from uds_bench.errors import ConfigurationError
from uds_bench.methods.method import Method, MethodName, Rmu
from uds_bench.methods.terms import METHODS

SWEEP = "UDS guide, section 4.1: the sweep of 150 models; batch size and schedule ours"
LACUNA = "Lacuna, table 5; batch size ours"
OURS = "ours"
COMMON = ("epochs", "steps", "lr", "batch_size", "seed")
WHOLE = frozenset({"epochs", "steps", "batch_size", "seed", "layer"})
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
        raise ConfigurationError(f"method {name} has no setting {unknown[0]!r}: choose from {', '.join(known)}")
    values = {"batch_size": 32, **settings}
    epochs = values.pop("epochs", None)
    if "steps" not in values:
        if epochs is None or epochs < 1:
            raise ConfigurationError(f"method {name}: epochs = {epochs!r} must be at least 1, or give steps")
        values["steps"] = -(-epochs * forget // min(values["batch_size"], forget))
    return (Rmu if name == "rmu" else Method)(name, **values)


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


def _lacuna(alpha: float) -> Preset:
    settings = {"gamma": 3.0, "alpha": alpha, "beta": 10.0, "delta": 1.5, "lr": 1e-4, "epochs": 200}
    return Preset("simnpo", settings, LACUNA)


PRESETS: dict[str, Preset] = {
    "grad_ascent": Preset("grad_ascent", {"lr": 1e-5, "epochs": 5}, OURS),
    **dict(_sweep()),
    "simnpo_lacuna_1b": _lacuna(0.01),
    "simnpo_lacuna_7b": _lacuna(0.5),
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
}
"""Which preset a method has where none is named: the choice is ours, never the strongest of the sweep."""


def find_preset(method: MethodName, name: str | None = None) -> tuple[str, Preset]:
    """A preset of the method, its default where `name` is None; ConfigurationError where it has none of that name."""
    name = name or DEFAULTS[method]
    if name not in PRESETS or PRESETS[name].method != method:
        listed = ", ".join(key for key, preset in PRESETS.items() if preset.method == method)
        raise ConfigurationError(f"method {method} has no preset {name!r}: choose from {listed}")
    return name, PRESETS[name]
