"""The manifest: which checkpoints are judged, against which references, on which facts, by which bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from uds_bench.attacks import Attack, find_attack
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import ConfigurationError
from uds_bench.harness.audit_sections import Association, Bypass, Lmlm, Localization
from uds_bench.harness.section_types import GIVE_NAMES
from uds_bench.harness.sections import Facts, References, Sections
from uds_bench.harness.tables import validate
from uds_bench.harness.toml import Document, Keys, dotted, read_toml
from uds_bench.storage import content_key
from uds_bench.zoo.names import SPECIMEN


class Manifest(Sections):
    """A valid manifest file; all its local paths are absolute and exist.

    `digest` (sha256, hex) names what the file says: it does not change with the file's place, comments,
    order of keys, or short and long forms. `document` has the line of every key.
    """

    document: Document
    digest: str

    @property
    def path(self) -> Path:
        return self.document.path

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return self.path.absolute().parent

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every checkpoint of the facts' audits by name: `full`, `retain`, nested, candidates, sweep, then pools."""
        return {name: spec for _, name, spec in self._named()}

    @property
    def nested(self) -> dict[str, CheckpointSpec]:
        """Models between full and retain, in the order of the file."""
        return {} if self.references is None else self.references.nested

    @property
    def unlearned(self) -> dict[str, CheckpointSpec]:
        """The models that metrics are judged on: candidates, then the sweep."""
        return {**self.candidates, **self.sweep}

    def chosen_attacks(self) -> dict[str, Attack]:
        """The attacks that the file names, in its order, with its settings."""
        settings = self.attacks.model_dump(exclude_none=True)
        return {name: find_attack(name, **settings[name]) for name in self.document.values.get("attacks", {})}

    def require_depth(self) -> tuple[Facts, References]:
        """What the depth audit judges by; ConfigurationError where that, or a candidate, is missing."""
        facts, references = self.facts, self.references
        if facts is None or references is None or not self.candidates:
            needed = {
                "[facts] source": facts is None,
                "[references] full and retain": references is None,
                "[candidates] with at least one name": not self.candidates,
            }
            missing = [text for text, lacks in needed.items() if lacks]
            where = self.document.where(("candidates",) if missing == [*needed][2:] else ())
            raise ConfigurationError(f"{where}: the depth audit needs {', '.join(missing)}: add what is missing")
        return facts, references

    def require_bypass(self) -> Bypass:
        """What the bypass audit judges; ConfigurationError where that is missing."""
        if self.bypass is None or not self.bypass.models:
            where = self.document.where(("bypass",) if self.bypass is not None else ())
            raise ConfigurationError(f"{where}: the bypass audit needs [bypass] models with at least one name: add it")
        return self.bypass

    def require_lmlm(self) -> Lmlm:
        """What the LMLM audit judges; ConfigurationError where that is missing."""
        if self.lmlm is None or not self.lmlm.checkpoints():
            where = self.document.where(("lmlm",) if self.lmlm is not None else ())
            raise ConfigurationError(f"{where}: the LMLM audit needs [lmlm] model, or models by name: add it")
        return self.lmlm

    def require_localization(self) -> Localization:
        """What the localization audit judges; ConfigurationError where that is missing."""
        if self.localization is None or not self.localization.complete:
            where = self.document.where(("localization",) if self.localization is not None else ())
            raise ConfigurationError(
                f"{where}: the localization audit needs [localization] pretrained, injected, masks and candidates with "
                "at least one name: add what is missing"
            )
        return self.localization

    def require_association(self) -> Association:
        """What the association audit looks into; ConfigurationError where that is missing."""
        if self.association is None or self.association.model is None:
            where = self.document.where(("association",) if self.association is not None else ())
            raise ConfigurationError(f"{where}: the association audit needs [association] model: add it")
        return self.association

    @property
    def _audited(self) -> list[Bypass | Lmlm | Localization | Association]:
        """The sections of audits of their own models."""
        sections = (self.bypass, self.lmlm, self.localization, self.association)
        return [section for section in sections if section is not None]

    def every_checkpoint(self) -> dict[str, CheckpointSpec]:
        """The checkpoints of all audits."""
        others = [section.checkpoints() for section in self._audited]
        return self.checkpoints() | {name: spec for named in others for name, spec in named.items()}

    def judged(self) -> set[str]:
        """The names that claims speak of."""
        others = [section.judged() for section in self._audited]
        return {*self.candidates, *(name for named in others for name in named)}

    def _named(self) -> Iterator[tuple[Keys, str, CheckpointSpec]]:
        """Where each checkpoint stands in the file, its name, and what it is."""
        if self.references is not None:
            yield ("references", "full"), "full", self.references.full
            yield ("references", "retain"), "retain", self.references.retain
        for name, spec in self.nested.items():
            yield ("references", "nested", name), name, spec
        for section, specs in (("candidates", self.candidates), ("sweep", self.sweep)):
            for name, spec in specs.items():
                yield (section, name), name, spec
        for pool, specs in (("positive", self.pools.positive), ("negative", self.pools.negative)):
            listed = isinstance(self.document.values.get("pools", {}).get(pool), list)
            for index, (name, spec) in enumerate(specs.items()):
                yield ("pools", pool, index if listed else name), name, spec

    @property
    def known_verdicts(self) -> dict[str, str]:
        """By claim[subject], what a shipped model must come to."""
        declared = ((claim, *pair) for claim, verdicts in self.specimens.items() for pair in verdicts.items())
        return {f"{claim}[{subject}]": word for claim, word, subjects in declared for subject in subjects}

    def _require_shipped(self) -> None:
        """Only of weights that come with the project is every verdict known."""
        specs = [*self.checkpoints().items(), *(pair for s in self._audited for pair in s.checkpoints().items())]
        own = [n for n, spec in specs if not (spec.model.startswith(SPECIMEN) and spec.adapter is None)]
        if self.specimens and own:
            text = f"is of shipped models ({SPECIMEN}NAME), and {own[0]} is none: declare it under [expect]"
            raise self.document.error(("specimens",), text)
        if twice := [name for name in self.known_verdicts if name in self.expect]:
            raise self.document.error(("expect", twice[0]), "is declared under [specimens] already: keep one")

    def _require_unique_names(self) -> None:
        places: dict[str, Keys] = {}
        for keys, name, _ in self._named():
            if name in places:
                advice = GIVE_NAMES if isinstance(keys[-1], int) else "give it another name"
                first = f"{dotted(places[name])} (line {self.document.line(places[name])})"
                raise self.document.error(keys, f"the name {name!r} is taken by {first}: {advice}")
            places[name] = keys


def load_manifest(path: str | Path) -> Manifest:
    """Read and check a manifest.

    Raises ConfigurationError, in one line with file, line and key, for the first thing that is wrong: bad
    TOML, a key that is unknown, missing, twice there or of the wrong type, a missing file or folder, a name that two
    checkpoints share, and verdicts declared of specimens where other models stand.
    """
    document = read_toml(path)
    sections = validate(Sections, document, document.path.absolute().parent)
    as_written = Sections.model_validate(document.values).model_dump(mode="json", exclude_defaults=True)
    fields = {name: getattr(sections, name) for name in Sections.model_fields}
    manifest = Manifest.model_construct(**fields, document=document, digest=content_key(as_written))
    manifest._require_unique_names()
    manifest._require_shipped()
    return manifest
