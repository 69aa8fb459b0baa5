"""What an embedded model can be: each class holds everything that its training depends on."""

from __future__ import annotations

from dataclasses import dataclass

from uds_bench.facts.forms import DataForm
from uds_bench.methods.unlearning import Method

FORGET, RETAIN, HOLDOUT, BASE = 15, 20, 15, 600
"""Authors: of the three splits, and those that only the base knows."""


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


Recipe = Base | Finetuned | Pooled | Unlearned


def parent(recipe: Recipe) -> str | None:
    return None if isinstance(recipe, Base) else recipe.parent
