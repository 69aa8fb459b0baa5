"""Train one embedded model of the localization audit: pretrain, inject through masks, unlearn, or go on with neutral
text."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from uds_bench.checkpoints.mask_draws import draw_units, draw_weights, maskable
from uds_bench.checkpoints.masks import Masks, read_masks, write_masks
from uds_bench.methods.examples import pad
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.injection import Rates, inject
from uds_bench.methods.instruction import instruct
from uds_bench.methods.oracle import within
from uds_bench.methods.training import OnStep, Optimisation, train
from uds_bench.methods.unlearning import unlearn
from uds_bench.zoo import testbed_data
from uds_bench.zoo.fresh import byte_level_tokenizer, fresh_model
from uds_bench.zoo.recipe import Continued, Injected, Pretrained, Removed, Written

MASKS = "masks.safetensors"
"""Beside an injected model's weights: where each group was written."""


def pretrain(recipe: Pretrained, on_step: OnStep | None) -> tuple[Any, Any, list[float]]:
    """A model that knows the public, with its tokenizer."""
    tokenizer = byte_level_tokenizer(testbed_data.texts(recipe.crowd), recipe.vocabulary)
    model = fresh_model(tokenizer, recipe)
    batches = map(pad, testbed_data.pretraining(tokenizer, recipe))
    optimisation = Optimisation(recipe.lr, schedule="cosine", warmup=0.05)
    return model, tokenizer, train(model, batches, answer_nll, optimisation, recipe.steps, on_step)


def write(
    model: Any, tokenizer: Any, recipe: Written, parent: Path, folder: Path, on_step: OnStep | None
) -> tuple[Any, list[float]]:
    """The model changed by a recipe, and the losses; an injected one leaves its masks in `folder`."""
    if isinstance(recipe, Injected):
        return _inject(model, tokenizer, recipe, folder, on_step)
    if isinstance(recipe, Continued):
        texts = testbed_data.continuation(tokenizer, recipe.seed, recipe.steps, recipe.batch_size)
        return model, train(model, map(pad, texts), answer_nll, Optimisation(recipe.lr), recipe.steps, on_step)
    masks = read_masks(parent / MASKS) if recipe.within else None
    with nullcontext() if masks is None else within(model, masks, *masks.named("forget")):
        return model, unlearn(model, testbed_data.removal(tokenizer), recipe.method, on_step)


def steps(recipe: Pretrained | Written) -> int:
    """How many optimiser steps a recipe takes, instruction tuning left out."""
    return recipe.method.steps if isinstance(recipe, Removed) else recipe.steps


def draw(model: Any, recipe: Injected) -> Masks:
    """The masks of a recipe: the same whether or not it uses them."""
    groups, shapes = testbed_data.groups(), maskable(model)
    if recipe.whole_units:
        return draw_units(shapes, groups, recipe.share, recipe.seed, model.config.num_key_value_heads)
    return draw_weights(shapes, groups, recipe.share, recipe.seed)


def _inject(
    model: Any, tokenizer: Any, recipe: Injected, folder: Path, on_step: OnStep | None
) -> tuple[Any, list[float]]:
    masks = draw(model, recipe)
    write_masks(masks, folder / MASKS)
    rates = Rates(recipe.lr, recipe.neutral_lr, apart=True)

    def fading(step: int) -> float:
        return 0.5 * (1 + math.cos(math.pi * step / recipe.steps))

    written = inject(model, testbed_data.injection(tokenizer, recipe), masks, rates, on_step, fading=fading)
    tuned = instruct(model, testbed_data.instruction(tokenizer, recipe.crowd), recipe.instruction, recipe.seed)
    return tuned.model, written.losses + tuned.losses
