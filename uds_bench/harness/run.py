"""One pytest run: its manifest, engine and rules, built when first needed, and the claims recorded so far."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uds_bench.device import resolve_device
from uds_bench.harness.options import RECORDED, Settings
from uds_bench.harness.subjects import SECTIONS, SUBJECTS, audited
from uds_bench.zoo.names import EMBEDDED

if TYPE_CHECKING:
    import pytest
    from rich.console import Console

    from uds_bench.audits.association.inquiry import Inquiry
    from uds_bench.audits.lmlm.cell import Cell
    from uds_bench.audits.localization.experiment import Experiment
    from uds_bench.checkpoints import Checkpoint, CheckpointSpec
    from uds_bench.facts import FactSet
    from uds_bench.facts.canaries import CanarySet
    from uds_bench.harness.association import AssociationAudit
    from uds_bench.harness.bypass import BypassAudit
    from uds_bench.harness.engine import Engine, Request
    from uds_bench.harness.judging import MetaEvaluation
    from uds_bench.harness.lmlm import LmlmAudit
    from uds_bench.harness.localization import LocalizationAudit
    from uds_bench.harness.manifest import Manifest
    from uds_bench.harness.rules import Rules
    from uds_bench.harness.store import Store
    from uds_bench.harness.subjects import Audited
    from uds_bench.harness.workers import Crew, Work
    from uds_bench.scores import Score, Scores

READ = {"reasoner": "canaries", "asker": "cells", "unlearner": "experiment", "eraser": "inquiry"}
"""By fixture of an audit, what it reads of its section before any model is loaded."""
EVIDENCE_ZOO, EVIDENCE_USER = "small models trained here", "checkpoints named by the manifest"


def embedded_manifest(profile: str) -> Path:
    """The manifest of the embedded zoo."""
    return Path(str(resources.files("uds_bench.zoo") / f"{profile}.toml"))


@dataclass(frozen=True)
class Handle:
    """A checkpoint of the manifest by name. `checkpoint`, `model` and `tokenizer` load it when they are asked for."""

    name: str
    run: Run

    @property
    def spec(self) -> CheckpointSpec:
        return self.run.engine.specs[self.name]

    @property
    def checkpoint(self) -> Checkpoint:
        return self.run.engine.loaded(self.name)

    @property
    def model(self) -> Any:
        return self.checkpoint.model

    @property
    def tokenizer(self) -> Any:
        return self.checkpoint.tokenizer

    def __str__(self) -> str:
        return self.name


class Run:
    """State of one process's share of a run. `subjects`: by fixture, the models that the selected tests speak of."""

    def __init__(self, settings: Settings, config: pytest.Config) -> None:
        self.settings = settings
        self.config = config
        self.plan: list[Request] = []
        self.subjects: dict[str, list[str]] = {fixture: [] for fixture in SUBJECTS}
        self.asked: dict[Request, Score] = {}
        self._ahead: dict[str, CheckpointSpec] = {}

    @property
    def is_embedded(self) -> bool:
        return self.settings.manifest is None

    @property
    def is_gate(self) -> bool:
        """Whether the shipped models are judged: claims of the laboratory then stay out."""
        return self.is_embedded and self.settings.profile == RECORDED

    @cached_property
    def device(self) -> str:
        """Where models run: `cpu` or `cuda`."""
        return resolve_device(self.settings.device)

    @cached_property
    def crew(self) -> Crew:
        """The processes that score."""
        from uds_bench.harness.workers import Crew

        return Crew(self.device, self.uncaptured)

    @property
    def speaks_of_zoo(self) -> bool:
        """Whether every checkpoint is an embedded model."""
        return all(spec.model.startswith(EMBEDDED) for spec in self.manifest.every_checkpoint().values())

    @cached_property
    def manifest(self) -> Manifest:
        from uds_bench.harness.manifest import load_manifest

        return load_manifest(self.settings.manifest or embedded_manifest(self.settings.profile))

    @cached_property
    def facts(self) -> FactSet:
        """Every fact of the manifest, all splits."""
        from uds_bench.facts import load_facts

        facts, _ = self.manifest.require_depth()
        return load_facts(facts.source, **facts.options)

    @cached_property
    def engine(self) -> Engine:
        from uds_bench.harness.engine import Engine
        from uds_bench.harness.specs import require_folders
        from uds_bench.harness.store import Store

        self.manifest.require_depth()
        specs = self.manifest.checkpoints()
        store = require_folders(self.settings.store, specs, "--uds-store")
        specs = self._trained(specs, self._planned() if self.plan else specs)
        attacks = self.manifest.chosen_attacks()
        return Engine(specs, self.facts, Store(store), self.device, attacks=attacks, crew=self.crew)

    @cached_property
    def meta(self) -> MetaEvaluation:
        """Every metric judged on the manifest's models."""
        from uds_bench.harness.judging import judge

        return judge(self.manifest, self.facts, self.score)

    @cached_property
    def canaries(self) -> CanarySet:
        """The canaries of the manifest's [bypass]."""
        from uds_bench.harness.bypass import canaries_of

        return canaries_of(self.manifest.require_bypass())

    @cached_property
    def bypass(self) -> BypassAudit:
        """The bypass audit of the manifest's [bypass]; ConfigurationError where it has none."""
        from uds_bench.harness.bypass import audit_of

        section = self.manifest.require_bypass()
        judged = self.subjects["reasoner"]
        names = section.needed(judged) if judged else list(section.checkpoints())
        specs, store = self._examined(section, names)
        return audit_of(section, self.canaries, specs, names, store, self.device, self.crew)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The databases of the manifest's [lmlm] with their prompts."""
        from uds_bench.harness.databases import cells_of

        return cells_of(self.manifest.require_lmlm())

    @cached_property
    def lmlm(self) -> LmlmAudit:
        """The LMLM audit of the manifest's [lmlm]; ConfigurationError where it has none."""
        from uds_bench.harness.lmlm import audit_of

        section = self.manifest.require_lmlm()
        judged = self.subjects["asker"] or section.judged()
        specs, store = self._examined(section, section.needed(judged))
        return audit_of(section, self.cells, specs, judged, store, self.device, self.crew)

    @cached_property
    def experiment(self) -> Experiment:
        """Who is asked about in the manifest's [localization], and what is to be forgotten of them; masks that
        lie in files and the tasks are looked at with it."""
        from uds_bench.errors import CheckpointError, ConfigurationError
        from uds_bench.harness.localization import check_masks, experiment_of, require_tasks

        section = self.manifest.require_localization()
        try:
            check_masks(section)
            require_tasks(section)
            return experiment_of(section)
        except (ConfigurationError, CheckpointError) as error:
            raise self.manifest.document.error(("localization",), str(error)) from error

    @cached_property
    def localization(self) -> LocalizationAudit:
        """The localization audit of the manifest's [localization]; ConfigurationError where it has none."""
        from uds_bench.harness.localization import audit_of

        section = self.manifest.require_localization()
        names = section.needed(self.subjects["unlearner"] or section.judged())
        specs, store = self._examined(section, names)
        masks = self._folder(section.masks or "")
        return audit_of(section, self.experiment, specs, names, masks, store, self.device, self.crew)

    @cached_property
    def inquiry(self) -> Inquiry:
        """Who is asked about in the manifest's [association], and what."""
        from uds_bench.harness.association import inquiry_of

        return inquiry_of(self.manifest.require_association())

    @cached_property
    def association(self) -> AssociationAudit:
        """The association audit of the manifest's [association]; ConfigurationError where it has none."""
        from uds_bench.harness.association import audit_of

        section = self.manifest.require_association()
        names = section.needed(self.subjects["eraser"] or section.judged())
        specs, store = self._examined(section, names)
        return audit_of(section, self.inquiry, specs, names, store, self.device, self.crew)

    def _folder(self, place: str) -> Path:
        """A path as the manifest has it, or the folder of an embedded model."""
        from uds_bench.checkpoints import CheckpointSpec

        return Path(self._trained({place: CheckpointSpec(place)}, [place])[place].model)

    def _examined(self, section: Audited, names: Iterable[str]) -> tuple[Mapping[str, CheckpointSpec], Store]:
        """The checkpoints of a section, those called `names` built where they are of the zoo, and where scores go."""
        from uds_bench.harness.specs import require_folders
        from uds_bench.harness.store import Store

        specs = section.checkpoints()
        store = require_folders(self.settings.store, specs, "--uds-store")
        return self._trained(specs, names), Store(store)

    def _trained(self, specs: dict[str, CheckpointSpec], names: Iterable[str]) -> dict[str, CheckpointSpec]:
        """The specs with those called `names` built where they are of the zoo.

        The first call builds all that the selected tests speak of: a core that the last models of one audit leave idle
        works on the next one's.
        """
        from uds_bench.errors import UdsError
        from uds_bench.harness.specs import resolve_zoo
        from uds_bench.progress import hush
        from uds_bench.storage import default_cache

        hush()  # every model is loaded after this
        ahead, self._ahead = self._ahead, {}
        with self.uncaptured() as console:
            with suppress(UdsError):  # the audit whose model cannot be built says so, and no other
                resolve_zoo(ahead, ahead, default_cache(), console, self.settings.draw)
            return resolve_zoo(specs, names, default_cache(), console, self.settings.draw)

    def _foresee(self, fixture: str, specs: Mapping[str, CheckpointSpec], names: Iterable[str]) -> None:
        """Have models built together with whatever is built first."""
        self._ahead |= {f"{fixture} {name}": specs[name] for name in names}

    def _work(self, name: str) -> Sequence[Work]:
        """What an audit will score; nothing where it cannot be built, which its claims say."""
        from uds_bench.errors import UdsError

        try:
            return [self.engine.work(self.plan)] if name == "engine" else getattr(self, name).work()
        except UdsError:
            return []

    def _planned(self) -> list[str]:
        """The checkpoints of planned scores, and the references: every metric's yardstick, whether or not a test asks
        for a score of theirs."""
        wanted = {"full", "retain", *(request.checkpoint for request in self.plan)}
        return [name for name in self.manifest.checkpoints() if name in wanted]

    @cached_property
    def rules(self) -> Rules:
        from uds_bench.harness.bounds import CLAIMS
        from uds_bench.harness.goldens import Goldens
        from uds_bench.harness.rules import Rules
        from uds_bench.harness.waivers import Waivers, load_waivers, loosened
        from uds_bench.zoo.specimens import are_shipped

        path = self.settings.waivers
        waivers = load_waivers(path, date.today()) if path else Waivers()
        defaults = {spec.id: spec for spec in CLAIMS.values() if spec.kind == "threshold"}
        # Goldens are of the shipped specimens; a run that records them does not compare with those it replaces.
        compares = self.is_gate and are_shipped() and not self.settings.record
        return Rules(
            thresholds=loosened(self.manifest.thresholds, defaults, waivers, self.manifest.document),
            explicit=frozenset(self.manifest.thresholds) | {w.claim for w in waivers if w.threshold is not None},
            expect=self.manifest.expect,
            waivers=waivers,
            goldens=Goldens.read(self.settings.goldens) if compares else Goldens(),
            evidence=EVIDENCE_ZOO if self.speaks_of_zoo else EVIDENCE_USER,
            reproduce=self.command,
            specimens=self.manifest.known_verdicts,
            laboratory=self.is_embedded and not self.is_gate,
        )

    def command(self, node: str) -> str:
        """The command that decides the claim of one test again, in the folder that this run was started in."""
        shared = ("profile", "device", "waivers", "store", "draw")
        given = {name: self.config.getoption(f"--uds-{name}") for name in shared}
        given = {"manifest": self.settings.manifest} | given
        file, colons, test = node.partition("::")
        place = os.path.relpath(self.config.rootpath / file, self.config.invocation_params.dir)
        options = [f"--uds-{name} {shlex.quote(str(value))}" for name, value in given.items() if value]
        return " ".join(["pytest", shlex.quote(place + colons + test), *options])

    @contextmanager
    def uncaptured(self) -> Iterator[Console]:
        """A console that is seen while pytest captures output; silent in the processes of a distributed run."""
        from rich.console import Console

        from uds_bench.progress import below

        capture = self.config.pluginmanager.get_plugin("capturemanager")
        if hasattr(self.config, "workerinput") or capture is None:
            yield Console(stderr=True, quiet=hasattr(self.config, "workerinput"))
            return
        seen = self.config.pluginmanager.has_plugin("terminalreporter")
        written = self.config.get_terminal_writer().width_of_current_line if seen else 0
        with capture.global_and_fixture_disabled(), below(Console(stderr=True), written) as console:
            yield console

    def prepare(self, items: Sequence[pytest.Item]) -> None:
        """Plan the scores of the selected tests and look at their checkpoints, before any model is loaded.

        Raises ConfigurationError for a manifest that lacks what the tests need, or names a checkpoint that cannot fit.
        """
        from uds_bench.harness.planning import plan_requests, preflight, wishes_of
        from uds_bench.harness.specs import require_folders

        for fixture, named in self.subjects.items():
            params = [item.callspec.params for item in items if hasattr(item, "callspec")]
            named += dict.fromkeys(given[fixture] for given in params if given.get(fixture) is not None)
        if wishes := wishes_of(items):
            self.plan = plan_requests(self.manifest, self.facts, wishes, self.subjects["candidate"])
        if self.plan:
            require_folders(self.settings.store, self.manifest.checkpoints(), "--uds-store")
            preflight(self.manifest.checkpoints(), {request.checkpoint for request in self.plan})
            self._foresee("candidate", self.manifest.checkpoints(), self._planned())
            self.crew.foresee(partial(self._work, "engine"))
        for fixture, asked in READ.items():
            section = audited(self.manifest, fixture) if self.subjects[fixture] else None
            if section is not None:
                preflight(section.checkpoints(), section.needed(self.subjects[fixture]))
                self._foresee(fixture, section.checkpoints(), section.needed(self.subjects[fixture]))
                getattr(self, asked)  # read before any model is loaded
                self.crew.foresee(partial(self._work, SECTIONS[fixture]))

    def score(self, request: Request) -> Score:
        """A score, with everything else that is planned computed while its checkpoints are loaded."""
        score = self.engine.score(request, self.plan)
        self.asked[request] = score
        return score

    def scores(self) -> Scores:
        """Everything that was asked for or planned, where it could be computed."""
        from uds_bench.errors import UdsError
        from uds_bench.metrics import find_metric
        from uds_bench.scores import Scores

        found = dict(self.asked)
        for request in self.plan:
            if request not in found and "engine" in self.__dict__:
                try:
                    stored = self.engine.stored(request)
                except UdsError:
                    continue
                if stored is not None:
                    found[request] = stored
        # One request may name the default variant and another leave it out: the score is the same.
        unique = {(s.checkpoint, s.attack, s.metric, s.variant): s for s in found.values()}
        # A metric's default variant comes before its others, for readers that take the first.
        ordered = sorted(unique.values(), key=lambda s: find_metric(s.metric).variant(None) != s.variant)
        audits = [self.__dict__[name].scores() for name in SECTIONS.values() if name in self.__dict__]
        return Scores([*ordered, *(score for scores in audits for score in scores)])
