"""What a metric declares, what it may ask for, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from uds_bench.statistics import Interval

if TYPE_CHECKING:
    from uds_bench.checkpoints import Checkpoint
    from uds_bench.facts import EncodedFact, FactSet, Form, Split, Variant
    from uds_bench.inference.answers import AnswerScores
    from uds_bench.inference.states import Scope
    from uds_bench.inference.target import PatchPath, Reading

Direction = Literal["knowledge", "erasure", "utility"]
Need = Literal["full", "retain", "holdout", "generations", "internals"]
Reference = Literal["full", "retain"]
Arrays = Mapping[str, NDArray[np.float64]]


class Subject(Protocol):
    """One loaded checkpoint under measurement, with the references that a metric may need."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The model that is measured."""

    @property
    def batch_size(self) -> int:
        """How many facts go through the model at a time."""

    @property
    def facts(self) -> FactSet:
        """The facts that are scored: the forget split."""

    def split(self, name: Split) -> FactSet:
        """The facts of any split; empty where the facts have none."""

    def answers(self, form: Form = "original", split: Split = "forget") -> Sequence[Sequence[AnswerScores]]:
        """Teacher-forced answers to each fact's question, one list a fact; one pass, shared by metrics.

        A fact that lacks the form (no paraphrase, no wrong answers) has an empty list.
        """

    def generations(self, opening: str = "", split: Split = "forget") -> Sequence[str]:
        """The greedy answer to each fact's question, at most 200 tokens; `opening`: words put into its mouth."""

    def questions(self, opening: str = "", split: Split = "forget") -> Sequence[tuple[int, ...]]:
        """The token ids that `generations` asks each fact with."""

    def entities(self) -> Sequence[EncodedFact]:
        """The scored facts as this checkpoint's own tokenizer splits them, with the tokens of their entities."""

    def retain_values(self, metric: str, variant: str | None = None) -> Sequence[FactValue]:
        """What another metric found on the retain model; the metric must declare it in `reads`."""

    def of_references(self, name: str, compute: Callable[[Checkpoint, Checkpoint], Arrays]) -> Arrays:
        """Arrays taken from the full and the retain model, in this order, which `name` says what they are.

        Computed once for the models' content, then kept.
        """

    def reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        """This checkpoint as a source patched into the full model; computed once, shared by metrics."""

    def said(self) -> Sequence[float]:
        """Of each scored fact 1 where this checkpoint predicts every entity token greedily, else 0."""

    @property
    def kept(self) -> FactSet:
        """The facts to be retained that alignment is fitted on and what is spared is read from."""

    def aligned_reading(self, split: Split = "forget", turned: bool = False) -> Reading:
        """This checkpoint as a source whose states were brought into the full model's basis before they are patched.

        `split`: the facts to be forgotten, or `retain` for those that are `kept`. `turned`: a control, see `turn`.
        """

    def retain_aligned(self) -> Reading:
        """The retain model as an aligned source of the facts to be forgotten."""

    def retain_reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        """The retain model as a source: the yardstick of erasure."""

    def full_reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        """The full model as a source of itself."""

    def rendered(self, variant: Variant = "default") -> str:
        """Digest of the token ids that the models saw."""

    def entity_lengths(self, variant: Variant = "default") -> Sequence[int]:
        """How many tokens each fact's entity has."""

    def patch_path(self, variant: Variant = "default", scope: Scope = "block") -> tuple[PatchPath, str]:
        """How patching was done, and why so."""


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
class Summary:
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
    summary: Summary | None = None


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
    fact. `source`: paper and section.
    """

    name: str
    version: int
    direction: Direction
    limits: tuple[float, float]
    source: str

    def direction_of(self, variant: str) -> Direction:
        """What a higher value of a variant means."""
        return self.direction


@dataclass(frozen=True)
class Metric(Measure):
    """A measure of facts; `reversed` names the variants whose direction is the opposite.

    `variants`: named forms, the first is the default. `splits`: whose facts the values are of. `reads`: metrics whose
    values on the retain model it uses. `texts`: by variant, splits that are read beside those of the values.
    `of`: the facts that it has values of, where they are not all of its splits.
    """

    needs: frozenset[Need]
    variants: tuple[str, ...]
    compute: Callable[[Subject, str], Measured]
    splits: tuple[Split, ...] = ("forget",)
    reads: tuple[str, ...] = ()
    reversed: frozenset[str] = frozenset()
    texts: Mapping[str, tuple[Split, ...]] = field(default_factory=dict)
    of: Callable[[FactSet], FactSet] | None = None

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
            raise ValueError(f"metric {self.name} has no variant {chosen!r}: choose from {', '.join(self.variants)}")
        return chosen
