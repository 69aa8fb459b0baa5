"""One pytest run: its manifest, audits and rules, built when first needed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pytest

from uds_bench.device import resolve_device
from uds_bench.harness.items import LABORATORY, audit_of, subject_of
from uds_bench.harness.options import RECORDED, Settings

if TYPE_CHECKING:
    from rich.console import Console

    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.claims.rules import Rules
    from uds_bench.manifest.manifest import Manifest
    from uds_bench.manifest.section import Section
    from uds_bench.scores import Scores
    from uds_bench.scoring.spread import Work
    from uds_bench.scoring.store import Store
    from uds_bench.scoring.workers import WorkerPool

EVIDENCE_ZOO, EVIDENCE_USER = "small models trained here", "checkpoints named by the manifest"


class Run:
    """State of one process's share of a run, and the `Session` of its audits.

    `items`: the selected tests that decide claims; `opened`: the audits that were needed so far; `refused`: by audit
    and judged model, why it cannot be judged.
    """

    def __init__(self, settings: Settings, config: pytest.Config) -> None:
        self.settings = settings
        self.config = config
        self.items: list[pytest.Item] = []
        self.opened: dict[str, Any] = {}
        self.refused: dict[tuple[str | None, str | None], str] = {}
        self._data: dict[str, Any] = {}
        self._ahead: dict[str, CheckpointSpec] = {}

    @property
    def is_embedded(self) -> bool:
        """Whether shipped or embedded models are judged, as no manifest is named."""
        return self.settings.manifest is None

    @property
    def is_gate(self) -> bool:
        """Whether the shipped models are judged: claims of the laboratory then stay out."""
        return self.is_embedded and self.settings.profile == RECORDED

    @property
    def is_pinned(self) -> bool:
        """Whether every number is known beforehand: the shipped models are judged, and not recorded."""
        from uds_bench.zoo.specimens import are_shipped

        return self.is_gate and are_shipped() and self.settings.record is None

    @property
    def instead(self) -> str:
        """In words, the models that are judged in the place of the shipped ones or of a manifest's; "" if none are."""
        if hasattr(self.config.option, "uds_excused"):
            return f"what {self.settings.method} makes"
        from uds_bench.zoo.specimens import are_shipped, home

        return "" if are_shipped() or not self.is_gate else f"the models in {home()}, not the shipped ones"

    @property
    def judges(self) -> dict[str, str]:
        """Digests of what the default run judges."""
        from uds_bench.storage import file_digest
        from uds_bench.zoo.specimens import INDEX, home

        return {"manifest": self.manifest.digest, "models": file_digest(home() / INDEX)}

    @cached_property
    def device(self) -> str:
        """Where models run: `cpu` or `cuda`."""
        return resolve_device(self.settings.device)

    @cached_property
    def crew(self) -> WorkerPool:
        """The processes that score."""
        from uds_bench.scoring.workers import WorkerPool

        return WorkerPool(self.device, self.uncaptured)

    @property
    def speaks_of_zoo(self) -> bool:
        """Whether every checkpoint is an embedded model."""
        return all(section.is_embedded for section in self.manifest.sections.values())

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest, read and checked once."""
        from uds_bench.audits.manifests import manifest_of

        return manifest_of(self.settings.manifest, self.settings.profile)

    def _section(self, audit: str | None) -> Section | None:
        """What the manifest says to an audit; None where nothing can be said to it."""
        from uds_bench.audits import registry

        kind = None if audit is None else registry.audits()[audit].section()
        return None if kind is None else self.manifest.of(kind)

    def judged(self, audit: str | None) -> list[str] | list[None]:
        """The models that claims of an audit speak of; where there are none, its claims say so once."""
        section = self._section(audit)
        return ([] if section is None else section.judged()) or [None]

    def attacks(self, audit: str | None) -> list[str]:
        """The attacks under which the manifest has an audit's models judged."""
        section = self._section(audit)
        return [] if section is None else section.attacked()

    def silent_to(self, audit: str | None) -> str:
        """A line that the manifest says nothing to an audit, and what the audit needs; "" if it says something."""
        section = self._section(audit)
        if section is None or not section.asks_nothing:
            return ""
        return f"the manifest says nothing to the {audit} audit, which needs {', '.join(type(section)().lacks())}"

    def wants_laboratory(self, audit: str | None) -> bool:
        """Whether claims of an audit about metrics, methods or papers are asked for, by manifest or by `-m`."""
        section = self._section(audit)
        return (section is not None and section.wants_laboratory) or LABORATORY in self.config.option.markexpr

    def subjects(self, audit: str) -> list[str]:
        """See `Session`."""
        found = (subject_of(item) for item in self.items if audit_of(item) == audit)
        return list(dict.fromkeys(name for name in found if name is not None and (audit, name) not in self.refused))

    def marks(self, name: str) -> list[pytest.Mark]:
        """See `Session`."""
        return [mark for item in self.items for mark in item.iter_markers(name)]

    def data(self, audit: str) -> Any:
        """See `Session`. Raises ConfigurationError where the manifest lacks what the audit judges by."""
        from uds_bench.audits import registry
        from uds_bench.errors import CheckpointError, ConfigurationError

        if audit not in self._data:
            kind = registry.audits()[audit].section()
            assert kind is not None
            section = self.manifest.require(kind, audit)
            try:
                self._data[audit] = registry.audits()[audit].read(section)
            except (ConfigurationError, CheckpointError) as error:
                if kind.INLINE:
                    raise
                raise self.manifest.document.error((kind.NAME,), str(error)) from error
        return self._data[audit]

    def audit(self, name: str) -> Any:
        """See `Session`."""
        from uds_bench.audits import registry

        if name not in self.opened:
            self.opened[name] = registry.audits()[name].open(self)
        return self.opened[name]

    def store(self, specs: Mapping[str, CheckpointSpec]) -> Store:
        """See `Session`."""
        from uds_bench.scoring.store import Store
        from uds_bench.zoo.ready import require_folders

        return Store(require_folders(self.settings.store, specs, "--uds-store"))

    def ready(self, specs: Mapping[str, CheckpointSpec], names: Iterable[str]) -> dict[str, CheckpointSpec]:
        """See `Session`.

        The first call trains the models of all selected tests: a core that one audit leaves idle works on the next
        one's models.
        """
        from uds_bench.errors import UdsError
        from uds_bench.progress import hush
        from uds_bench.storage import default_cache
        from uds_bench.zoo.ready import resolve_zoo

        hush()  # every model is loaded after this
        ahead, self._ahead = self._ahead, {}
        with self.uncaptured() as console:
            with suppress(UdsError):  # the audit whose model cannot be built says so, and no other
                resolve_zoo(ahead, ahead, default_cache(), console, self.settings.draw)
            return resolve_zoo(specs, names, default_cache(), console, self.settings.draw)

    def _work(self, name: str) -> Iterable[Work]:
        """The scores that an audit plans; none if it cannot be opened: its claims say so."""
        from uds_bench.errors import UdsError

        try:
            return [runner.work(requests) for runner, requests in self.audit(name).planned()]
        except UdsError:
            return []

    @cached_property
    def rules(self) -> Rules:
        """What claims are decided by: bounds, declarations, waivers and goldens."""
        from uds_bench.audits import registry
        from uds_bench.claims.goldens import Goldens
        from uds_bench.claims.rules import Rules
        from uds_bench.claims.waivers import Waivers, load_waivers, loosened

        path = self.settings.waivers
        waivers = load_waivers(path, date.today()) if path else Waivers()
        # Goldens are of the shipped models; a run that records them does not compare with those it replaces.
        return Rules(
            claims=registry.claims(),
            thresholds=loosened(self.manifest.thresholds, registry.claims(), waivers, self.manifest.document),
            explicit=frozenset(self.manifest.thresholds) | {w.claim for w in waivers if w.threshold is not None},
            expect=self.manifest.expect,
            waivers=waivers,
            goldens=Goldens.read(self.settings.goldens) if self.is_pinned else Goldens(),
            evidence=EVIDENCE_ZOO if self.speaks_of_zoo else EVIDENCE_USER,
            reproduce=self.command,
            specimens=self.manifest.known_verdicts,
            laboratory=self.is_embedded and not self.is_gate,
            excused=getattr(self.config.option, "uds_excused", {}),
        )

    def command(self, node: str) -> str:
        """The command that decides the claim of one test again, in the folder that this run was started in."""
        shared = ("profile", "device", "waivers", "store", "draw")
        given = {name: self.config.getoption(f"--uds-{name}") for name in shared}
        given = {"manifest": self.settings.manifest} | given
        file, colons, test = node.partition("::")
        place = os.path.relpath(self.config.rootpath / file, self.config.invocation_params.dir)
        module, flags = None, []
        if self.config.option.pyargs:  # a suite of an installed package lies where no user looks
            item = next((item for item in self.items if item.nodeid == node), None)
            module = None if item is None else item.getparent(pytest.Module)
        if module is not None:
            place, flags = module.obj.__name__, ["--pyargs"]
        options = [f"--uds-{name} {shlex.quote(str(value))}" for name, value in given.items() if value]
        return " ".join(["pytest", *flags, shlex.quote(place + colons + test), *options])

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
        """Plan what the selected tests need and look at their checkpoints, before any model is loaded.

        Raises ConfigurationError for a manifest that lacks what the tests need. It raises one with every cause of every
        audit if a reference does not fit, or no judged model can be used.
        """
        from uds_bench.audits import registry
        from uds_bench.audits.preflight import preflight
        from uds_bench.errors import ConfigurationError, ExtraError, UdsError

        self.items = list(items)
        marked = (audit_of(item) for item in items)
        named = {name for name in marked if name is not None}
        named |= {used for name in named for used in registry.audits()[name].uses}
        told = [name for name in sorted(named) if not self.silent_to(name)]
        causes: list[str] = []
        judged: set[tuple[str | None, str | None]] = set()
        for name in told or sorted(named)[:1]:
            audit = registry.audits()[name]
            if (kind := audit.section()) is None:
                continue
            section = self.manifest.require(kind, name)
            specs = section.checkpoints()
            if needed := audit.needed(self):
                self.store(specs)
                owners = {seed: model for model in self.subjects(name) for seed in section.members(model)}
                problems = preflight(specs, needed, owners, section.parent(), section, self.device)
                judged |= {(name, model) for model in owners.values()}
                self.refused |= {(name, owners[one]): why for one, why in problems.items() if one in owners}
                if others := [why for one, why in problems.items() if one not in owners]:
                    causes += others
                    continue
                needed = [one for one in needed if (name, owners.get(one)) not in self.refused]
                try:
                    self.data(name)  # read before any model is loaded
                except ExtraError:
                    continue  # its claims say so; those of other audits are decided
                except UdsError as error:
                    causes += error.causes
                    continue
                self.rules = replace(self.rules, claims={**self.rules.claims, **audit.claims_of(self)})
                self._ahead |= {f"{name} {checkpoint}": specs[checkpoint] for checkpoint in needed}
                self.crew.foresee(partial(self._work, name))
        # The claims about a judged model that cannot be used say so; if none can be used, there is nothing to decide.
        if causes or (judged and judged <= self.refused.keys()):
            raise ConfigurationError(*dict.fromkeys([*causes, *self.refused.values()]))

    def wordings(self) -> dict[str, dict[str, str]]:
        """What was asked of whom, see `AuditRun.wordings`."""
        return {id: dict(told) for name in sorted(self.opened) for id, told in self.opened[name].wordings().items()}

    def scores(self) -> Scores:
        """Everything that was asked for or planned, where it could be computed."""
        from uds_bench.scores import Scores

        return Scores([score for name in sorted(self.opened) for score in self.opened[name].scores()])
