"""What an embedded model can be: a recipe holds everything that its training depends on, and trains it.

Each audit has recipes of its own in its package's `zoo`: subclasses of `Taught`, `Fresh`, `Seeded` or `ByMethod`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.methods.data import Data
from uds_bench.methods.examples import Example, epochs, steps_per
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.method import Method
from uds_bench.methods.training import OnStep, Optimisation, train
from uds_bench.zoo.fresh import fresh_model, fresh_weights

DRAW = 1000
"""Distance between the seeds of two draws of the whole zoo."""


REFERENCE, PARENT, PASSES, FAILS = "reference", "parent", "must pass", "must fail"
"""What a shipped model is a specimen of: one that others are held against, one that others are made of, one that a gate
must clear, or one that it must catch."""


class Trained(NamedTuple):
    """A trained model with its tokenizer, and the losses, one a step."""

    model: Any
    tokenizer: Any
    losses: list[float]


class Recipe(ABC):
    """One embedded model. A dataclass: its fields, its class's name and `data` are the model's content address."""

    threads: ClassVar[int] = 1
    """What it trains with: two single-threaded trainings side by side use two cores best, but most wait for a base."""

    @property
    @abstractmethod
    def ancestor(self) -> str | None:
        """The model that this one is trained from; None for one that is trained from scratch."""

    @abstractmethod
    def redrawn(self, draw: int) -> Self:
        """The same recipe of another draw: its seed is moved, and its ancestor is of that draw."""

    @abstractmethod
    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""

    @abstractmethod
    def step_count(self) -> int:
        """How many optimiser steps it takes, for the progress bar."""

    @property
    def weights(self) -> int:
        """How many weights it has, if it is trained from scratch; else 0: it has its ancestor's."""
        return 0

    @abstractmethod
    def describe(self) -> str:
        """It in a few words, for tables."""

    @abstractmethod
    def train(self, parent: Path | None, folder: Path, on_step: OnStep | None = None) -> Trained:
        """Train the model. `parent`: the ancestor's folder. `folder`: where files beside the weights go."""

    def build(self, parent: Path | None, folder: Path, on_step: OnStep | None = None) -> list[float]:
        """Train and save the model with its tokenizer into `folder`; returns the losses, one a step."""
        trained = self.train(parent, folder, on_step)
        trained.model.save_pretrained(folder)
        trained.tokenizer.save_pretrained(folder)
        return trained.losses


@dataclass(frozen=True)
class Fresh(Recipe):
    """Trained from scratch: a small Llama with random weights, drawn from the seed."""

    seed: int = 0
    width: int = 96
    layers: int = 4
    vocabulary: int = 1024

    ancestor: ClassVar[None] = None

    @property
    def weights(self) -> int:
        """How many weights it has."""
        return fresh_weights(self.vocabulary, self.width, self.layers)

    def redrawn(self, draw: int) -> Self:
        """The same recipe of another draw: its seed is moved."""
        return replace(self, seed=self.seed + DRAW * draw)


class Schedule(Protocol):
    """How long, and how, a model is trained on examples."""

    @property
    def seed(self) -> int:
        """Orders the batches."""

    @property
    def epochs(self) -> int:
        """How often every example is seen."""

    @property
    def batch_size(self) -> int:
        """Examples a step."""

    @property
    def lr(self) -> float:
        """The highest learning rate of a cosine."""


def fit(
    model: Any, examples: Sequence[Example], schedule: Schedule, warmup: float, on_step: OnStep | None
) -> list[float]:
    """Train a model on examples, by answers' likelihood and at a rate that falls as a cosine.

    Args:
        model: A causal language model of transformers; it is changed in place.
        examples: Questions and answers in its tokens.
        schedule: Epochs, batch size, rate, and the seed by which each epoch is ordered.
        warmup: Share of the steps in which the rate rises, 0 to 1.
        on_step: Called after each step with its number, from 1, and its loss.

    Returns:
        The loss before each step, [steps], in nats a token; lower is likelier.

    Raises:
        FloatingPointError: The training diverges.
    """
    generator = torch.Generator().manual_seed(schedule.seed)
    batches = epochs(examples, schedule.batch_size, schedule.epochs, generator)
    optimisation = Optimisation(schedule.lr, schedule="cosine", warmup=warmup)
    count = steps_per(len(examples), schedule.batch_size, schedule.epochs)
    return train(model, batches, answer_nll, optimisation, count, on_step)


@dataclass(frozen=True)
class Taught(Fresh):
    """Trained from scratch on examples."""

    epochs: int = 1
    batch_size: int = 16
    lr: float = 3e-3

    @abstractmethod
    def tokenizer(self) -> Any:
        """The tokenizer that its kind needs."""

    @abstractmethod
    def examples(self, tokenizer: Any) -> list[Example]:
        """What it is taught."""

    @abstractmethod
    def lesson_count(self) -> int:
        """How many examples there are."""

    def step_count(self) -> int:
        """How many optimiser steps it takes."""
        return steps_per(self.lesson_count(), self.batch_size, self.epochs)

    def train(self, parent: Path | None, folder: Path, on_step: OnStep | None = None) -> Trained:
        """Train from random weights on the recipe's examples."""
        tokenizer = self.tokenizer()
        model = fresh_model(tokenizer, self.seed, self.width, self.layers)
        return Trained(model, tokenizer, fit(model, self.examples(tokenizer), self, 0.1, on_step))


@dataclass(frozen=True)
class Changed(Recipe):
    """Another embedded model, changed."""

    parent: str

    @property
    def ancestor(self) -> str:
        """The model that this one is trained from."""
        return self.parent

    @abstractmethod
    def change(
        self, model: Any, tokenizer: Any, parent: Path, folder: Path, on_step: OnStep | None
    ) -> tuple[Any, list[float]]:
        """The changed model, and the losses, one a step."""

    def train(self, parent: Path | None, folder: Path, on_step: OnStep | None = None) -> Trained:
        """Train on from the parent."""
        assert parent is not None
        tokenizer = AutoTokenizer.from_pretrained(parent)
        model = AutoModelForCausalLM.from_pretrained(parent, dtype=torch.float32)
        model, losses = self.change(model, tokenizer, parent, folder, on_step)
        return Trained(model, tokenizer, losses)


@dataclass(frozen=True)
class Seeded(Changed):
    """Another embedded model, trained on; its order of batches follows a seed of its own."""

    seed: int

    def redrawn(self, draw: int) -> Self:
        """The same recipe of another draw: its seed is moved, and its ancestor is of that draw."""
        return replace(self, seed=self.seed + DRAW * draw, parent=f"{self.parent}@{draw}")


@dataclass(frozen=True)
class ByMethod(Changed):
    """Another embedded model, changed by an unlearning method."""

    method: Method

    def redrawn(self, draw: int) -> Self:
        """The same recipe of another draw: its seed is moved, and its ancestor is of that draw."""
        method = replace(self.method, seed=self.method.seed + DRAW * draw)
        return replace(self, method=method, parent=f"{self.parent}@{draw}")

    def step_count(self) -> int:
        """How many optimiser steps it takes."""
        return self.method.steps

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        return f"unlearned by {self.method.name}, {self.settings()}"

    def settings(self) -> str:
        """How long, how fast and in which order, in words."""
        return f"{self.method.steps} steps, lr {self.method.lr:g}, seed {self.method.seed}"


@dataclass(frozen=True)
class Bed:
    """What an unlearning method is tried on: a shipped model, and by a tokenizer what it is to forget and to keep."""

    parent: str
    data: Callable[[Any], Data]


@dataclass(frozen=True)
class Zoo:
    """An audit's embedded models. `models`: those of the zoo profile. `further`: those that the full profile, tables
    and searches for settings add. `shipped`: by the name of a model that ships, what it is a specimen of. `bed`: what
    methods are tried on, whose models are judged by the manifest `bed.toml` beside the audit."""

    models: Mapping[str, Recipe]
    further: Mapping[str, Recipe] = field(default_factory=dict)
    shipped: Mapping[str, str] = field(default_factory=dict)
    bed: Bed | None = None
