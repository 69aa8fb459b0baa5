"""Where a user's metric is tried: the models of a manifest, of the embedded zoo by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uds_bench.harness.manifest import Manifest
from uds_bench.harness.specs import resolve_zoo
from uds_bench.meta.embedded import KEPT
from uds_bench.meta.evaluation import Models
from uds_bench.meta.trial import Trial, opener
from uds_bench.storage import default_cache
from uds_bench.zoo.names import EMBEDDED

if TYPE_CHECKING:
    from rich.console import Console


def manifest_trial(manifest: Manifest, device: str = "cpu", console: Console | None = None) -> Trial:
    """References, pools, candidates and attacks of a manifest as a trial; embedded models are trained if need be."""
    from uds_bench.facts import load_facts

    facts, _ = manifest.require_depth()
    named = manifest.checkpoints()
    pools = manifest.pools
    models = Models("full", "retain", tuple(pools.positive), tuple(pools.negative), tuple(manifest.unlearned))
    used = [name for name, _ in models.needed(robust=False)]
    specs = resolve_zoo({name: named[name] for name in used}, used, default_cache(), console)
    attacks, loaded = manifest.chosen_attacks(), load_facts(facts.source, **facts.options)
    keep = KEPT if all(named[name].model.startswith(EMBEDDED) for name in used) else 1
    return Trial(models, loaded, opener(specs, loaded, attacks, device), attacks, keep=keep)
