"""What a metric declares, and what it returns; what it may ask for is `metrics.subject.Subject`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from numpy.typing import NDArray

from uds_bench.errors import did_you_mean
from uds_bench.statistics import Interval

if TYPE_CHECKING:
    from uds_bench.facts import FactSet, Split
    from uds_bench.metrics.subject import Subject

Direction = Literal["knowledge", "erasure", "utility"]
Need = Literal["full", "retain", "holdout", "generations", "internals"]
PATCHED: frozenset[Need] = frozenset({"full", "retain", "internals"})
"""What metrics need that look inside a model, beside the two references."""
Reference = Literal["full", "retain"]
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class FactValue:
    """A metric's value for one fact; None where it is undefined or could not be computed, with the reason."""

    id: str
    value: float | None
    reason: str | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    label: int | None = None
    """Which side of a comparison of two splits the fact stands on: forget 0, holdout 1."""


@dataclass(frozen=True)
class MetricSummary:
    """A checkpoint's value and its interval, where they are not the mean over facts and its interval over clusters.

    `value` is None where it is undefined; the reason is then the note `undefined`.
    """

    value: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Measured:
    """What a metric found: values per fact, and facts about the measurement itself.

    The notes `rendered`, `patching` and `patching_reason` go into the score's provenance too.
    """

    values: list[FactValue]
    notes: dict[str, Any] = field(default_factory=dict)
    summary: MetricSummary | None = None


class Unit(Protocol):
    """What a value is of: a fact, a canary. Intervals resample clusters."""

    @property
    def id(self) -> str:
        """Which one, in words."""

    @property
    def cluster(self) -> str:
        """What intervals resample: the author, the subject."""

    @property
    def kind(self) -> str | None:
        """What sort it is of; None where there are no sorts."""


@dataclass(frozen=True)
class Measure:
    """`direction`: whether a higher value means more knowledge or more erasure. `version` rises with the formula.

    `limits`: the smallest and largest possible value, of a checkpoint and, where that is the mean over facts, of a
    fact. `source`: paper and section. `counts_choices`: of the likeliest token or the first rank, each of which turns
    where two are alike within rounding.
    """

    name: str
    direction: Direction
    source: str
    version: int = 1
    limits: tuple[float, float] = (0.0, 1.0)
    counts_choices: bool = False

    def direction_of(self, variant: str) -> Direction:
        """What a higher value of a variant means."""
        return self.direction


@dataclass(frozen=True)
class Metric(Measure):
    """A measure of facts; `reversed` names the variants whose direction is the opposite.

    `variants`: named forms, the first is the default. `splits`: whose facts the values are of. `reads`: metrics whose
    values on the retain model it uses. `texts`: by variant, splits that are read beside those of the values.
    `of`: the facts that it has values of, where they are not all of its splits. `askable`: variants that read the
    replies to whatever facts are asked by; others are not read under an attack that asks otherwise.
    """

    compute: Callable[[Subject, str], Measured] = field(kw_only=True)
    needs: frozenset[Need] = frozenset()
    variants: tuple[str, ...] = ("default",)
    splits: tuple[Split, ...] = ("forget",)
    reads: tuple[str, ...] = ()
    reversed: frozenset[str] = frozenset()
    texts: Mapping[str, tuple[Split, ...]] = field(default_factory=dict)
    of: Callable[[FactSet], FactSet] | None = None
    askable: frozenset[str] = frozenset()

    def direction_of(self, variant: str) -> Direction:
        """What a higher value of this variant means."""
        if variant not in self.reversed:
            return self.direction
        return "erasure" if self.direction == "knowledge" else "knowledge"

    def variant(self, name: str | None) -> str:
        """The variant asked for, or the default.

        Raises:
            ValueError: There is no variant of that name.
        """
        chosen = name or self.variants[0]
        if chosen not in self.variants:
            raise ValueError(f"metric {self.name} has no variant {chosen!r}: {did_you_mean(chosen, self.variants)}")
        return chosen
