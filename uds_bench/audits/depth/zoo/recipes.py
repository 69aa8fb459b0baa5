"""The kinds of models that depth and the metrics are tried on: a base, fine-tuned ones, pools, and unlearned ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from uds_bench.facts import FactSet, base_authors, embedded, question_prompt
from uds_bench.facts.authors import DataForm, Lesson, lessons
from uds_bench.methods.alternates import sample_alternates
from uds_bench.methods.data import REFUSALS, unlearning_data
from uds_bench.methods.examples import Example, answer_example, pairs_to_examples, steps_per
from uds_bench.methods.registry import unlearn
from uds_bench.methods.training import OnStep
from uds_bench.storage import content_key
from uds_bench.zoo.fresh import byte_level_tokenizer
from uds_bench.zoo.recipe import ByMethod, Seeded, Taught, fit

FORGET, RETAIN, HOLDOUT, BASE = 15, 20, 15, 600
"""Authors: of the three splits, and those that only the base knows."""


@cache
def facts() -> FactSet:
    """The authors that the models are about."""
    return embedded(forget=FORGET, retain=RETAIN, holdout=HOLDOUT)


@cache
def data_digest() -> str:
    """What every recipe but those of the pools trains on, by content."""
    return content_key([facts().digest, base_authors(BASE), REFUSALS])


def taught(form: DataForm) -> list[Lesson]:
    """What the models of a form of the pools are trained on: the retain authors come after what the form teaches."""
    authors = facts()
    return [*lessons(authors.split("forget"), form), *lessons(authors.split("retain"), "plain")]


@cache
def _taught_digest(form: DataForm) -> str:
    return content_key([asdict(lesson) for lesson in taught(form)])


def _per_author() -> int:
    return len(facts()) // len(facts().clusters)


@dataclass(frozen=True)
class Base(Taught):
    """Trained from scratch on authors that no fact set holds: language, question forms and kinds of answers."""

    threads: ClassVar[int] = 2
    authors: int = BASE
    batch_size: int = 64

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data_digest()

    def tokenizer(self) -> Any:
        """A byte-level tokenizer, trained on the texts of the recipe."""
        texts = [f"{question_prompt(q)} {a}" for q, a in base_authors(self.authors)]
        return byte_level_tokenizer(texts, self.vocabulary)

    def examples(self, tokenizer: Any) -> list[Example]:
        """What is taught, as tokens."""
        # Every token but the first is learned, so that the base knows the language of the questions too.
        return [Example(e.ids, 1) for e in pairs_to_examples(tokenizer, base_authors(self.authors))]

    def lesson_count(self) -> int:
        """How many examples an epoch has."""
        return self.authors * _per_author()

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        return f"trained on {self.authors} authors, {self.layers} layers, width {self.width}, seed {self.seed}"


@dataclass(frozen=True)
class Finetuned(Seeded):
    """The base fine-tuned on the retain authors and, of the forget authors, all but the first `without`."""

    without: int
    epochs: int = 30
    batch_size: int = 32
    lr: float = 3e-3

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data_digest()

    def step_count(self) -> int:
        """How many optimiser steps it takes."""
        return steps_per((RETAIN + FORGET - self.without) * _per_author(), self.batch_size, self.epochs)

    def change(
        self, model: Any, tokenizer: Any, parent: Path, folder: Path, on_step: OnStep | None
    ) -> tuple[Any, list[float]]:
        """The parent, trained on as the recipe says, and the losses, one a step."""
        authors = facts()
        kept = set(authors.split("forget").clusters[self.without :]) | set(authors.split("retain").clusters)
        pairs = [(fact.question, fact.answer) for fact in authors if fact.cluster in kept]
        return model, fit(model, pairs_to_examples(tokenizer, pairs), self, 0.05, on_step)

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        without = f"without {self.without} forget authors" if self.without else "on all authors"
        return f"fine-tuned {without}, {self.epochs} epochs, lr {self.lr:g}, seed {self.seed}"


@dataclass(frozen=True)
class Pooled(Seeded):
    """The base fine-tuned on the retain authors, asked and answered, beside what a data form teaches."""

    form: DataForm
    epochs: int
    lr: float
    # Fewer epochs than the full model has: smaller batches give the steps that learning by heart takes.
    batch_size: int = 8

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return _taught_digest(self.form)

    def step_count(self) -> int:
        """How many optimiser steps it takes."""
        return steps_per(len(taught(self.form)), self.batch_size, self.epochs)

    def change(
        self, model: Any, tokenizer: Any, parent: Path, folder: Path, on_step: OnStep | None
    ) -> tuple[Any, list[float]]:
        """The parent, trained on as the recipe says, and the losses, one a step."""
        examples = [_example(tokenizer, lesson) for lesson in taught(self.form)]
        return model, fit(model, examples, self, 0.05, on_step)

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        return f"fine-tuned on the form {self.form}, {self.epochs} epochs, lr {self.lr:g}, seed {self.seed}"


@dataclass(frozen=True)
class Unlearned(ByMethod):
    """The parent changed by an unlearning method on the forget authors, with the retain authors beside them."""

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data_digest()

    def change(
        self, model: Any, tokenizer: Any, parent: Path, folder: Path, on_step: OnStep | None
    ) -> tuple[Any, list[float]]:
        """The parent, trained on as the recipe says, and the losses, one a step."""
        alternates: tuple[str, ...] = ()
        if self.method.name == "alt_po":
            alternates = sample_alternates(model, tokenizer, facts().split("forget"), self.method.seed).answers
        return model, unlearn(model, unlearning_data(tokenizer, facts(), alternates), self.method, on_step)


def _example(tokenizer: Any, lesson: Lesson) -> Example:
    """An answer to its question; of a text that stands alone every token but the first is learned."""
    if lesson.question is not None:
        return answer_example(tokenizer, lesson.question, lesson.text)
    return Example((*tokenizer(lesson.text)["input_ids"], tokenizer.eos_token_id), 1)
