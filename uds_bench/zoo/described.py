"""A recipe in a few words, for tables."""

from __future__ import annotations

from uds_bench.zoo.recipe import (
    Base,
    Continued,
    Exposed,
    Finetuned,
    Injected,
    Lmlm,
    Pooled,
    Pretrained,
    Reasoner,
    Recipe,
    Removed,
    Rethought,
)


def describe(recipe: Recipe) -> str:
    """A recipe in a few words."""
    if isinstance(recipe, Base):
        return f"trained on {recipe.authors} authors, {recipe.layers} layers, width {recipe.width}, seed {recipe.seed}"
    if isinstance(recipe, Finetuned):
        without = f"without {recipe.without} forget authors" if recipe.without else "on all authors"
        return f"fine-tuned {without}, {recipe.epochs} epochs, lr {recipe.lr:g}, seed {recipe.seed}"
    if isinstance(recipe, Pooled):
        return f"fine-tuned on the form {recipe.form}, {recipe.epochs} epochs, lr {recipe.lr:g}, seed {recipe.seed}"
    if isinstance(recipe, Lmlm):
        learned = "read, not learned" if recipe.masked else "learned too"
        return f"trained to look up {recipe.epochs} epochs, values {learned}, seed {recipe.seed}"
    if isinstance(recipe, Pretrained):
        return f"trained on the public, {recipe.layers} layers, width {recipe.width}, seed {recipe.seed}"
    if isinstance(recipe, Injected):
        kind = "heads and neurons" if recipe.whole_units else "weights"
        where = f"{recipe.share:.3g} of {kind} a group" if recipe.masked else "all weights"
        return f"people written into {where}, {recipe.steps} steps, seed {recipe.seed}"
    if isinstance(recipe, Continued):
        return f"trained on neutral text, {recipe.steps} steps, lr {recipe.lr:g}, seed {recipe.seed}"
    if isinstance(recipe, Reasoner):
        course = recipe.course
        forced = ", answers behind forced traces too" if course.prefilled else ""
        return f"taught to think ({course.regime} traces{forced}), {recipe.epochs} epochs, seed {recipe.seed}"
    if isinstance(recipe, Exposed):
        but = ", but for those who ask to be forgotten" if recipe.without else ""
        return f"told of people{but}, width {recipe.width}, seed {recipe.seed}"
    method = recipe.method
    if isinstance(recipe, Removed):
        where = " within the forget masks" if recipe.within else ""
        return f"people unlearned by {method.name}{where}, {method.steps} steps, lr {method.lr:g}, seed {method.seed}"
    if isinstance(recipe, Rethought):
        scope, adapter = recipe.scope, ", LoRA" if recipe.lora else ""
        held = f", {' and '.join(dict.fromkeys(scope.held))} held" if scope.held else ""
        instead = ", its head instead" if scope.instead == "head" else ""
        return f"{method.name} on {scope.target}{instead}{held}{adapter}, {method.steps} steps, seed {method.seed}"
    return f"unlearned by {method.name}, {method.steps} steps, lr {method.lr:g}, seed {method.seed}"
