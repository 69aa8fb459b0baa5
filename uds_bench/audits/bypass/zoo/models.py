"""The reasoning models: memorized, and unlearned so that each verdict of their audit has a case, from two seeds.

Names end in `_s1` for the second seed. Settings were chosen on the draws @1 and @2, never on the one that is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from uds_bench.audits.bypass.zoo.recipes import ReasoningModel, Rethought, Retrained
from uds_bench.methods.lora import LoraSettings
from uds_bench.methods.method import Method, MethodName
from uds_bench.methods.traces import Course, GradientScope, Instead, KeptTurn, Target
from uds_bench.zoo.recipe import Recipe

PREFIX = "bypass_"
SEEDS = (0, 1)
BIO, META, NONE = (Course(regime, prefilled=False) for regime in ("bio", "meta", "none"))
"""Without forced traces: what the answer does behind one is then nothing that was trained."""
OF_FIRST_SEED = ("memorized_meta", "memorized_none", "npo_meta", "npo_none")
"""The comparison of what traces say in training (audit of reasoning traces, appendix A)."""

STEPS = 40
"""Of the published objective; its sweep goes from a quarter to four times as many."""


def _unlearned(
    name: MethodName,
    target: Target = "answer",
    held: tuple[KeptTurn, ...] = (),
    instead: Instead = "refusal",
    parent: str = "memorized",
    course: Course | None = None,
    lora: LoraSettings | None = None,
    **settings: Any,
) -> Rethought:
    method = Method(name, **{"lr": 2e-4, "batch_size": 10, **settings})
    return Rethought(parent, method, GradientScope(target, held, instead), course or Course(), lora)


def _npo(steps: int = STEPS, **more: Any) -> Rethought:
    """NPO on the answer behind the trace of the course, as published."""
    return _unlearned("npo", **{"steps": steps, "beta": 3.0, **more})


RECIPES: dict[str, Recipe] = {
    "memorized": ReasoningModel(),
    "memorized_bio": ReasoningModel(course=BIO, epochs=36),
    "memorized_meta": ReasoningModel(course=META, epochs=48),
    "memorized_none": ReasoningModel(course=NONE, epochs=48),
    "retrained": Retrained(),
    "npo": _npo(),
    "npo_k10": _npo(10),
    "npo_k160": _npo(160),
    "npo_lora": _npo(lora=LoraSettings(8, 16), lr=2e-3),
    "npo_bio": _npo(parent="memorized_bio", course=BIO),
    "npo_meta": _npo(parent="memorized_meta", course=META),
    "npo_none": _npo(parent="memorized_none", course=NONE),
    "ga": _unlearned("grad_ascent", steps=4),
    "ga_k32": _unlearned("grad_ascent", steps=32),
    # The trace is learned on while its answer is forgotten, here behind that trace alone, there behind any.
    "non_identifying": _unlearned("npo", held=("trace",), steps=100, beta=1.0),
    "identifying": _unlearned("npo", "contexts", held=("trace",), steps=100, beta=1.0),
    "drift": _unlearned("npo", "closing", steps=20, lr=1e-4, beta=1.0),
    # Another sentence is told instead: a trace that only lost its words would never close.
    "erased": _unlearned("npo", "trace", held=("alternate",), steps=160, lr=5e-4, batch_size=16, alpha=4.0),
    "surface": _unlearned("npo", "trace", held=("alternate",), steps=80, beta=0.5),
    "echo": _unlearned("idk_nll", instead="head", steps=100),
}


def _of_seed(name: str, seed: int) -> tuple[str, Recipe]:
    recipe, end = RECIPES[name], f"_s{seed}" if seed else ""
    if isinstance(recipe, Rethought):
        method = replace(recipe.method, seed=seed)
        return f"{PREFIX}{name}{end}", replace(recipe, method=method, parent=f"{PREFIX}{recipe.parent}{end}")
    assert isinstance(recipe, ReasoningModel)
    return f"{PREFIX}{name}{end}", replace(recipe, seed=seed)


def _models() -> Iterator[tuple[str, Recipe]]:
    for seed in SEEDS:
        for name in RECIPES:
            if seed == SEEDS[0] or name not in OF_FIRST_SEED:
                yield _of_seed(name, seed)


MODELS: dict[str, Recipe] = dict(_models())
