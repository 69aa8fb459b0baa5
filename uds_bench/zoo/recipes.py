"""The embedded models by name: those of every installed audit. A recipe's key names the cached folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import torch

from uds_bench.checkpoints.spec import SCHEME
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.storage import content_key
from uds_bench.zoo.recipe import Recipe, Zoo

VERSION = 2
"""Raise it when the training code changes what a recipe gives."""


@cache
def zoos() -> dict[str, Zoo]:
    """The zoo of each audit that has one, by the audit's name.

    Raises ConfigurationError for a name that two of them give.
    """
    # Audits stand above the zoo, which therefore asks the entry points and not their registry.
    loaded = {point.name: point.load().zoo() for point in sorted(entry_points(group="uds_bench.audits"))}
    found: dict[str, Zoo] = {name: zoo for name, zoo in loaded.items() if zoo is not None}
    names = [name for zoo in found.values() for name in (*zoo.models, *zoo.further)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConfigurationError(f"two audits have a model {SCHEME}{min(twice)}: rename one in the zoo of either")
    return found


def listed() -> dict[str, Recipe]:
    """Every embedded model of the zoo profile."""
    return {name: recipe for zoo in zoos().values() for name, recipe in zoo.models.items()}


def further() -> dict[str, Recipe]:
    """Those that the full profile, tables and searches for settings add."""
    return {name: recipe for zoo in zoos().values() for name, recipe in zoo.further.items()}


def shipped() -> dict[str, str]:
    """By the name of a model that ships, what it is a specimen of."""
    return {name: role for zoo in zoos().values() for name, role in zoo.shipped.items()}


def owner(name: str) -> str:
    """The audit that a model is of."""
    return next(audit for audit, zoo in zoos().items() if name in zoo.models or name in zoo.further)


def find(name: str) -> Recipe:
    """The recipe of `npo`, or of `npo@2`: the same model of another draw, its ancestors' seeds moved with its own."""
    plain, at, draw = name.partition("@")
    known = listed() | further()
    if plain not in known or (at and not draw.isdigit()):
        near = did_you_mean(plain, known, "check the name:")
        raise ConfigurationError(f"{SCHEME}{name} is not an embedded model: {near} `uds-bench zoo list` shows them all")
    return known[plain].redrawn(int(draw)) if int(draw or 0) else known[plain]


def ancestor(name: str) -> str | None:
    """The model that a model is trained from; None for a base."""
    return find(name).ancestor


def weights(name: str) -> int:
    """How many weights a model has: those of the ancestor that is trained from scratch.

    Args:
        name: Of a recipe.

    Returns:
        1 or more.

    Example:
        >>> weights("npo") == weights("full") > 100_000
        True
    """
    return max(find(one).weights for one in lineage([name]))


def key(name: str) -> str:
    """Content address of a model: its recipe, its ancestors', the data, and the library that trains it."""
    recipe, above = find(name), ancestor(name)
    return content_key([VERSION, torch.__version__, recipe.data(), content(recipe), key(above) if above else None])


def content(recipe: Recipe) -> dict[str, Any]:
    """A recipe's kind and fields."""
    fields: dict[str, Any] = asdict(recipe)  # type: ignore[call-overload]  # every recipe is a dataclass
    return {"kind": type(recipe).__name__, **fields}


def lineage(names: Iterable[str]) -> list[str]:
    """The models and all their ancestors, each after its parent."""
    ordered: dict[str, None] = {}
    for name in names:
        above = ancestor(name)
        if above:
            ordered.update(dict.fromkeys(lineage([above])))
        ordered[name] = None
    return list(ordered)
