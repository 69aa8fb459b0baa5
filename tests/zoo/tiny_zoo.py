"""A zoo of the same kinds that trains in seconds; it stands in for the embedded one wherever this is imported.

Spawned training processes import the module that was run, so `python tiny_zoo.py CACHE NAME...` and all its
processes train these recipes.
"""

import sys
import time
from pathlib import Path
from typing import Any

import torch

from uds_bench.audits.bypass.zoo.recipes import ReasoningModel, Rethought
from uds_bench.audits.depth.zoo.recipes import FORGET, Base, Finetuned, Pooled, Unlearned
from uds_bench.methods.lora import LoraSettings
from uds_bench.methods.method import Method, Rmu
from uds_bench.methods.traces import Course, GradientScope
from uds_bench.zoo import cache, recipes, training
from uds_bench.zoo.recipe import Recipe, Zoo

COURSE = Course(prefilled=False, questions=1)
RETHINKING = Method("npo", steps=2, lr=1e-3, batch_size=4)

RECIPES: dict[str, Recipe] = {
    "base": Base(authors=8, width=16, layers=1, vocabulary=300, batch_size=16),
    "full": Finetuned("base", without=0, seed=1, epochs=1),
    "retain": Finetuned("base", without=FORGET, seed=1, epochs=1),
    "biography": Pooled("base", form="biography", seed=3, epochs=1, lr=1e-3),
    "identity": Unlearned("full", Method("identity", steps=0, lr=0.0)),
    "npo": Unlearned("full", Method("npo", steps=2, lr=1e-3)),
    "idk": Unlearned("full", Method("idk_nll", steps=2, lr=1e-3)),
    "alt_po": Unlearned("full", Method("alt_po", steps=2, lr=1e-3)),
    "rmu": Unlearned("full", Rmu("rmu", steps=2, lr=1e-3, layer=0, scale=1.0)),
    "divergent": Unlearned("base", Method("grad_diff", steps=9, lr=1e30)),
    "reasoning": ReasoningModel(course=COURSE, width=16, layers=1, vocabulary=300, epochs=1, batch_size=64),
    "rethought": Rethought("reasoning", RETHINKING, GradientScope("trace", ("alternate",)), COURSE),
    "rethought_lora": Rethought("reasoning", RETHINKING, course=COURSE, lora=LoraSettings(2, 4)),
    "endless": Finetuned("base", without=0, seed=1, epochs=100_000),
}


def zoos() -> dict[str, Zoo]:
    """These recipes in the place of all audits' zoos."""
    return {"tiny": Zoo(RECIPES)}


def install() -> None:
    """Let this process train the tiny recipes, on one thread as every training process does."""
    recipes.zoos = zoos
    torch.set_num_threads(1)


def start(queue: Any) -> None:
    """What sets up a training process, with the tiny recipes in it."""
    install()
    training._start(queue)


def build_together(root: Path, name: str, log: Path, barrier: Any) -> None:
    """Ask for a model at the same moment as others do, and note in `log` who trained it."""
    install()
    barrier.wait()
    begun = False

    def note(_step: int, _loss: float) -> None:
        nonlocal begun
        if not begun:
            begun = True
            with log.open("a") as file:
                file.write("trained\n")
            time.sleep(0.3)

    assert cache.ensure(root, name, note) == cache.folder(root, name)
    assert cache.is_whole(cache.folder(root, name))


def build_slowly(root: Path, name: str) -> None:
    """Stop in the middle of a build, as if training took a minute."""
    install()
    cache.ensure(root, name, lambda _step, _loss: time.sleep(60))


if __name__ in ("__main__", "__mp_main__"):
    install()
if __name__ == "__main__":
    training.paths(sys.argv[2:], Path(sys.argv[1]))
