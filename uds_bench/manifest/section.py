"""What a manifest says to one audit: the part of the file that the audit's package declares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.spec import EMBEDDED
from uds_bench.manifest.tables import Table, problem
from uds_bench.manifest.toml import Keys, TomlDocument
from uds_bench.manifest.types import Reason, claims


class Section(Table):
    """Base of every audit's section. An empty one is valid: the file then says nothing to the audit.

    `NAME`: the table in the file. `INLINE`: its keys stand at the top of the file instead.
    """

    NAME: ClassVar[str] = ""
    INLINE: ClassVar[bool] = False

    def lacks(self) -> list[str]:
        """What would have to be added before anything can be judged, in words; nothing where all is there."""
        return []

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every checkpoint by name."""
        return {}

    @property
    def asks_nothing(self) -> bool:
        """Whether the file says nothing to the audit, so that it judges nothing and lacks nothing."""
        return self == type(self)()

    @property
    def is_embedded(self) -> bool:
        """Whether every checkpoint is a model that comes with the project."""
        return all(spec.model.startswith(EMBEDDED) for spec in self.checkpoints().values())

    @property
    def wants_laboratory(self) -> bool:
        """Whether the file asks for claims about metrics, methods or papers beside those about judged models."""
        return False

    def judged(self) -> list[str]:
        """The models that claims speak of: those that are no controls."""
        return []

    def require_controls(self, under: str, known: Collection[str], **keys: Iterable[str]) -> None:
        """Raises a problem where a key names a model that is not known, or where nobody is left to be judged."""
        for key, names in keys.items():
            for name in names:
                if name not in known:
                    raise problem(f"{name!r} is not under {under}: add it there or correct the name", key)
        if known and not self.judged():
            raise problem("all of them are controls: name a model that is to be judged", under)

    def attacked(self) -> list[str]:
        """The attacks under which models are judged."""
        return []

    def members(self, model: str) -> dict[str, CheckpointSpec]:
        """The checkpoints of a judged model by name: its own, or one a seed."""
        return {model: self.checkpoints()[model]}

    def needed(self, models: Iterable[str]) -> list[str]:
        """The checkpoints that the verdicts on some judged models need: these models, and all that are not judged."""
        left = {*self.judged()}.difference(models)
        return [name for name in self.checkpoints() if name not in left]

    def has_weights(self, spec: CheckpointSpec) -> bool:
        """Whether a checkpoint is to be loaded; False if only what it said elsewhere is there."""
        return True

    def check(self, spec: CheckpointSpec) -> None:
        """Look at a checkpoint's files as the audit needs them, before any is loaded.

        Raises:
            UdsError: It cannot be asked what the audit asks; a line says what and how to mend it.
        """

    def parent(self) -> str | None:
        """The checkpoint that the judged ones were made from; None where the file does not name it."""
        return None

    def weak(self) -> str:
        """The keys, in words, that would name the controls for which stand-ins are used; "" if none are."""
        return ""

    def places(self, document: TomlDocument) -> Iterator[tuple[Keys, str]]:
        """The places and names, in the file, of the checkpoints whose names must differ."""
        return iter(())


class Expectation(Table):
    """A verdict that a claim is known to come to, and why; it is shown apart and never as a pass."""

    verdict: Literal["fail", "undecided", "not applicable"]
    reason: Reason


Verdicts = dict[Literal["pass", "fail"], Annotated[tuple[str, ...], Field(strict=False)]]


def _each_once(verdicts: Verdicts) -> Verdicts:
    listed: set[str] = set()
    for word, subjects in verdicts.items():
        for subject in subjects:
            if subject in listed:
                raise problem(f"{subject!r} is declared already: name each subject once a claim", word)
            listed.add(subject)
    return verdicts


class Common(Table):
    """`thresholds`: by claim, or `claim[candidate]`, a bound of your own; a looser one takes a waiver. `expect`: by
    claim, a verdict that is known. `specimens`: by claim, what each shipped model must come to.
    """

    thresholds: Annotated[dict[str, float], BeforeValidator(claims)] = Field(default_factory=dict)
    expect: Annotated[dict[str, Expectation], BeforeValidator(claims)] = Field(default_factory=dict)
    specimens: Annotated[dict[str, Annotated[Verdicts, AfterValidator(_each_once)]], BeforeValidator(claims)] = Field(
        default_factory=dict
    )
