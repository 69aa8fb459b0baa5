"""What an audit is: a package of modules that the harness finds by name, and an entry point that names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.claims.report_part import ReportPart
    from uds_bench.claims.spec import ClaimSpec
    from uds_bench.figures.chapter import Chapter
    from uds_bench.manifest.manifest import Manifest
    from uds_bench.manifest.section import Section
    from uds_bench.scores import Score
    from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
    from uds_bench.scoring.store import Store
    from uds_bench.scoring.workers import WorkerPool
    from uds_bench.zoo.recipe import Bed, Zoo

S = TypeVar("S", bound="Section")


class Session(Protocol):
    """What a run gives to its audits: its manifest, the tests that were selected, and where models are scored."""

    @property
    def manifest(self) -> Manifest:
        """What the user asked for."""
        ...

    @property
    def device(self) -> str:
        """Where models run, as torch names it."""
        ...

    @property
    def crew(self) -> WorkerPool:
        """The processes that score."""
        ...

    def subjects(self, audit: str) -> list[str]:
        """The judged models that the selected tests of an audit speak of."""

    def marks(self, name: str) -> list[Any]:
        """The pytest marks of a name on the selected tests."""

    def data(self, audit: str) -> Any:
        """What an audit has read, see `Audit.read`."""

    def audit(self, name: str) -> Any:
        """An audit, opened."""

    def ready(self, specs: Mapping[str, CheckpointSpec], names: Iterable[str]) -> dict[str, CheckpointSpec]:
        """The checkpoints; embedded ones among `names` are checked, or trained if they are not shipped."""

    def store(self, specs: Mapping[str, CheckpointSpec]) -> Store:
        """Where scores of these checkpoints are kept."""


class AuditRun:
    """Base of an audit of one run, which its claims read."""

    def planned(self) -> Sequence[tuple[ScoreRunner, Sequence[ScoreRequest]]]:
        """The scores that most claims ask for, with their runner: they are scored beside those of other audits."""
        return ()

    def runners(self) -> Sequence[ScoreRunner]:
        """All runners that score for the audit."""
        return [runner for runner, _ in self.planned()]

    def scores(self) -> Sequence[Score]:
        """The scores of the run report: those that were asked for, without the records behind them."""
        return [plain(score) for runner in self.runners() for score in runner.requested.values()]

    def wordings(self) -> Mapping[str, Mapping[str, str]]:
        """By id of what is scored, its `question` and the `entity` that is looked for; for readers alone."""
        return {}

    def report(self) -> ReportPart | None:
        """The audit's part of the run report, a `part.PART`, of everything that is stored; None where it has none."""
        return None

    def files(self) -> Mapping[str, bytes]:
        """What is written beside the page, by file name."""
        return {}


def plain(score: Score, shown: Mapping[str, Mapping[str, Any]] | None = None) -> Score:
    """A score without the records behind it.

    Args:
        score: With all its details.
        shown: By fact, what is shown of it: the `answer` that was given, and whether it `survives`.

    Returns:
        The score with notes that are text or a number, each fact with what is shown of it alone.
    """
    told = shown or {}
    notes = {key: value for key, value in score.notes.items() if isinstance(value, str | int | float)}
    facts = tuple(replace(fact, detail=dict(told.get(fact.id, {}))) for fact in score.per_fact)
    return replace(score, notes=notes, per_fact=facts)


def prepared(session: Session, name: str, kind: type[S]) -> tuple[S, list[str], dict[str, CheckpointSpec], Store]:
    """What an audit that has models of its own starts from.

    Args:
        session: The run.
        name: The audit.
        kind: Its section of a manifest.

    Returns:
        Its section, the names of the checkpoints that the selected tests need, all of the section's checkpoints with
        those made ready, and where scores go.

    Raises:
        ConfigurationError: The manifest lacks what the audit judges by.
    """
    section = session.manifest.require(kind, name)
    names = section.needed(session.subjects(name) or section.judged())
    specs = section.checkpoints()
    store = session.store(specs)
    return section, names, session.ready(specs, names), store


class ManifestPreset(NamedTuple):
    """What `uds-bench init` writes for a file of an audit's own: the manifest, and the command to go on with."""

    manifest: str
    then: str


@dataclass(frozen=True)
class Audit:
    """One audit. `package` holds its modules, of which each is imported when it is first needed.

    - `section.SECTION`: what a manifest says to it; an audit without that module, and without `audit`, judges no model.
    - `claims.CLAIMS`: its claims, each with statement, bound, origin and controls.
    - `audit.read(section)`: facts, people, databases: what can be known before a model is loaded.
      `audit.open(session)`: the audit of a run, as `AuditRun`. `audit.needed(session)`, where it is there: the
      checkpoints that the selected tests need, by default those of their subjects. `audit.notes(session)`, where
      it is there: what a reader of the verdicts should know. `audit.unit(session, claim)`, where it is there: what
      intervals of this run are over, where that hangs on the data.
    - `part.PART`: the model of what it says in the report beside its claims; it may be left out.
    - `page.CHAPTERS`: what it shows on the page; without that module its claims are shown alone.
    - `manifest.toml`: its part of what `uds-bench init` writes; it may be left out.
    - `preset.preset(source, folder)`: a `ManifestPreset` for a file that `uds-bench init --from` is given, None where
      the file is not of its kind; it may be left out.
    - `quick.toml`, `zoo.toml`, `full.toml`: which embedded models it judges in the run of that profile, and what they
      must come to. Each is a manifest by itself; they may be left out.
    - `commands.COMMANDS`: its commands, by the words after `uds-bench`, and `commands.GROUPS`, where a first word is
      its own: what that is about; it may be left out.
    - `zoo.ZOO`: the small models that it is tried on, trained here or shipped; it may be left out.
    - `job.read_job`: the scores that `plan` and `score` choose by metric, of the one audit whose scores have one.

    `uses`: audits whose scores its claims read.

    Example:
        >>> from uds_bench.audits import registry
        >>> depth = registry.audits()["depth"]
        >>> [claim.id for claim in depth.claims()][:2]
        ['depth.self_patch', 'depth.retain_is_one']
    """

    name: str
    package: str
    uses: tuple[str, ...] = ()

    def section(self) -> type[Section] | None:
        """What a manifest says to it; None of an audit that asks nothing of one."""
        if not self.has("section"):
            return None
        found: type[Section] = self.module("section").SECTION
        return found

    def claims(self) -> Sequence[ClaimSpec]:
        """Its table of claims: statement, bound, origin and controls of each."""
        found: Sequence[ClaimSpec] = self.module("claims").CLAIMS
        return found

    def part(self) -> type[ReportPart] | None:
        """The model of its part of a run's report; None of an audit that says nothing beside its claims."""
        found: type[ReportPart] | None = self.module("part").PART if self.has("part") else None
        return found

    def chapters(self) -> Sequence[Chapter[Any]]:
        """What it shows on the page; nothing of an audit whose claims are shown alone."""
        if not self.has("page"):
            return ()
        found: Sequence[Chapter[Any]] = self.module("page").CHAPTERS
        return found

    def template(self) -> str:
        """Its part of a manifest to fill in; "" where it has none."""
        file = files(self.package) / "manifest.toml"
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    def preset(self, source: Path, folder: Path) -> ManifestPreset | None:
        """The manifest in a folder for a file of its own kind; None of any other file.

        Raises:
            UdsError: The file is of its kind and cannot be used.
        """
        found: ManifestPreset | None = self.module("preset").preset(source, folder) if self.has("preset") else None
        return found

    def embedded(self, profile: str) -> Path | None:
        """Its part of the manifest of the embedded models; None where it has none."""
        file = Path(str(files(self.package) / f"{profile}.toml"))
        return file if file.is_file() else None

    def commands(self) -> Mapping[str, Callable[..., None]]:
        """What it adds to the command line, by the words after `uds-bench`."""
        found: Mapping[str, Callable[..., None]] = self.module("commands").COMMANDS if self.has("commands") else {}
        return found

    def zoo(self) -> Zoo | None:
        """The embedded models that it is tried on; None where it has none."""
        found: Zoo | None = self.module("zoo").ZOO if self.has("zoo") else None
        return found

    def bed(self) -> tuple[Bed, str] | None:
        """What unlearning methods are tried on, and the manifest that judges their models, in its last table.

        None for an audit that tries no methods.
        """
        zoo = self.zoo()
        if zoo is None or zoo.bed is None:
            return None
        return zoo.bed, (files(self.package) / "bed.toml").read_text(encoding="utf-8")

    def needed(self, session: Session) -> list[str]:
        """The checkpoints that the selected tests need; none where they speak of nobody."""
        if own := getattr(self.module("audit"), "needed", None):
            return list(own(session))
        kind, subjects = self.section(), session.subjects(self.name)
        return session.manifest.of(kind).needed(subjects) if kind and subjects else []

    def read(self, section: Section) -> Any:
        """What can be known before a model is loaded.

        Raises:
            UdsError: Something in the section cannot be used; a line says what and how to mend it.
        """
        return self.module("audit").read(section)

    def open(self, session: Session) -> AuditRun:
        """The audit of one run."""
        found: AuditRun = self.module("audit").open(session)
        return found

    def notes(self, session: Session) -> list[str]:
        """What a reader of the verdicts should know, a line each."""
        kind = self.section()
        if kind is None or session.manifest.of(kind).lacks():
            return []
        told = getattr(self.module("audit"), "notes", None)
        return list(told(session)) if told else []

    def claims_of(self, session: Session) -> dict[str, ClaimSpec]:
        """Its claims by id, with the unit that intervals of this run are over.

        Raises:
            UdsError: What it judges by cannot be read.
        """
        told = getattr(self.module("audit"), "unit", None) if self.has("audit") else None
        return {spec.id: replace(spec, unit=told(session, spec)) if told else spec for spec in self.claims()}

    def has(self, name: str) -> bool:
        """Whether it has a module of a name."""
        return find_spec(f"{self.package}.{name}") is not None

    def module(self, name: str) -> Any:
        """One of its modules, imported.

        Raises:
            ModuleNotFoundError: The package has none of that name.
        """
        return import_module(f"{self.package}.{name}")
