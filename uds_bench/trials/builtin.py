"""The built-in methods, called as a user's is: each with one set of settings, whatever it is tried on."""

from __future__ import annotations

from functools import partial
from typing import Any

from uds_bench.methods.alternates import other_answers
from uds_bench.methods.data import REFUSALS, Data
from uds_bench.methods.examples import IGNORED, Example, answered
from uds_bench.methods.method import MethodName
from uds_bench.methods.presets import find_preset, make_method
from uds_bench.methods.registry import METHODS, unlearn
from uds_bench.trials.method import Lessons, UserMethod, code_of

SETTINGS: dict[str, Any] = {"lr": 1e-3, "epochs": 5, "batch_size": 16}
"""For all of them, as the zoo's candidates have where nothing else is said; what is a method's own is as published."""
STEERED = 3.0
"""RMU's scale: about the length of the states of the shipped models."""
# Claims that ask whether what is to be kept is there, what is left of what was forgotten, and where it was written.
KEEPING = ("association.retained", "depth.spared", "localization.retained")
DEEP = ("depth.score", "depth.hidden")
WHERE = ("localization.auc", "localization.elsewhere")
REFUSING, LOCATED = ("idk_nll", "idk_dpo"), ("memflex", "alphaedit")
"""Methods that teach a refusal, and those that choose where they write."""
PUBLISHED_LAYERS = 16
"""Of the model whose layers the published settings name."""


def builtin(name: MethodName) -> UserMethod:
    """A built-in method as `gate-method` calls one."""
    return UserMethod(name, partial(_unlearned, name), code_of(unlearn), _expected(name))


def _expected(name: MethodName) -> dict[str, str]:
    """What a method is not meant to pass, by what it is."""
    kept = {} if _keeps(name) else dict.fromkeys(KEEPING, "it reads nothing of what is to be kept")
    deep = dict.fromkeys(DEEP, "it teaches a refusal, and what is known stays") if name in REFUSING else {}
    where = {} if name in LOCATED else dict.fromkeys(WHERE, "it chooses no place to write to")
    return {**kept, **deep, **where}


def _keeps(name: MethodName) -> bool:
    """Whether it has a term for what is to be kept."""
    return METHODS[name].settings != ("gamma",)


def _unlearned(name: MethodName, model: Any, tokenizer: Any, forget: Lessons, retain: Lessons, seed: int) -> Any:
    settings = {**find_preset(name)[1].settings, **SETTINGS, "seed": seed}
    layers = model.config.num_hidden_layers
    placed = {key: settings[key] * layers // PUBLISHED_LAYERS for key in settings if key.endswith("layer")}
    if "scale" in settings:
        placed["scale"] = STEERED
    told = [_example(one) for one in forget]
    refusals = [_instead(tokenizer, one, REFUSALS[at % len(REFUSALS)]) for at, one in enumerate(told)]
    others = other_answers(model.eval(), tokenizer, told, seed) if name == "alt_po" else ()
    kept = [_example(one) for one in retain] if _keeps(name) else []
    method = make_method(name, settings | placed, len(told))
    unlearn(model, Data(told, kept, refusals, others), method)
    return model


def _example(one: dict[str, Any]) -> Example:
    labels = one["labels"]
    start = next(place for place, label in enumerate(labels) if label != IGNORED)
    gaps = [place for place in range(start, len(labels)) if labels[place] == IGNORED]
    return Example(tuple(one["input_ids"]), start, (gaps[0], gaps[-1] + 1) if gaps else (0, 0))


def _instead(tokenizer: Any, told: Example, text: str) -> Example:
    """Another answer to the same prompt."""
    ids = tokenizer(f" {text}", add_special_tokens=False)["input_ids"]
    return answered(told, Example((*ids, tokenizer.eos_token_id), 0))
