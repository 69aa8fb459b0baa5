"""The shipped models as a check context: where a metric is tried when its user names no models."""

from __future__ import annotations

import tomllib
from importlib import resources

from uds_bench.attacks import find_attack
from uds_bench.audits.metrics.check_context import CheckContext, opener
from uds_bench.audits.metrics.evaluation import Models
from uds_bench.checkpoints import CheckpointSpec

FILES = ("quick", "zoo")
KEPT = 64
"""Subjects kept in memory: embedded models take some MB each."""


def zoo_context(device: str = "cpu") -> CheckContext:
    """The shipped references, pools and candidates, under the attacks of the zoo."""
    from uds_bench.audits.depth.zoo import recipes  # recipes import what trains, which takes seconds
    from uds_bench.zoo import specimens

    shipped, zoo = (tomllib.loads((resources.files("uds_bench.zoo") / f"{name}.toml").read_text()) for name in FILES)
    pools, candidates = shipped["pools"], tuple(shipped["candidates"])
    models = Models("full", "retain", tuple(pools["positive"]), tuple(pools["negative"]), candidates)
    named = {name: shipped["references"][name] for name in ("full", "retain")}
    named |= {**pools["positive"], **pools["negative"], **shipped["candidates"]}
    specs = {name: CheckpointSpec(str(specimens.folder(model)), dtype="float32") for name, model in named.items()}
    attacks = {name: find_attack(name, **settings) for name, settings in zoo["attacks"].items()}
    facts = recipes.facts()
    return CheckContext(models, facts, opener(specs, facts, attacks, device), attacks, keep=KEPT)
