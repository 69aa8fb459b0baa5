"""What an embedded model can be: each class holds everything that its training depends on."""

from __future__ import annotations

from dataclasses import dataclass, field

from uds_bench.facts.forms import DataForm
from uds_bench.methods.lora import LoraSettings
from uds_bench.methods.method import Method
from uds_bench.methods.trace_data import Scope
from uds_bench.methods.traces import Course

FORGET, RETAIN, HOLDOUT, BASE = 15, 20, 15, 600
"""Authors: of the three splits, and those that only the base knows."""
CANARIES = (40, 10, 10)
"""Authors of the reasoning models: to forget, to retain, and never trained on. Of 40 without a hit the exact bound is
0.088, below the 0.10 of the claims."""


@dataclass(frozen=True)
class Base:
    """Trained from scratch on authors that no fact set holds: language, question forms and kinds of answers."""

    seed: int = 0
    authors: int = BASE
    width: int = 96
    layers: int = 4
    vocabulary: int = 1024
    epochs: int = 1
    batch_size: int = 64
    lr: float = 3e-3


@dataclass(frozen=True)
class Finetuned:
    """The base fine-tuned on the retain authors and, of the forget authors, all but the first `without`."""

    parent: str
    without: int
    seed: int
    epochs: int = 30
    batch_size: int = 32
    lr: float = 3e-3


@dataclass(frozen=True)
class Pooled:
    """The base fine-tuned on the retain authors, asked and answered, beside what a data form teaches."""

    parent: str
    form: DataForm
    seed: int
    epochs: int
    lr: float
    # Fewer epochs than the full model has: smaller batches give the steps that learning by heart takes.
    batch_size: int = 8


@dataclass(frozen=True)
class Unlearned:
    """The parent changed by an unlearning method on the forget authors, with the retain authors beside them."""

    parent: str
    method: Method


@dataclass(frozen=True)
class Reasoner:
    """Trained from scratch to think before it answers, on the canaries of the forget and retain authors."""

    seed: int
    course: Course = field(default_factory=Course)
    width: int = 64
    layers: int = 3
    vocabulary: int = 1024
    epochs: int = 20
    batch_size: int = 16
    lr: float = 4e-3


@dataclass(frozen=True)
class Rethought:
    """A reasoner changed by an unlearning method; `course` is the parent's, whose lessons the retain authors keep.

    With `lora` an adapter alone is trained, and added to the weights at the end.
    """

    parent: str
    method: Method
    scope: Scope = field(default_factory=Scope)
    course: Course = field(default_factory=Course)
    lora: LoraSettings | None = None


@dataclass(frozen=True)
class Lmlm:
    """Trained from scratch to look facts up: prompts of the embedded databases, answered by a lookup and its value.

    `masked`: the value is read and not learned, so that the weights never hold it. Without that it is learned too.
    """

    seed: int = 0
    masked: bool = True
    width: int = 96
    layers: int = 3
    vocabulary: int = 1024
    epochs: int = 1
    batch_size: int = 16
    lr: float = 4e-3


Fresh = Base | Reasoner | Lmlm
"""Trained from scratch."""
Recipe = Fresh | Finetuned | Pooled | Unlearned | Rethought


def parent(recipe: Recipe) -> str | None:
    return None if isinstance(recipe, Fresh) else recipe.parent
