"""A run without pytest: what a manifest's audits would score, for `plan` and `score`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uds_bench.audits import registry
from uds_bench.checkpoints.spec import SCHEME, plain
from uds_bench.console.options import chosen
from uds_bench.device import resolve_device
from uds_bench.storage import StorePlace, default_cache, scores_place
from uds_bench.zoo.ready import require_folders, resolve_zoo

if TYPE_CHECKING:
    from rich.console import Console

    from uds_bench.audits.score_job import Job
    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.manifest.manifest import Manifest
    from uds_bench.manifest.section import Section
    from uds_bench.scoring.engine import Engine
    from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
    from uds_bench.scoring.store import Store
    from uds_bench.scoring.workers import WorkerPool


class CommandSession:
    """The `Session` of all that a manifest says: every model that it judges is a subject.

    `console` shows how far it is; without one nothing is computed, so that embedded models are not trained. `marks`: of
    the tests whose scores it speaks of.
    """

    def __init__(
        self,
        manifest: Manifest,
        store: StorePlace,
        device: str,
        console: Console | None = None,
        engine: Engine | None = None,
        marks: Sequence[Any] = (),
    ) -> None:
        self._marks = marks
        self.manifest, self.device, self._place, self._console = manifest, device, store, console
        self._engine = engine
        self._data: dict[str, Any] = {}
        self._opened: dict[str, Any] = {}

    @cached_property
    def crew(self) -> WorkerPool:
        """The processes that score."""
        from uds_bench.scoring.workers import WorkerPool

        console = self._console
        return WorkerPool(self.device, None if console is None else lambda: nullcontext(console), self._engine)

    def _section(self, audit: str) -> Section | None:
        kind = registry.audits()[audit].section()
        return None if kind is None else self.manifest.of(kind)

    def subjects(self, audit: str) -> list[str]:
        """All judged models of an audit."""
        section = self._section(audit)
        return [] if section is None else section.judged()

    def marks(self, name: str) -> list[Any]:
        """See `Session`: of the tests that were collected, where they were."""
        return [mark for mark in self._marks if mark.name == name]

    def data(self, audit: str) -> Any:
        """What an audit has read of its section, once."""
        if audit not in self._data:
            kind = registry.audits()[audit].section()
            assert kind is not None
            self._data[audit] = registry.audits()[audit].read(self.manifest.require(kind, audit))
        return self._data[audit]

    def audit(self, name: str) -> Any:
        """An audit, opened once."""
        if name not in self._opened:
            self._opened[name] = registry.audits()[name].open(self)
        return self._opened[name]

    def ready(self, specs: Mapping[str, CheckpointSpec], names: Iterable[str]) -> dict[str, CheckpointSpec]:
        """See `Session`. Without a console an embedded model that is not trained yet stays as it is named."""
        if self._console is not None:
            return resolve_zoo(specs, names, default_cache(), self._console)
        names = list(names)
        trained = {name: spec for name in names if (spec := _trained(specs[name])) is not None}
        return resolve_zoo(specs, [n for n in names if not is_unbuilt(specs[n])], default_cache()) | trained

    def store(self, specs: Mapping[str, CheckpointSpec]) -> Store:
        """Where scores are kept, refused where checkpoints lie in it."""
        from uds_bench.scoring.store import Store

        return Store(self._place if self._console is None else require_folders(self._place, specs, "--store"))

    def planned(self, audit: str) -> list[tuple[ScoreRunner, list[ScoreRequest]]]:
        """An audit's runners with what most of its claims ask of them. Raises UdsError where it cannot be opened."""
        return [(runner, list(requests)) for runner, requests in self.audit(audit).planned() if requests]

    def refused(self, audit: str, names: Iterable[str]) -> dict[str, str]:
        """Those among an audit's checkpoints that cannot be used, and why: as a run finds before it loads any."""
        from uds_bench.audits.preflight import preflight

        section = self._section(audit)
        if section is None:
            return {}
        made = [name for model in section.judged() for name in section.members(model)]
        return preflight(section.checkpoints(), names, made, section.parent(), section, self.device)

    def specs(self, audit: str) -> dict[str, CheckpointSpec]:
        """The checkpoints that an audit needs, embedded ones by their folder where they are there."""
        section = self._section(audit)
        if section is None:
            return {}
        found = self.ready(section.checkpoints(), names := section.needed(section.judged()))
        return {name: found[name] for name in names}


@dataclass(frozen=True)
class CommandScope:
    """What a command line speaks of. `job`: the scores by metric, where any are wanted, of the audit `by_metric`;
    `audits`: the others."""

    manifest: Manifest
    by_metric: str
    job: Job | None
    audits: list[str]
    store: StorePlace
    device: str


def read_scope(
    manifest: Path | None,
    metrics: str,
    attacks: str,
    variants: bool,
    checkpoints: str,
    audits: str,
    store: str | None,
    device: str,
    here: bool = True,
    gate: bool = False,
) -> CommandScope:
    """Check the whole command line before anything is loaded. Raises ConfigurationError for what cannot be used.

    `here`: models run on this machine. `gate`: what claims read, and no score by metric beside. Who names metrics or
    checkpoints, and no audit, means scores by metric alone.
    """
    from uds_bench.audits.manifests import manifest_of

    found = manifest_of(manifest, "quick")
    spoken = spoken_of(found)
    by_metric = registry.by_metric().name
    # Of a manifest that says nothing to any audit, the message is the job's.
    alone = not spoken or (bool(metrics or checkpoints) and not audits)
    names = [by_metric] if alone else chosen(audits, spoken, "--audits")
    place, where = scores_place(store), resolve_device(device, "--device", here)
    job = None
    if by_metric in names and not gate:
        read_job = registry.audits()[by_metric].module("job").read_job
        job = read_job(found, metrics, attacks, variants, checkpoints, place, where)
    return CommandScope(found, by_metric, job, [name for name in names if gate or name != by_metric], place, where)


def spoken_of(manifest: Manifest) -> list[str]:
    """The audits that a manifest says something to, each section once."""
    found: dict[Any, str] = {}
    for name, audit in registry.audits().items():
        kind = audit.section()
        if kind is not None and not manifest.of(kind).asks_nothing:
            found.setdefault(kind, name)
    return list(found.values())


def is_unbuilt(spec: CheckpointSpec) -> bool:
    """Whether it is an embedded model that would have to be trained."""
    return spec.model.startswith(SCHEME)


def _trained(spec: CheckpointSpec) -> CheckpointSpec | None:
    if not is_unbuilt(spec):
        return None

    from uds_bench.zoo import cache  # takes seconds to import

    folder = cache.folder(default_cache(), plain(spec.model))
    return replace(spec, model=str(folder)) if cache.is_whole(folder) else None
