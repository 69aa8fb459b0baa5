"""The embedded zoo as a trial: where a metric is tried when its user names no models."""

from __future__ import annotations

import tomllib
from importlib import resources

from uds_bench.attacks import find_attack
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.meta.evaluation import Models
from uds_bench.meta.trial import Trial, opener
from uds_bench.storage import default_cache

KEPT = 64
"""Subjects kept in memory: embedded models take some MB each."""


def zoo_trial(device: str = "cpu") -> Trial:
    """The references, pools, candidates and attacks of the quick profile; what is not trained yet is trained first."""
    from uds_bench.zoo import recipes, runner  # the library that trains takes seconds to import

    document = tomllib.loads((resources.files("uds_bench.zoo") / "quick.toml").read_text())
    pools, candidates = document["pools"], tuple(document["candidates"])
    models = Models("full", "retain", tuple(pools["positive"]), tuple(pools["negative"]), candidates)
    named = {name: document["references"][name] for name in ("full", "retain")}
    named |= {**pools["positive"], **pools["negative"], **document["candidates"]}
    recipe_of = {name: model.removeprefix(recipes.SCHEME) for name, model in named.items()}
    folders = runner.paths(recipe_of.values(), default_cache())
    specs = {name: CheckpointSpec(str(folders[recipe])) for name, recipe in recipe_of.items()}
    attacks = {name: find_attack(name, **settings) for name, settings in document["attacks"].items()}
    facts = recipes.facts()
    return Trial(models, facts, opener(specs, facts, attacks, device), attacks, keep=KEPT)
