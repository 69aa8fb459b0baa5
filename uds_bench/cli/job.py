"""A job: the scores that a command line speaks of, and the engine that has or computes them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from uds_bench.cli.options import chosen
from uds_bench.device import resolve_device

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from uds_bench.audits.depth.section import Depth
    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.facts import FactSet
    from uds_bench.facts.fact import Split
    from uds_bench.manifest.manifest import Manifest
    from uds_bench.scoring.metrics import MetricRunner
    from uds_bench.scoring.runner import Request


AUDIT = "depth"
"""Whose scores are chosen by metric, attack and variant."""


@dataclass(frozen=True)
class Scope:
    """What a command line speaks of. `job`: the scores by metric, where any are wanted; `audits`: the others."""

    manifest: Manifest
    job: Job | None
    audits: list[str]
    store: Path
    device: str


def read_scope(
    manifest: Path | None,
    metrics: str,
    attacks: str,
    variants: bool,
    checkpoints: str,
    audits: str,
    store: Path | None,
    device: str,
) -> Scope:
    """Check the whole command line before anything is loaded. Raises ConfigurationError for what cannot be used.

    Who names metrics or checkpoints, and no audit, means scores by metric alone.
    """
    from uds_bench.cli.session import spoken_of
    from uds_bench.harness.manifest import embedded_manifest, load_manifest
    from uds_bench.storage import default_cache

    found = load_manifest(manifest or embedded_manifest("quick"))
    spoken = spoken_of(found)
    by_metric = bool(metrics or checkpoints) and not audits
    # Of a manifest that says nothing to any audit, the message is the job's.
    names = [AUDIT] if by_metric or not spoken else chosen(audits, spoken, "--audits")
    place, where = store or default_cache() / "store", resolve_device(device, "--device")
    job = read_job(found, metrics, attacks, variants, checkpoints, place, where) if AUDIT in names else None
    return Scope(found, job, [name for name in names if name != AUDIT], place, where)


@dataclass(frozen=True)
class Job:
    """`requests` by checkpoint, in the order of the manifest: the references come first.

    `left_out`: of all metrics, where none was named, those that the facts cannot feed, and why.
    """

    section: Depth
    facts: FactSet
    requests: dict[str, list[Request]]
    store: Path
    device: str
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> list[str]:
        """The checkpoints to be at hand: those asked for, and the references that they are measured against."""
        from uds_bench.scoring.metrics import REFERENCES

        return list(dict.fromkeys([*REFERENCES, *self.requests]))

    def trained_specs(self, console: Console) -> dict[str, CheckpointSpec]:
        """The manifest's checkpoints, the embedded ones among the needed trained first where they are not."""
        from uds_bench.storage import default_cache
        from uds_bench.zoo.ready import resolve_zoo

        return resolve_zoo(self.section.checkpoints(), self.needed, default_cache(), console)

    def engine(self, specs: dict[str, CheckpointSpec], console: Console | None = None) -> MetricRunner:
        """The engine that pytest would use: the same scores at the same place. `console` shows how far it is."""
        from uds_bench.progress import hush
        from uds_bench.scoring.metrics import MetricRunner
        from uds_bench.scoring.store import Store
        from uds_bench.scoring.workers import Crew

        hush()
        return MetricRunner(
            specs,
            self.facts,
            Store(self.store),
            self.device,
            attacks=self.section.chosen_attacks(),
            crew=Crew(self.device, None if console is None else lambda: nullcontext(console)),
        )


def read_job(
    manifest: Manifest, metrics: str, attacks: str, variants: bool, checkpoints: str, store: Path, device: str
) -> Job:
    """The scores by metric. Raises ConfigurationError for a name that is not known, or references that are missing."""
    from uds_bench.attacks import NONE
    from uds_bench.audits.depth.audit import NAME
    from uds_bench.audits.depth.audit import read as read_facts
    from uds_bench.audits.depth.section import Depth
    from uds_bench.metrics import METRICS
    from uds_bench.scoring.runner import Request

    section = manifest.require(Depth, NAME)
    facts = read_facts(section)
    asked = chosen(metrics, METRICS, "--metrics")
    left_out = {} if metrics else {name: why for name in asked if (why := _lacking(METRICS[name].splits, facts))}
    wanted = [
        (METRICS[name], variant, attack)
        for attack in chosen(attacks, (NONE, *section.chosen_attacks()), "--attacks")
        for name in asked
        if name not in left_out
        for variant in METRICS[name].variants[: None if variants else 1]
    ]
    names = chosen(checkpoints, section.checkpoints(), "--checkpoints")
    requests = {
        name: [Request(name, metric.name, variant, attack) for metric, variant, attack in wanted]
        for name in section.checkpoints()
        if name in names
    }
    return Job(section, facts, requests, store, device, left_out)


def _lacking(splits: Iterable[Split], facts: FactSet) -> str:
    """Which of the splits the facts do not have, in words; nothing where they have all."""
    missing = [split for split in splits if not facts.split(split)]
    return f"the facts have no split {', '.join(missing)}" if missing else ""
