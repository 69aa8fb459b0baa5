"""Relearning: a short fine-tuning, on the forget set or beside it; what was only hidden comes back faster than what is
gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Literal, get_args

import torch

from uds_bench.attacks.attack import Attack, load_full
from uds_bench.attacks.teaching import Data, Teaching
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.facts import FactSet
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


def _apply(
    spec: CheckpointSpec,
    device: str,
    facts: FactSet,
    *,
    count: int,
    lr: float,
    batch_size: int,
    precision: Precision,
    seed: int,
    lessons: Lessons,
    rank: int | None,
    name: str,
) -> Checkpoint:
    # What was trained is measured as it is: rounded back, small steps would be lost again.
    checkpoint = load_full(spec if precision == "load" else replace(spec, dtype="float32"), device, name)
    examples = lessons(checkpoint.tokenizer, facts)
    batches = epochs(examples, batch_size, count, torch.Generator().manual_seed(seed))
    trained = checkpoint.model if rank is None else with_lora(checkpoint.model, LoraSettings(rank, 2 * rank), seed)
    train(
        trained,
        (batch.to(checkpoint.device) for batch in batches),
        answer_nll,
        Optimisation(lr),
        steps_per(len(examples), batch_size, count),
        dropout=False,  # by which whoever made the model could keep it from learning
    )
    return checkpoint if rank is None else replace(checkpoint, model=trained.merge_and_unload())


def _questions(teaching: Teaching, tokenizer: Any, facts: FactSet) -> list[Example]:
    pairs = [(fact.question, fact.answer) for fact in teaching.taught(facts)]
    return pairs_to_examples(tokenizer, pairs, facts.date_string)


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
    settings = {"epochs": epochs, "lr": lr, "batch_size": batch_size, "precision": precision, "rank": rank}
    apply = partial(
        _apply,
        count=epochs,
        lr=lr,
        batch_size=batch_size,
        precision=precision,
        seed=seed,
        lessons=lessons or partial(_questions, teaching),
        rank=rank,
        name=name,
    )
    told = settings | asdict(teaching)
    return Attack(name, 3, "UDS guide, section 4.1", apply, told, teaching=teaching, trains=rank is None)
