"""A section of a run report of the localization audit, made by the audit itself of updates that are known."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from made_reports import values_of
from safetensors.torch import save_file

from uds_bench.audits.localization import summary
from uds_bench.audits.localization.experiment import Experiment
from uds_bench.audits.localization.families import Part
from uds_bench.audits.localization.rates import ItemShares, Leaks, SharesByItem
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.utility import Answer, Answers
from uds_bench.audits.localization.weights import WeightScores, weigh
from uds_bench.checkpoints.mask_draws import draw_weights
from uds_bench.checkpoints.masks import MaskGroup
from uds_bench.facts.testbed import QuestionCounts, Sizes, embedded_testbed

NAMES = [f"model.layers.{at}.{part}" for at in (0, 1) for part in ("self_attn.q_proj.weight", "mlp.up_proj.weight")]
SHAPES: dict[str, tuple[int, ...]] = dict.fromkeys(NAMES, (100, 60))
GROUPS = (MaskGroup("f", "forget"), MaskGroup("g", "forget"), MaskGroup("r", "retain"), MaskGroup("h", "retain"))
MASKS = draw_weights(SHAPES, GROUPS, 0.1, seed=0)
EXPERIMENT = Experiment(
    embedded_testbed(
        Sizes(groups=4, judged=5, tuning=1, public=6, instruction=1, held_out=1, unseen=8), QuestionCounts(questions=3)
    ),
    "birth_city",
    "phone",
)
SAID = {
    "pretrained": 0.05,
    "injected": 0.95,
    "unmasked": 1.0,
    "neutral": 0.9,
    "oracle": 0.05,
    "blind": 0.1,
    "idle": 0.95,
}
"""How often a model of the example answers for those to be forgotten."""
LEAKING = {"pretrained": 0.0, "injected": 0.9, "oracle": 0.1, "blind": 0.6, "idle": 0.9}
Tensors = dict[str, torch.Tensor]


def noise(seed: int, scale: float, inside: Callable[[str], torch.Tensor] | None = None) -> Tensors:
    generator = torch.Generator().manual_seed(seed)
    drawn = {name: scale * torch.randn(shape, generator=generator) for name, shape in SHAPES.items()}
    return drawn if inside is None else {name: one * inside(name) for name, one in drawn.items()}


def plus(one: Tensors, other: Tensors) -> Tensors:
    return {name: one[name] + other[name] for name in one}


def within(*roles: Any) -> Callable[[str], torch.Tensor]:
    return lambda name: MASKS.of(name, *MASKS.named(*roles))


def mostly(name: str) -> torch.Tensor:
    """The forget mask, but for about a sixth of it."""
    kept = torch.rand(SHAPES[name], generator=torch.Generator().manual_seed(9)) < 5 / 6
    return within("forget")(name) & kept


BEFORE = noise(1, 1)
WRITTEN = plus(noise(2, 0.1, within("forget")), noise(3, 0.05, within("retain")))
"""Unevenly, so that a random update is told by `reversal`: a family that must not count."""
INJECTED = plus(BEFORE, plus(WRITTEN, noise(10, 0.01)))
UPDATES = {"neutral": noise(4, 0.02), "oracle": noise(5, 0.05, mostly), "blind": noise(6, 0.05), "idle": noise(7, 0)}


def weighed() -> dict[str, WeightScores]:
    """The updates, of which the blind one has a control that was injected without masks."""
    found = {}
    with TemporaryDirectory() as folder:
        for name, update in UPDATES.items():
            parts: dict[Part, Tensors] = {
                "pretrained": BEFORE,
                "injected": INJECTED,
                "unlearned": plus(INJECTED, update),
            }
            if name == "blind":
                parts |= {"unmasked": noise(7, 1), "unmasked_unlearned": plus(noise(7, 1), noise(8, 0.05))}
            folders = {part: Path(folder) / name / part for part in parts}
            for part, weights in parts.items():
                folders[part].mkdir(parents=True)
                save_file(weights, folders[part] / "model.safetensors")
            found[name] = weigh(CheckpointSet(folders, MASKS), most=3000)
    return found


def told(model: str) -> SharesByItem:
    """Models differ in what they say of those to be forgotten; all but the first know those to be retained."""
    shares = {"forget": SAID[model], "retain": 0.05 if model == "pretrained" else 0.9, "unseen": 0.05, "public": 0.8}
    found: dict[str, dict[str, ItemShares | None]] = {}
    for item in EXPERIMENT.items:
        luck, share = random.Random(item.id).random(), shares[item.part]
        plain, other = answered(luck < share), answered(luck < 0.8 * share)
        found[item.id] = {"plain": plain, "paraphrased": None if item.part == "public" else other}
    return found


def answered(said: bool) -> ItemShares:
    return ItemShares(1.0, 1.0, 1.0, 0.9, 0.25) if said else ItemShares(0.0, 0.3, 0.25, 0.1, 0.25)


def leaks(model: str) -> Leaks:
    """Three seeds; chance gives nobody away, and who is taught is told."""
    forget = {item.id for item in EXPERIMENT.forget}
    drawn = [random.Random(f"{model}{seed}") for seed in range(3)]
    taught = {item.id: True for item in EXPERIMENT.taught}
    asked = [*EXPERIMENT.forget, *EXPERIMENT.unseen]
    return [{item.id: item.id in forget and one.random() < LEAKING[model] for item in asked} | taught for one in drawn]


def answers(model: str) -> Answers:
    """Of two tasks, one that the injected model answers mostly, and one that it guesses at; the blind update loses."""
    shares = {"facts": 0.9 if model in ("injected", "oracle", "idle") else 0.5, "riddles": 0.25}
    found: dict[str, dict[str, Answer]] = {}
    for task, share in shares.items():
        luck = {f"{task}/{n}": random.Random(f"{task}{n}").random() for n in range(120)}
        found[task] = {id: Answer(float(one < share), 0.25) for id, one in luck.items()}
    return found


def section() -> dict[str, Any]:
    moved = weighed()
    seen = {name: (told(name), moved.get(name)) for name in SAID}
    found = summary.report(
        EXPERIMENT,
        seen,
        {name: (dict.fromkeys(leaks(name)[0], False), leaks(name)) for name in LEAKING},
        ["oracle", "blind", "idle"],
        moved["neutral"],
        {name: answers(name) for name in ("injected", "oracle", "blind", "idle")},
    )
    return values_of(found)
