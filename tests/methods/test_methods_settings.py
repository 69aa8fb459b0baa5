"""Methods and presets: what can be set, what is refused, and that the published sweep is all there."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from uds_bench.errors import ConfigurationError
from uds_bench.methods.method import AlphaEdit, MemFlex, Method, Rmu
from uds_bench.methods.presets import DEFAULTS, EDITED, LACUNA, ORACLE, OURS, PRESETS, SWEEP, find_preset, make_method
from uds_bench.methods.registry import METHODS


def test_the_fields_that_name_a_cached_model_stay() -> None:
    """Embedded models are cached by these: another name, order or default would train them all anew."""
    assert asdict(Method("npo", steps=3, lr=0.1)) == {
        "name": "npo",
        "steps": 3,
        "lr": 0.1,
        "batch_size": 16,
        "gamma": 1.0,
        "alpha": 1.0,
        "beta": 0.1,
        "delta": 0.0,
        "seed": 0,
    }


def test_rmu_needs_its_layer_and_scale() -> None:
    with pytest.raises(ConfigurationError, match="rmu steers one layer"):
        Method("rmu", steps=1, lr=0.1)
    with pytest.raises(ConfigurationError, match="layer = -1"):
        Rmu("rmu", steps=1, lr=0.1, layer=-1, scale=1.0)
    with pytest.raises(ConfigurationError, match="scale = 0"):
        Rmu("rmu", steps=1, lr=0.1, layer=0, scale=0.0)
    with pytest.raises(ConfigurationError, match="must be rmu"):
        Rmu("npo", steps=1, lr=0.1, layer=0, scale=1.0)


MEMFLEX = {"gradient_threshold": 6e-4, "similarity_threshold": 0.92}
EDIT = {"first_layer": 4, "last_layer": 8, "loss_layer": 15, "v_steps": 50}
EDIT |= {"weight_decay": 1.0, "kl": 1.0, "clamp": 0.5, "null_space": 1e-3, "l2": 1.0}


def test_methods_with_settings_of_their_own_are_not_made_without() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^method memflex trains some matrices: write MemFlex\('memflex', ...\)"
    ):
        Method("memflex", steps=1, lr=0.1)
    with pytest.raises(ConfigurationError, match=r"^method alphaedit edits some layers: write AlphaEdit\('alphaedit'"):
        MemFlex("alphaedit", steps=1, lr=0.1, **MEMFLEX)
    with pytest.raises(ConfigurationError, match="method npo: a MemFlex must be memflex"):
        MemFlex("npo", steps=1, lr=0.1, **MEMFLEX)


MADE: dict[str, Callable[..., Method]] = {
    "npo": lambda **chosen: Method("npo", **{"steps": 1, "lr": 0.1, **chosen}),
    "memflex": lambda **chosen: MemFlex("memflex", steps=1, lr=0.1, **{**MEMFLEX, **chosen}),
    "alphaedit": lambda **chosen: AlphaEdit("alphaedit", steps=1, lr=0.1, **{**EDIT, **chosen}),
}


@pytest.mark.parametrize(
    ("name", "setting", "value", "said"),
    [
        ("npo", "steps", -1, "at least 0"),
        ("npo", "batch_size", 0, "at least 1"),
        ("npo", "lr", -1e-3, "at least 0"),
        ("npo", "lr", math.nan, ""),
        ("npo", "lr", math.inf, "finite"),
        ("npo", "gamma", -1.0, "at least 0"),
        ("npo", "alpha", math.inf, "finite"),
        ("npo", "beta", 0.0, "above 0"),
        ("npo", "beta", math.nan, "finite"),
        ("npo", "delta", math.nan, "finite"),
        ("memflex", "gradient_threshold", -1e-9, "at least 0"),
        ("memflex", "gradient_threshold", math.nan, "finite"),
        ("memflex", "similarity_threshold", math.inf, "finite"),
        ("memflex", "copies", 0, "at least 1"),
        ("alphaedit", "first_layer", -1, "at least 0"),
        ("alphaedit", "last_layer", 3, "at least first_layer = 4"),
        ("alphaedit", "loss_layer", 7, "at least last_layer = 8"),
        ("alphaedit", "v_steps", 0, "at least 1"),
        ("alphaedit", "kl", -0.5, "at least 0"),
        ("alphaedit", "weight_decay", math.inf, "finite"),
        ("alphaedit", "clamp", 0.0, "above 0"),
        ("alphaedit", "null_space", 0.0, "above 0"),
        ("alphaedit", "l2", math.nan, "finite"),
    ],
)
def test_a_setting_that_a_method_cannot_use_is_refused(name: str, setting: str, value: float, said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^method {name}: {setting} = {value} must be {said}"):
        MADE[name](**{setting: value})


TABLE_5: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "memflex": (
        {**MEMFLEX, "gamma": 0.6, "alpha": 2.0, "lr": 3e-4, "epochs": 20},
        {**MEMFLEX, "gamma": 0.6, "alpha": 2.0, "lr": 1e-4, "epochs": 20, "gradient_threshold": 1e-5},
    ),
    "simnpo": (
        {"gamma": 3.0, "alpha": 0.01, "beta": 10.0, "delta": 1.5, "lr": 1e-4, "epochs": 200},
        {"gamma": 3.0, "alpha": 0.5, "beta": 10.0, "delta": 1.5, "lr": 1e-4, "epochs": 200},
    ),
    "oracle_grad": (
        {"gamma": 5.0, "alpha": 1.0, "lr": 1e-4, "epochs": 200},
        {"gamma": 1.0, "alpha": 0.5, "lr": 5e-5, "epochs": 200},
    ),
    "alphaedit": (
        {**EDIT, "lr": 5e-2, "batch_size": 5, "epochs": 1},
        {**EDIT, "lr": 5e-2, "batch_size": 1, "epochs": 1, "loss_layer": 31, "weight_decay": 0.5, "kl": 0.0625},
    ),
}


def test_lacunas_settings_are_presets() -> None:
    """Its table 5. MemFlex's forget factor of -0.6 weighs the loss itself, gamma its ascent."""
    for name, both in TABLE_5.items():
        for size, settings in zip(("1b", "7b"), both, strict=True):
            preset = PRESETS[f"{name}_lacuna_{size}"]
            assert preset.settings == settings, (name, size)
            assert preset.method == {"oracle_grad": "grad_diff"}.get(name, name)
    assert sum(preset.source in (LACUNA, ORACLE, EDITED) for preset in PRESETS.values()) == 8


def test_an_edit_takes_as_many_steps_as_there_are_batches() -> None:
    assert [
        make_method("alphaedit", PRESETS[f"alphaedit_lacuna_{size}"].settings, 99).steps for size in ("1b", "7b")
    ] == [20, 99]


def test_the_sweep_has_its_150_models() -> None:
    sweep = [preset for preset in PRESETS.values() if preset.source == SWEEP]
    assert Counter(preset.method for preset in sweep) == {
        **dict.fromkeys(["grad_diff", "idk_nll", "idk_dpo", "npo", "alt_po", "rmu", "undial"], 18),
        "simnpo": 24,
    }
    assert Counter(preset.settings["epochs"] for preset in sweep) == {5: 75, 10: 75}
    assert len({str(preset) for preset in sweep}) == 150


def test_every_preset_makes_a_method_that_reads_all_of_it() -> None:
    for preset in PRESETS.values():
        method = make_method(preset.method, preset.settings, forget=400)
        own = {key: value for key, value in preset.settings.items() if key != "epochs"}
        assert {key: getattr(method, key) for key in own} == own
        assert method.steps == math.ceil(preset.settings["epochs"] * 400 / preset.settings.get("batch_size", 32))


def test_every_method_has_a_default_and_says_where_it_is_from() -> None:
    assert set(DEFAULTS) == set(METHODS)
    for method in METHODS:
        name, preset = find_preset(method)
        assert PRESETS[name] is preset
        assert preset.method == method
        assert preset.source == {"grad_ascent": OURS, "memflex": LACUNA, "alphaedit": EDITED}.get(method, SWEEP)


def test_the_two_published_results_that_the_zoo_quotes_are_presets() -> None:
    for name in ("npo_lr5e-05_beta0.1_alpha5_epochs10", "alt_po_lr5e-05_beta0.1_alpha1_epochs10"):
        assert PRESETS[name].source == SWEEP


@pytest.mark.parametrize(("forget", "batch", "epochs", "steps"), [(400, 32, 10, 125), (10, 32, 3, 3), (33, 16, 1, 3)])
def test_epochs_become_steps(forget: int, batch: int, epochs: int, steps: int) -> None:
    assert make_method("npo", {"lr": 1e-5, "epochs": epochs, "batch_size": batch}, forget).steps == steps


def test_steps_go_before_epochs() -> None:
    assert make_method("npo", {"lr": 1e-5, "epochs": 5, "steps": 7}, 400).steps == 7


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"beta": 1.0}, "method grad_diff has no setting 'beta': choose from epochs, steps, lr, batch_size, seed, g"),
        ({"epochs": 0}, "epochs = 0 must be at least 1"),
        ({}, "epochs = None must be at least 1, or give steps"),
    ],
)
def test_settings_that_make_no_method_are_told(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make_method("grad_diff", {"lr": 1e-5, **settings}, 10)


def test_an_unknown_preset_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"grad_diff has no preset 'x': choose from grad_diff_lr1e-05_alpha1_"):
        find_preset("grad_diff", "x")
    with pytest.raises(ConfigurationError, match="npo has no preset 'grad_diff_lr1e-05_alpha1_epochs5'"):
        find_preset("npo", "grad_diff_lr1e-05_alpha1_epochs5")
