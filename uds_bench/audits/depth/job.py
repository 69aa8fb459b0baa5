"""The scores that a command line chooses by metric, attack, variant and checkpoint."""

from __future__ import annotations

from collections.abc import Iterable

from uds_bench.attacks import NONE
from uds_bench.audits.depth.audit import NAME, read
from uds_bench.audits.depth.section import PROMPTS, Attacks, Depth
from uds_bench.audits.score_job import Job
from uds_bench.console.options import chosen
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet, Split
from uds_bench.manifest.manifest import Manifest
from uds_bench.metrics import METRICS
from uds_bench.metrics.metric import Metric
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.storage import StorePlace


def read_job(
    manifest: Manifest, metrics: str, attacks: str, variants: bool, checkpoints: str, store: StorePlace, device: str
) -> Job:
    """The job that a command line asks for. Raises ConfigurationError for an unknown name, or missing references."""
    section = manifest.require(Depth, NAME)
    facts = read(section)
    asked = chosen(metrics, METRICS, "--metrics")
    left_out = {} if metrics else {name: why for name in asked if (why := _lacking(METRICS[name].splits, facts))}
    known, specs = section.chosen_attacks(facts), section.checkpoints()
    for name in map(str.strip, attacks.split(",")):
        if name in Attacks.model_fields and name not in known:
            raise ConfigurationError(f"--attacks: {name} is not in the manifest: add {name} = {{}} under [attacks]")
    wanted = [
        (METRICS[name], variant, attack)
        for attack in chosen(attacks, (NONE, *known), "--attacks")
        for name in asked
        if name not in left_out
        for variant in _forms(METRICS[name], attack in PROMPTS, variants, bool(metrics))
    ]
    names = chosen(checkpoints, specs, "--checkpoints")
    requests = {
        name: [ScoreRequest(name, metric.name, variant, attack) for metric, variant, attack in wanted]
        for name in specs
        if name in names
    }
    return Job(specs, known, facts, requests, store, device, left_out)


def _forms(metric: Metric, is_prompt: bool, every: bool, named: bool) -> Iterable[str]:
    """The variants to score. If an attack asks facts otherwise, they are those that can read it. If a metric has no
    such variant and was named, its own is kept, and refused later."""
    if is_prompt and (metric.askable or not named):
        return [variant for variant in metric.variants if variant in metric.askable]
    return metric.variants[: None if every else 1]


def _lacking(splits: Iterable[Split], facts: FactSet) -> str:
    """Which of the splits the facts do not have, in words; nothing where they have all."""
    missing = [split for split in splits if not facts.split(split)]
    return f"the facts have no split {', '.join(missing)}" if missing else ""
