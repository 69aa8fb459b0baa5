"""The embedded models by name: a recipe is the whole truth about its model, and its key names the cached folder."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from typing import Any

import torch

from uds_bench.checkpoints.embedded import SCHEME
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet, base_authors, embedded
from uds_bench.facts.forms import DataForm, Lesson, lessons
from uds_bench.methods.unlearning import REFUSALS
from uds_bench.storage import content_key
from uds_bench.zoo import (
    ablated,
    candidates,
    exposed,
    exposure_data,
    located,
    lookup_data,
    pools,
    reasoners,
    reasoning_data,
    sweep,
    testbed_data,
)
from uds_bench.zoo.recipe import (
    BASE,
    FORGET,
    HOLDOUT,
    RETAIN,
    Base,
    Continued,
    Exposed,
    Finetuned,
    Fresh,
    Injected,
    Lmlm,
    Pooled,
    Pretrained,
    Reasoner,
    Recipe,
    Requested,
    Rethought,
    Written,
    parent,
)

VERSION = 2
"""Raise it when the training code changes what a recipe gives."""

DRAW = 1000
"""Distance between the seeds of two draws of the whole zoo."""

RECIPES: dict[str, Recipe] = {
    "base": Base(),
    "full": Finetuned("base", without=0, seed=1),
    "retain": Finetuned("base", without=FORGET, seed=1),
    # As TOFU's retain99 and retain95 beside retain90: nested, one and half of the forget authors left out.
    "retain99": Finetuned("base", without=2, seed=1),
    "retain95": Finetuned("base", without=8, seed=1),
    "full2": Finetuned("base", without=0, seed=2),
    "retain2": Finetuned("base", without=FORGET, seed=2),
    **candidates.MODELS,
    **{name: pools.MODELS[name] for name in pools.QUICK},
}
"""The embedded models of the zoo profile."""

REASONERS: dict[str, Recipe] = {**reasoners.MODELS}
"""The reasoning models of both profiles."""

LMLMS: dict[str, Recipe] = {"lmlm": Lmlm(), "lmlm_leaky": Lmlm(masked=False)}
"""The models that look facts up, of both profiles: alike but for whether the value is learned."""

LOCATED: dict[str, Recipe] = {**located.MODELS}
"""The models of the localization audit, of both profiles."""

EXPOSED: dict[str, Recipe] = {**exposed.MODELS}
"""The models of the association audit, of both profiles."""

FURTHER: dict[str, Recipe] = {**pools.MODELS, **sweep.MODELS, **ablated.MODELS, **located.TRIED, **located.CLEAR}
"""Those that the full profile and the table of ablations add, and that settings are tried on; `find` knows them all."""


def find(name: str) -> Recipe:
    """The recipe of `npo`, or of `npo@2`: the same model of another draw, its ancestors' seeds moved with its own."""
    plain, at, draw = name.partition("@")
    known = FURTHER | listed() | RECIPES
    if plain not in known or (at and not draw.isdigit()):
        more = f", or from the {len(FURTHER)} of full.toml, ablated.py and located.py (uds_bench/zoo)"
        raise ConfigurationError(f"{SCHEME}{name} is not an embedded model: choose from {', '.join(listed())}{more}")
    recipe, move = known[plain], DRAW * int(draw or 0)
    if not move:
        return recipe
    if isinstance(recipe, Fresh):
        return replace(recipe, seed=recipe.seed + move)
    if isinstance(recipe, Finetuned | Pooled | Injected | Continued):
        return replace(recipe, seed=recipe.seed + move, parent=f"{recipe.parent}@{draw}")
    method = replace(recipe.method, seed=recipe.method.seed + move)
    return replace(recipe, method=method, parent=f"{recipe.parent}@{draw}")


def listed() -> dict[str, Recipe]:
    """Every embedded model of the zoo profile."""
    return RECIPES | REASONERS | LMLMS | LOCATED | EXPOSED


def ancestor(name: str) -> str | None:
    """The model that a model is trained from; None for a base."""
    return parent(find(name))


@cache
def facts() -> FactSet:
    """The authors that the embedded models are about."""
    return embedded(forget=FORGET, retain=RETAIN, holdout=HOLDOUT)


@cache
def data_digest() -> str:
    """What every recipe but those of the pools trains on, by content."""
    return content_key([facts().digest, base_authors(BASE), REFUSALS])


def taught(form: DataForm) -> list[Lesson]:
    """What the models of a form of the pools are trained on: the retain authors come after what the form teaches."""
    authors = facts()
    return [*lessons(authors.split("forget"), form), *lessons(authors.split("retain"), "plain")]


@cache
def _taught_digest(form: DataForm) -> str:
    """As `data_digest`, for the models of a form of the pools."""
    return content_key([asdict(lesson) for lesson in taught(form)])


def key(name: str) -> str:
    """Content address of a model: its recipe, its ancestors', the data, and the library that trains it."""
    recipe, above = find(name), ancestor(name)
    content: dict[str, Any] = {"kind": type(recipe).__name__, **asdict(recipe)}
    if isinstance(recipe, Reasoner | Rethought):
        data = reasoning_data.digest()
    elif isinstance(recipe, Lmlm):
        data = lookup_data.digest()
    elif isinstance(recipe, Pretrained | Written):
        data = testbed_data.digest(recipe.crowd if isinstance(recipe, Pretrained | Injected) else 0)
    elif isinstance(recipe, Exposed | Requested):
        data = exposure_data.digest()
    else:
        data = _taught_digest(recipe.form) if isinstance(recipe, Pooled) else data_digest()
    return content_key([VERSION, torch.__version__, data, content, key(above) if above else None])


def lineage(names: list[str]) -> list[str]:
    """The models and all their ancestors, each after its parent."""
    ordered: dict[str, None] = {}
    for name in names:
        above = ancestor(name)
        if above:
            ordered.update(dict.fromkeys(lineage([above])))
        ordered[name] = None
    return list(ordered)
