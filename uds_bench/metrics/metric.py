"""What a metric declares, what it may ask for, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import FactSet, Variant
from uds_bench.inference.states import Scope
from uds_bench.inference.target import PatchPath, Reading

Direction = Literal["knowledge", "erasure"]
Need = Literal["full", "retain", "holdout", "generations", "internals"]


class Subject(Protocol):
    """One loaded checkpoint under measurement, with the references that a metric may need."""

    @property
    def checkpoint(self) -> Checkpoint: ...
    @property
    def facts(self) -> FactSet:
        """The facts that are scored: the forget split."""
        ...

    def reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        """This checkpoint as a source patched into the full model; computed once, shared by metrics."""
        ...

    def retain_reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        """The retain model as a source: the yardstick of erasure."""
        ...

    def full_reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        """The full model as a source of itself."""
        ...

    def rendered(self, variant: Variant = "default") -> str:
        """Digest of the token ids that the models saw."""
        ...

    def patch_path(self, variant: Variant = "default", scope: Scope = "block") -> tuple[PatchPath, str]:
        """How patching was done, and why so."""
        ...


@dataclass(frozen=True)
class FactValue:
    """A metric's value for one fact; None where it is undefined or could not be computed, with the reason."""

    id: str
    value: float | None
    reason: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """What a metric found: values per fact, and facts about the measurement itself.

    The notes `rendered`, `patching` and `patching_reason` go into the score's provenance too.
    """

    values: list[FactValue]
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric:
    """`direction`: whether a higher value means more knowledge or more erasure. `version` rises with its formula.

    `variants`: named forms, the first is the default. `limits`: the smallest and largest possible value per fact.
    `source`: paper and section.
    """

    name: str
    version: int
    direction: Direction
    limits: tuple[float, float]
    needs: frozenset[Need]
    variants: tuple[str, ...]
    source: str
    compute: Callable[[Subject, str], Measured]

    def variant(self, name: str | None) -> str:
        """The variant asked for, or the default; a clear error for a name that does not exist."""
        chosen = name or self.variants[0]
        if chosen not in self.variants:
            raise ValueError(f"metric {self.name} has no variant {chosen!r}: choose from {', '.join(self.variants)}")
        return chosen
