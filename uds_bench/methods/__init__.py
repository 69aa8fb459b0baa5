"""Unlearning methods, to be used on any causal language model; how they fare is in `trials`.

data = unlearning_data(tokenizer, facts)
unlearn(model, data, Method("npo", steps=125, lr=2e-5, batch_size=32))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uds_bench.methods.alternates import Alternates, sample_alternates
    from uds_bench.methods.data import REFUSALS, Data, unlearning_data
    from uds_bench.methods.lora import LoraSettings, with_lora
    from uds_bench.methods.method import AlphaEdit, MemFlex, Method, MethodName, Rmu
    from uds_bench.methods.presets import PRESETS, Preset, find_preset, make_method
    from uds_bench.methods.registry import METHODS, unlearn
    from uds_bench.methods.release import UnlearnedModel, unlearn_facts
    from uds_bench.methods.traces import Course, GradientScope, trace_data

__all__ = [
    "METHODS",
    "PRESETS",
    "REFUSALS",
    "AlphaEdit",
    "Alternates",
    "Course",
    "Data",
    "GradientScope",
    "LoraSettings",
    "MemFlex",
    "Method",
    "MethodName",
    "Preset",
    "Rmu",
    "UnlearnedModel",
    "find_preset",
    "make_method",
    "sample_alternates",
    "trace_data",
    "unlearn",
    "unlearn_facts",
    "unlearning_data",
    "with_lora",
]


_HOMES = {
    "alternates": ("Alternates", "sample_alternates"),
    "data": ("REFUSALS", "Data", "unlearning_data"),
    "lora": ("LoraSettings", "with_lora"),
    "method": ("AlphaEdit", "MemFlex", "Method", "MethodName", "Rmu"),
    "presets": ("PRESETS", "Preset", "find_preset", "make_method"),
    "registry": ("METHODS", "unlearn"),
    "release": ("UnlearnedModel", "unlearn_facts"),
    "traces": ("Course", "GradientScope", "trace_data"),
    # It stands above, and is found here by whoever writes a method.
    "uds_bench.trials.check": ("check_method",),
}
"""By module, what is found here: imported when it is asked for, as names of methods are looked up without torch."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home if "." in home else f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
