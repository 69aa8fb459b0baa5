"""How the settings of `models` were chosen: on models made alike about other people, as many.

Rule: of the settings that keep `KEPT` of what is to be retained and of what the public knows, the one that leaves least
of what is to be forgotten; of equals the first of the grid, which goes from the short and gentle to the long and
strong. As many people, since settings do not carry over from few: an epoch over more people is more steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.audits.localization.zoo import data as testbed_data
from uds_bench.audits.localization.zoo import models as located
from uds_bench.audits.localization.zoo.recipes import inside
from uds_bench.methods.data import Data
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.forward import answer_logits
from uds_bench.methods.method import MethodName
from uds_bench.methods.registry import unlearn

KEPT = 0.9
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """A method and the values that were tried of some of its settings, the others fixed."""

    method: MethodName
    tried: Mapping[str, Sequence[Any]]
    fixed: Settings
    within: bool = False

    def settings(self) -> list[dict[str, Any]]:
        """From the gentle to the strong, as the values are listed."""
        return [{**self.fixed, **dict(zip(self.tried, row, strict=True))} for row in product(*self.tried.values())]


GRIDS: dict[str, Grid] = {
    "oracle_grad": Grid(
        # Ascent is sudden: an epoch more or less is most of the way.
        "grad_diff",
        {"epochs": (3, 4, 5), "alpha": (9.0, 3.0)},
        {"lr": 1e-4, "gamma": 1.0},
        within=True,
    ),
    "simnpo": Grid(
        "simnpo",
        # At the published alpha, 0.5, every setting that forgets costs the public a seventh and more.
        {"epochs": (1, 2, 4), "lr": (1e-4, 3e-4), "alpha": (5.0, 0.5)},
        {"beta": 10.0, "delta": 1.5, "gamma": 3.0},
    ),
    "memflex": Grid(
        "memflex",
        {"epochs": (1, 2, 4), "lr": (1e-4, 3e-4, 1e-3)},
        # Every draw that goldens were recorded of has matrices above it.
        {"gradient_threshold": 1e-3, "gamma": 0.6, "alpha": 2.0, "similarity_threshold": 0.92},
    ),
    # The published l2, 1, outweighs keys as short as those of a model of this size; at 0.1 no direction is free.
    "alphaedit": Grid(
        "alphaedit",
        {"l2": (1e-1, 1e-2), "lr": (5e-2, 0.2), "null_space": (0.5, 1.0)},
        {
            **{"first_layer": 0, "last_layer": 4, "loss_layer": 6, "v_steps": 20, "batch_size": 24, "epochs": 1},
            **{"weight_decay": 0.5, "kl": 0.0625, "clamp": 0.5},
        },
    ),
}


@dataclass(frozen=True)
class TunedShares:
    """What settings left: shares of whole answers that are right, 0 to 1."""

    settings: Settings
    forget: float
    retain: float
    public: float


def tune(name: str, injected: Path) -> tuple[TunedShares, list[TunedShares]]:
    """The injected model of the other crowd as it lies in a folder, and every setting of a grid on that crowd."""
    grid, tokenizer = GRIDS[name], AutoTokenizer.from_pretrained(injected)
    data = testbed_data.removal(tokenizer, testbed_data.OTHERS)
    public = testbed_data.answers(tokenizer, testbed_data.testbed(testbed_data.OTHERS).of("public"), 2)

    def tried(model: Any, settings: Settings) -> TunedShares:
        return TunedShares(settings, *(exact(model, rows) for rows in (data.forget, data.retain, public)))

    rows = [tried(unlearned(name, settings, injected, data), settings) for settings in grid.settings()]
    return tried(_loaded(injected), {}), rows


def unlearned(name: str, settings: Settings, injected: Path, data: Data) -> Any:
    """The injected model after the method of a grid, with settings of one's own."""
    grid, model = GRIDS[name], _loaded(injected)
    with inside(model, injected, grid.within):
        unlearn(model, data, located.removed(grid.method, forget=len(data.forget), **settings).method)
    return model


def _loaded(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def choose(tried: Sequence[TunedShares], before: TunedShares) -> TunedShares | None:
    """By the rule above, None where no setting keeps enough; `before`: what the injected model says."""
    enough = [one for one in tried if one.retain >= KEPT * before.retain and one.public >= KEPT * before.public]
    return min(enough, key=lambda one: one.forget, default=None)


@torch.no_grad()
def exact(model: Any, examples: Sequence[Example]) -> float:
    """Share of answers of which every token is the likeliest one, the closing one too.

    Args:
        model: A causal language model.
        examples: Questions with their answers, as tokens.

    Returns:
        0 to 1, higher is more knowledge.
    """
    right = 0
    for start in range(0, len(examples), 64):
        logits, targets = answer_logits(model.eval(), pad(examples[start : start + 64]))
        right += int(((logits.argmax(-1) == targets) | (targets < 0)).all(-1).sum())
    return right / len(examples)
