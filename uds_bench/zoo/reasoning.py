"""Train one reasoning model, or unlearn from one, by its recipe."""

from __future__ import annotations

from typing import Any

from tokenizers import AddedToken

from uds_bench.facts.canaries import CLOSING, OPENING
from uds_bench.facts.reasoning import complete_prompt
from uds_bench.methods.examples import Example
from uds_bench.methods.lora import with_lora
from uds_bench.methods.trace_data import trace_data
from uds_bench.methods.traces import META, lessons
from uds_bench.methods.training import OnStep
from uds_bench.methods.unlearning import unlearn
from uds_bench.zoo.fresh import byte_level_tokenizer
from uds_bench.zoo.reasoning_data import ASSISTANT, CHAT, USER, alternates, canaries, others
from uds_bench.zoo.recipe import CANARIES, Reasoner, Rethought


def taught_turns(tokenizer: Any, recipe: Reasoner) -> list[Example]:
    """What a reasoner is trained on: every author but those who are never trained on."""
    known = [canary for canary in canaries() if canary.split != "holdout"]
    return lessons(tokenizer, known, recipe.course)


def lesson_count(recipe: Reasoner) -> int:
    forget, retain, _ = CANARIES
    return (forget + retain) * recipe.course.size


def rethink(model: Any, tokenizer: Any, recipe: Rethought, on_step: OnStep | None) -> tuple[Any, list[float]]:
    """The unlearned model, its adapter merged where it has one, and the losses."""
    data = trace_data(tokenizer, canaries(), recipe.course, recipe.scope, alternates())
    if recipe.lora is None:
        return model, unlearn(model, data, recipe.method, on_step)
    adapted = with_lora(model, recipe.lora, recipe.method.seed)
    losses = unlearn(adapted, data, recipe.method, on_step)
    return adapted.merge_and_unload(), losses


def reasoning_tokenizer(vocabulary: int) -> Any:
    """Byte-level BPE in the words of other authors, with turns of a chat and tags of a trace.

    The tags are text, not special tokens: whatever drops special tokens from an answer would drop the closing tag.
    """
    texts = [META]
    for canary in others():
        texts += [canary.bio, complete_prompt(canary.author, canary.head)]
        texts += [text for pair in canary.qa for text in pair]
    tokenizer = byte_level_tokenizer(texts, vocabulary)
    tokenizer.add_special_tokens({"additional_special_tokens": [USER, ASSISTANT]})
    tokenizer.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in (OPENING, CLOSING)])
    tokenizer.chat_template = CHAT
    return tokenizer
