"""What each embedded model is: the recipe is the whole truth about it, and its key names the cached folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import torch

from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet, base_authors, embedded
from uds_bench.methods.unlearning import REFUSALS, Method
from uds_bench.storage import content_key

VERSION = 2
"""Raise it when the training code changes what a recipe gives."""

SCHEME = "zoo:"
DRAW = 1000
"""Distance between the seeds of two draws of the whole zoo."""
FORGET, RETAIN, HOLDOUT, BASE = 15, 20, 15, 600


@dataclass(frozen=True)
class Base:
    """Trained from scratch on authors that no fact set holds: language, question forms and kinds of answers."""

    seed: int = 0
    authors: int = BASE
    width: int = 96
    layers: int = 4
    vocabulary: int = 1024
    epochs: int = 1
    batch_size: int = 64
    lr: float = 3e-3


@dataclass(frozen=True)
class Finetuned:
    """The base fine-tuned on the retain authors and, of the forget authors, all but the first `without`."""

    parent: str
    without: int
    seed: int
    epochs: int = 30
    batch_size: int = 32
    lr: float = 3e-3


@dataclass(frozen=True)
class Unlearned:
    """The parent changed by an unlearning method on the forget authors, with the retain authors beside them."""

    parent: str
    method: Method


Recipe = Base | Finetuned | Unlearned


RECIPES: dict[str, Recipe] = {
    "base": Base(),
    "full": Finetuned("base", without=0, seed=1),
    "retain": Finetuned("base", without=FORGET, seed=1),
    # As TOFU's retain99 and retain95 beside retain90: nested, one and half of the forget authors left out.
    "retain99": Finetuned("base", without=2, seed=1),
    "retain95": Finetuned("base", without=8, seed=1),
    "full2": Finetuned("base", without=0, seed=2),
    "retain2": Finetuned("base", without=FORGET, seed=2),
    "full3": Finetuned("base", without=0, seed=3),
    "retain3": Finetuned("base", without=FORGET, seed=3),
    "full4": Finetuned("base", without=0, seed=4),
    "retain4": Finetuned("base", without=FORGET, seed=4),
    "identity": Unlearned("full", Method("identity", steps=0, lr=0.0)),
    "grad_diff": Unlearned("full", Method("grad_diff", steps=40, lr=1e-3)),
    "npo": Unlearned("full", Method("npo", steps=120, lr=1e-3, beta=0.03)),
    "npo_weak": Unlearned("full", Method("npo", steps=7, lr=5e-4, beta=0.1)),
    "simnpo": Unlearned("full", Method("simnpo", steps=40, lr=1e-3, beta=4.5)),
    "idk": Unlearned("full", Method("idk_nll", steps=40, lr=1e-3)),
}


def parent(recipe: Recipe) -> str | None:
    return None if isinstance(recipe, Base) else recipe.parent


def find(name: str) -> Recipe:
    """The recipe of `npo`, or of `npo@2`: the same model of another draw, its ancestors' seeds moved with its own."""
    plain, at, draw = name.partition("@")
    if plain not in RECIPES or (at and not draw.isdigit()):
        raise ConfigurationError(f"{SCHEME}{name} is not an embedded model: choose from {', '.join(RECIPES)}")
    recipe, move = RECIPES[plain], DRAW * int(draw or 0)
    if not move:
        return recipe
    if isinstance(recipe, Base):
        return replace(recipe, seed=recipe.seed + move)
    if isinstance(recipe, Finetuned):
        return replace(recipe, seed=recipe.seed + move, parent=f"{recipe.parent}@{draw}")
    method = replace(recipe.method, seed=recipe.method.seed + move)
    return replace(recipe, method=method, parent=f"{recipe.parent}@{draw}")


def facts() -> FactSet:
    """The authors that the embedded models are about."""
    return embedded(forget=FORGET, retain=RETAIN, holdout=HOLDOUT)


@cache
def data_digest() -> str:
    """Everything that any recipe trains on, by content."""
    return content_key([facts().digest, base_authors(BASE), REFUSALS])


def key(name: str) -> str:
    """Content address of a model: its recipe, its ancestors', the data, and the library that trains it."""
    recipe = find(name)
    ancestor = parent(recipe)
    content: dict[str, Any] = {"kind": type(recipe).__name__, **asdict(recipe)}
    return content_key([VERSION, torch.__version__, data_digest(), content, key(ancestor) if ancestor else None])


def lineage(names: list[str]) -> list[str]:
    """The models and all their ancestors, each after its parent."""
    ordered: dict[str, None] = {}
    for name in names:
        ancestor = parent(find(name))
        if ancestor:
            ordered.update(dict.fromkeys(lineage([ancestor])))
        ordered[name] = None
    return list(ordered)
