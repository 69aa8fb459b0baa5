"""The manifest: a TOML file with a section for each audit, bounds, and verdicts known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

from pydantic import create_model

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.spec import SPECIMEN
from uds_bench.errors import ConfigurationError
from uds_bench.manifest.section import Common, Expectation, Section
from uds_bench.manifest.tables import validate
from uds_bench.manifest.toml import Keys, TomlDocument, dotted
from uds_bench.manifest.types import GIVE_NAMES, Origin
from uds_bench.storage import content_key

MADE = ("candidates", "sweep")
"""The tables, of any section, whose models are made from other models."""
S = TypeVar("S", bound=Section)


@dataclass(frozen=True)
class Manifest:
    """A valid manifest file; all its local paths are absolute and exist.

    `digest` (sha256, hex) names what the file says: it does not change with the file's place, comments,
    order of keys, or short and long forms. `document` has the line of every key.
    """

    document: TomlDocument
    digest: str
    sections: Mapping[type[Section], Section]
    common: Common

    def of(self, kind: type[S]) -> S:
        """What the file says to an audit; empty where it says nothing."""
        return cast(S, self.sections[kind])

    def require(self, kind: type[S], audit: str) -> S:
        """The same as `of`. Raises ConfigurationError, in a line, if the section lacks what the audit needs."""
        section = self.of(kind)
        if lacks := section.lacks():
            where = self.document.where(self._place(section))
            raise ConfigurationError(f"{where}: the {audit} audit needs {', '.join(lacks)}: add what is missing")
        return section

    @property
    def path(self) -> Path:
        """The file."""
        return self.document.path

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return self.path.absolute().parent

    @property
    def thresholds(self) -> Mapping[str, float]:
        """Bounds other than the claims' own, by claim."""
        return self.common.thresholds

    def threshold(self, claim: str, subject: str | None, otherwise: float) -> float:
        """The bound that the file gives to a claim about a subject: its own, else that of all subjects."""
        return self.thresholds.get(f"{claim}[{subject}]", self.thresholds.get(claim, otherwise))

    @property
    def expect(self) -> Mapping[str, Expectation]:
        """Verdicts that are declared, by claim."""
        return self.common.expect

    @property
    def known_verdicts(self) -> dict[str, str]:
        """By claim[subject], what a shipped model must come to."""
        declared = ((claim, *pair) for claim, verdicts in self.common.specimens.items() for pair in verdicts.items())
        return {f"{claim}[{subject}]": word for claim, word, subjects in declared for subject in subjects}

    def checkpoints(self) -> list[tuple[str, CheckpointSpec]]:
        """The checkpoints of all audits, by name."""
        return [pair for section in self.sections.values() for pair in section.checkpoints().items()]

    def judged(self) -> set[str]:
        """The names that claims speak of."""
        return {name for section in self.sections.values() for name in section.judged()}

    def _place(self, section: Section) -> Keys:
        return (section.NAME,) if section.NAME in self.document.values else ()

    def _require_shipped(self) -> None:
        """Raises ConfigurationError if [specimens] repeats [expect], or stands beside models that are not shipped.
        Every verdict is known of shipped models alone."""
        own = [n for n, spec in self.checkpoints() if not (spec.model.startswith(SPECIMEN) and spec.adapter is None)]
        if self.common.specimens and own:
            text = f"is of shipped models ({SPECIMEN}NAME), and {own[0]} is none: declare it under [expect]"
            raise self.document.error(("specimens",), text)
        if twice := [name for name in self.known_verdicts if name in self.expect]:
            raise self.document.error(("expect", twice[0]), "is declared under [specimens] already: keep one")

    def _require_unique_names(self) -> None:
        for section in self.sections.values():
            places: dict[str, Keys] = {}
            for keys, name in section.places(self.document):
                if name in places:
                    advice = GIVE_NAMES if isinstance(keys[-1], int) else "give it another name"
                    first = f"{dotted(places[name])} (line {self.document.line(places[name])})"
                    raise self.document.error(keys, f"the name {name!r} is taken by {first}: {advice}")
                places[name] = keys


@cache
def model_of(kinds: tuple[type[Section], ...]) -> type[Common]:
    """The model of a whole file that holds sections of some kinds. Raises ConfigurationError if two share a key."""
    fields: dict[str, Any] = {}
    for kind in kinds:
        own: dict[str, Any] = {kind.NAME: (kind, kind())}
        if kind.INLINE:
            types = get_type_hints(kind, include_extras=True)
            own = {name: (types[name], copy(field)) for name, field in kind.model_fields.items()}
        if taken := sorted({*own} & {*fields, *Common.model_fields}):
            raise ConfigurationError(f"two audits want the manifest's key {taken[0]}: rename it in one of them")
        fields |= own
    return create_model("Sections", __base__=Common, **fields)


def checked(document: TomlDocument, kinds: Iterable[type[Section]], judging: bool = True) -> Manifest:
    """A manifest that may hold sections of some kinds; unless it is read for `judging`, candidates need not be there.

    Raises ConfigurationError, in one line with file, line and key, for the first thing that is wrong: bad
    TOML, a key that is unknown, missing, twice there or of the wrong type, a missing file or folder, a name that two
    checkpoints share, and verdicts declared of specimens where other models stand.
    """
    kinds = tuple(kinds)
    whole = model_of(kinds)
    to_come = frozenset() if judging else _made_later(document.values)
    found = validate(whole, document, Origin(document.path.absolute().parent, to_come))
    as_written = whole.model_validate(document.values).model_dump(mode="json", exclude_defaults=True)
    common = Common.model_construct(**{name: getattr(found, name) for name in Common.model_fields})
    sections = {kind: _section(kind, found) for kind in kinds}
    manifest = Manifest(document, content_key(as_written), sections, common)
    manifest._require_unique_names()
    manifest._require_shipped()
    return manifest


def _made_later(values: dict[str, Any]) -> frozenset[str]:
    """The texts of a file that stand in its tables of candidates, and nowhere else."""
    told = list(_texts(values))
    return frozenset(text for text, made in told if made) - {text for text, made in told if not made}


def _texts(value: Any, made: bool = False) -> Iterator[tuple[str, bool]]:
    """Every text in a value, and whether it stands under one of `MADE`."""
    if isinstance(value, str):
        yield value, made
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _texts(each, made or key in MADE)


def _section(kind: type[Section], found: Common) -> Section:
    if kind.INLINE:
        return kind.model_construct(**{name: getattr(found, name) for name in kind.model_fields})
    section: Section = getattr(found, kind.NAME)
    return section
