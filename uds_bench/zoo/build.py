"""Train one embedded model from its recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.facts import base_authors, question_prompt
from uds_bench.facts.forms import Lesson
from uds_bench.methods.alternates import sample_alternates
from uds_bench.methods.data import unlearning_data
from uds_bench.methods.examples import Example, answer_example, epochs, pairs_to_examples, steps_per
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.training import OnStep, Optimisation, train
from uds_bench.methods.unlearning import unlearn
from uds_bench.zoo import exposure_data, injected, lookup_data
from uds_bench.zoo.fresh import byte_level_tokenizer, fresh_model
from uds_bench.zoo.reasoning import lesson_count, reasoning_tokenizer, rethink, taught_turns
from uds_bench.zoo.recipe import (
    FORGET,
    RETAIN,
    Base,
    Exposed,
    Finetuned,
    Lmlm,
    Pooled,
    Pretrained,
    Reasoner,
    Recipe,
    Requested,
    Rethought,
    Unlearned,
    Written,
)
from uds_bench.zoo.recipes import facts, taught


def steps(recipe: Recipe) -> int:
    """How many optimiser steps a recipe takes, for the progress bar."""
    if isinstance(recipe, Unlearned | Rethought | Requested):
        return recipe.method.steps
    if isinstance(recipe, Exposed):
        return -(-len(exposure_data.told(recipe)) // recipe.batch_size) * recipe.epochs
    if isinstance(recipe, Pretrained | Written):
        return injected.steps(recipe)
    if isinstance(recipe, Lmlm):
        return -(-lookup_data.lesson_count() // recipe.batch_size) * recipe.epochs
    if isinstance(recipe, Reasoner):
        return -(-lesson_count(recipe) // recipe.batch_size) * recipe.epochs
    if isinstance(recipe, Pooled):
        return -(-len(taught(recipe.form)) // recipe.batch_size) * recipe.epochs
    authors = recipe.authors if isinstance(recipe, Base) else RETAIN + FORGET - recipe.without
    return -(-authors * len(facts()) // len(facts().clusters) // recipe.batch_size) * recipe.epochs


def build(recipe: Recipe, parent: Path | None, folder: Path, on_step: OnStep | None = None) -> list[float]:
    """Train and save a model with its tokenizer into `folder`; returns the losses, one a step."""
    if isinstance(recipe, Base):
        model, tokenizer, losses = _base(recipe, on_step)
    elif isinstance(recipe, Pretrained):
        model, tokenizer, losses = injected.pretrain(recipe, on_step)
    elif isinstance(recipe, Reasoner | Lmlm | Exposed):
        model, tokenizer, losses = _alone(recipe, on_step)
    else:
        assert parent is not None
        tokenizer = AutoTokenizer.from_pretrained(parent)
        model = AutoModelForCausalLM.from_pretrained(parent, dtype=torch.float32)
        if isinstance(recipe, Rethought):
            model, losses = rethink(model, tokenizer, recipe, on_step)
        elif isinstance(recipe, Written):
            model, losses = injected.write(model, tokenizer, recipe, parent, folder, on_step)
        else:
            losses = _change(model, tokenizer, recipe, on_step)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return losses


def _base(recipe: Base, on_step: OnStep | None) -> tuple[Any, Any, list[float]]:
    pairs = base_authors(recipe.authors)
    tokenizer = byte_level_tokenizer([f"{question_prompt(q)} {a}" for q, a in pairs], recipe.vocabulary)
    model = fresh_model(tokenizer, recipe)
    # Every token but the first is learned, so that the base knows the language of the questions too.
    examples = [Example(e.ids, 1) for e in pairs_to_examples(tokenizer, pairs)]
    optimisation = Optimisation(recipe.lr, schedule="cosine", warmup=0.1)
    return model, tokenizer, _fit(model, examples, recipe, optimisation, on_step)


def _alone(recipe: Reasoner | Lmlm | Exposed, on_step: OnStep | None) -> tuple[Any, Any, list[float]]:
    """A model of its own kind, with the tokenizer that this kind needs."""
    if isinstance(recipe, Lmlm):
        tokenizer = lookup_data.lookup_tokenizer(recipe.vocabulary)
        examples = lookup_data.lessons(tokenizer, recipe.masked, recipe.seed)
    elif isinstance(recipe, Exposed):
        tokenizer = byte_level_tokenizer(exposure_data.texts(), recipe.vocabulary)
        examples = exposure_data.lessons(tokenizer, recipe)
    else:
        tokenizer = reasoning_tokenizer(recipe.vocabulary)
        examples = taught_turns(tokenizer, recipe)
    model = fresh_model(tokenizer, recipe)
    optimisation = Optimisation(recipe.lr, schedule="cosine", warmup=0.1)
    return model, tokenizer, _fit(model, examples, recipe, optimisation, on_step)


def _change(
    model: Any, tokenizer: Any, recipe: Finetuned | Pooled | Unlearned | Requested, on_step: OnStep | None
) -> list[float]:
    if isinstance(recipe, Requested):
        return unlearn(model, exposure_data.removal(tokenizer, recipe), recipe.method, on_step)
    if isinstance(recipe, Unlearned):
        return _unlearn(model, tokenizer, recipe, on_step)
    if isinstance(recipe, Finetuned):
        return _finetune(model, tokenizer, recipe, on_step)
    examples = [_example(tokenizer, lesson) for lesson in taught(recipe.form)]
    return _fit(model, examples, recipe, Optimisation(recipe.lr, schedule="cosine", warmup=0.05), on_step)


def _finetune(model: Any, tokenizer: Any, recipe: Finetuned, on_step: OnStep | None) -> list[float]:
    authors = facts()
    kept = set(authors.split("forget").clusters[recipe.without :]) | set(authors.split("retain").clusters)
    pairs = [(fact.question, fact.answer) for fact in authors if fact.cluster in kept]
    optimisation = Optimisation(recipe.lr, schedule="cosine", warmup=0.05)
    return _fit(model, pairs_to_examples(tokenizer, pairs), recipe, optimisation, on_step)


def _fit(
    model: Any,
    examples: list[Example],
    recipe: Base | Reasoner | Lmlm | Exposed | Finetuned | Pooled,
    optimisation: Optimisation,
    on_step: OnStep | None,
) -> list[float]:
    generator = torch.Generator().manual_seed(recipe.seed)
    batches = epochs(examples, recipe.batch_size, recipe.epochs, generator)
    count = steps_per(examples, recipe.batch_size, recipe.epochs)
    return train(model, batches, answer_nll, optimisation, count, on_step)


def _example(tokenizer: Any, lesson: Lesson) -> Example:
    """An answer to its question; of a text that stands alone every token but the first is learned."""
    if lesson.question is not None:
        return answer_example(tokenizer, lesson.question, lesson.text)
    return Example((*tokenizer(lesson.text)["input_ids"], tokenizer.eos_token_id), 1)


def _unlearn(model: Any, tokenizer: Any, recipe: Unlearned, on_step: OnStep | None) -> list[float]:
    alternates: tuple[str, ...] = ()
    if recipe.method.name == "alt_po":
        alternates = sample_alternates(model, tokenizer, facts().split("forget"), recipe.method.seed).answers
    return unlearn(model, unlearning_data(tokenizer, facts(), alternates), recipe.method, on_step)
