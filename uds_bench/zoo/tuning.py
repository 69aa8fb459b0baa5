"""How the settings of `zoo.located` were chosen: on people of every group who are neither forgotten nor retained there.

Rule: of the settings that keep `KEPT` of what is to be retained and of what the public knows, the one that leaves least
of what is to be forgotten; of equals the first of the grid, which goes from the gentle to the strong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.checkpoints.masks import read_masks
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.forward import answer_logits
from uds_bench.methods.method import MethodName
from uds_bench.methods.oracle import within
from uds_bench.methods.unlearning import unlearn
from uds_bench.zoo import located, testbed_data
from uds_bench.zoo.injected import MASKS

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
        "grad_diff", {"lr": (1e-4, 3e-4, 1e-3), "steps": (5, 10, 20, 40)}, {"gamma": 1.0, "alpha": 1.0}, within=True
    ),
    "simnpo": Grid(
        "simnpo",
        {"lr": (1e-4, 3e-4, 1e-3), "steps": (20, 40, 80)},
        {"beta": 10.0, "delta": 1.5, "gamma": 3.0, "alpha": 0.5},
    ),
    "memflex": Grid(
        "memflex",
        # At 1e-2 another draw of the zoo has no matrix.
        {"gradient_threshold": (3e-3, 1e-3), "lr": (1e-4, 3e-4, 1e-3), "steps": (20, 40, 80)},
        {"gamma": 0.6, "alpha": 2.0, "similarity_threshold": 0.92},
    ),
    # The published l2, 1, outweighs keys as short as those of a model of this size; no direction is free below 0.03.
    "alphaedit": Grid(
        "alphaedit",
        {"l2": (1e-2, 1e-3), "lr": (5e-2, 0.5), "null_space": (0.1, 1.0)},
        {
            **{"first_layer": 0, "last_layer": 1, "loss_layer": 3, "v_steps": 20, "batch_size": 24, "steps": 3},
            **{"weight_decay": 0.5, "kl": 0.0625, "clamp": 0.5},
        },
    ),
}


@dataclass(frozen=True)
class Tried:
    """What settings left: shares of whole answers that are right, 0 to 1."""

    settings: Settings
    forget: float
    retain: float
    public: float


def tune(name: str, injected: Path) -> tuple[Tried, list[Tried]]:
    """The injected model as it lies in a folder, and every setting of a grid, on the people of part `tuning` alone."""
    grid, tokenizer = GRIDS[name], AutoTokenizer.from_pretrained(injected)
    masks = read_masks(injected / MASKS) if grid.within else None
    data = testbed_data.removal(tokenizer, tuning=True)
    public = testbed_data.answers(tokenizer, testbed_data.testbed().of("public"), 2)
    found = []
    for settings in [None, *grid.settings()]:
        model = AutoModelForCausalLM.from_pretrained(injected, dtype=torch.float32)
        if settings is not None:
            with nullcontext() if masks is None else within(model, masks, *masks.named("forget")):
                unlearn(model, data, located.removed(grid.method, forget=len(data.forget), **settings).method)
        found.append(Tried(settings or {}, *(exact(model, rows) for rows in (data.forget, data.retain, public))))
    return found[0], found[1:]


def choose(tried: Sequence[Tried], before: Tried) -> Tried:
    """By the rule above; `before`: what the injected model says. Raises ValueError where no setting keeps enough."""
    enough = [one for one in tried if one.retain >= KEPT * before.retain and one.public >= KEPT * before.public]
    if not enough:
        raise ValueError(f"no setting keeps {KEPT:.0%} of what was known: try gentler ones")
    return min(enough, key=lambda one: one.forget)


@torch.no_grad()
def exact(model: Any, examples: Sequence[Example], size: int = 64) -> float:
    """Share of answers of which every token is the likeliest one, the closing one too."""
    right = 0
    for start in range(0, len(examples), size):
        logits, targets = answer_logits(model.eval(), pad(examples[start : start + size]))
        right += int(((logits.argmax(-1) == targets) | (targets < 0)).all(-1).sum())
    return right / len(examples)
