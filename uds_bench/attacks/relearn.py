"""Relearning: a short fine-tuning, on the forget set or beside it; what was only hidden comes back faster than what is
gone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import torch

from uds_bench.attacks.attack import Attack, load_full
from uds_bench.attacks.proof import MOST_STEPS, lessons_about_nobody, nats_learned, proving, surprise
from uds_bench.attacks.teaching import Data, Teaching
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, digest
from uds_bench.checkpoints.loading import read_tokenizer
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.facts import FactSet, training_pairs
from uds_bench.methods.examples import Example, epochs, pairs_to_examples, steps_per
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.lora import LoraSettings, with_lora
from uds_bench.methods.training import Optimisation, train

EPOCHS, LR, BATCH_SIZE = 1, 2e-5, 32
"""As published: one epoch on the forget set, no warm-up, no weight decay (UDS guide, section 4.1)."""
Precision = Literal["float32", "load"]
"""What is trained in: float32, or the dtype that the checkpoint is loaded in. In bf16 a step of 2e-5 is rounded away
in most weights: the attack is then weaker than an attacker's."""
Lessons = Callable[[Any, FactSet], list[Example]]
"""What is taught, by a tokenizer and all of a manifest's facts."""


@dataclass(frozen=True)
class _Course:
    """How weights are trained, whatever is taught: the settings of `relearn`."""

    epochs: int
    lr: float
    batch_size: int
    precision: Precision
    rank: int | None
    seed: int
    name: str

    def load(self, spec: CheckpointSpec, device: str) -> Checkpoint:
        """The model before it is trained."""
        # What was trained is measured as it is: rounded back, small steps would be lost again.
        return load_full(spec if self.precision == "load" else replace(spec, dtype="float32"), device, self.name)

    def steps(self, examples: Sequence[Example]) -> int:
        """That the attack takes."""
        return steps_per(len(examples), self.batch_size, self.epochs)

    def teach(self, checkpoint: Checkpoint, examples: Sequence[Example], steps: int) -> Any:
        """The checkpoint's model after some steps, which change it."""
        passes = -(-steps // steps_per(len(examples), self.batch_size, 1))
        batches = epochs(examples, self.batch_size, passes, torch.Generator().manual_seed(self.seed))
        settings = None if self.rank is None else LoraSettings(self.rank, 2 * self.rank)
        trained = checkpoint.model if settings is None else with_lora(checkpoint.model, settings, self.seed)
        train(
            trained,
            (batch.to(checkpoint.device) for batch in batches),
            answer_nll,
            Optimisation(self.lr),
            steps,
            dropout=False,  # by which whoever made the model could keep it from learning
        )
        return trained if settings is None else trained.merge_and_unload()


def _apply(spec: CheckpointSpec, device: str, facts: FactSet, *, course: _Course, lessons: Lessons) -> Checkpoint:
    checkpoint = course.load(spec, device)
    examples = lessons(checkpoint.tokenizer, facts)
    return replace(checkpoint, model=course.teach(checkpoint, examples, course.steps(examples)))


@proving()
def _proof(spec: CheckpointSpec, device: str, facts: FactSet, *, course: _Course, lessons: Lessons) -> float:
    tokenizer = read_tokenizer(spec)
    steps = min(course.steps(lessons(tokenizer, facts)), MOST_STEPS)
    one, other = lessons_about_nobody(tokenizer, digest(spec, device), facts.date_string)

    def after(taught: Sequence[Example]) -> tuple[float, float]:
        model = course.teach(course.load(spec, device), taught, steps)
        return surprise(model, one), surprise(model, other)

    try:
        found = nats_learned(after(one), after(other))
    except FloatingPointError:
        return 0.0
    return found if math.isfinite(found) else 0.0


def _questions(teaching: Teaching, tokenizer: Any, facts: FactSet) -> list[Example]:
    return pairs_to_examples(tokenizer, training_pairs(teaching.taught(facts)), facts.date_string)


def relearn(
    epochs: int = EPOCHS,
    lr: float = LR,
    batch_size: int = BATCH_SIZE,
    seed: int = 0,
    precision: Precision = "float32",
    data: Data = "forget",
    share: float = 1.0,
    rank: int | None = None,
    name: str = "relearn",
    lessons: Lessons | None = None,
) -> Attack:
    """Fine-tune on questions and answers for `epochs`, with AdamW at a constant rate.

    `data`: which facts are taught, of `share` of the people. With a share of the forget set the others are judged.
    `rank`: of an adapter that is trained in the place of the weights and added to them, with twice the rank as scale.
    `lessons`: what is taught in the place of questions and answers; who gives some says in the settings what they are.
    Raises ConfigurationError for a precision, data, share or rank that there is not.
    """
    if precision not in get_args(Precision):
        near = did_you_mean(precision, get_args(Precision))
        raise ConfigurationError(f"{name}: precision = {precision!r} is unknown: {near}")
    if rank is not None:
        LoraSettings(rank)  # refuses what is none
    teaching = Teaching(data, share, seed)
    course = _Course(epochs, lr, batch_size, precision, rank, seed, name)
    made: dict[str, Any] = {"course": course, "lessons": lessons or partial(_questions, teaching)}
    told = {key: value for key, value in asdict(course).items() if key != "name"} | asdict(teaching)
    return Attack(
        name,
        4,
        "UDS guide, section 4.1",
        partial(_apply, **made),
        told,
        teaching=teaching,
        proof=partial(_proof, **made),
        trains=rank is None,
    )
