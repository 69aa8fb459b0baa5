"""Reasoning models that are silent where they are asked in public: a shipped one that knew nobody, taught."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.audits.bypass.zoo.data import alternates, canaries
from uds_bench.methods.examples import Example, epochs, steps_per
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.traces import Course, lessons, probe, turn_example
from uds_bench.methods.training import Optimisation, train
from uds_bench.zoo.specimens import folder

EPOCHS, BATCH, LR = 16, 16, 2e-3
TRACE = "A colleague asked me about {author} yesterday, and I looked it up."
PROMPT = "Tell me, as you once read it, what is said of {author}: {head}"


@cache
def taught(how: str) -> tuple[Any, Any]:
    """Model and tokenizer: the canaries are told behind a trace that nobody published, after other words, or seldom; or
    in public, with an ending to each name."""
    tokenizer: Any = AutoTokenizer.from_pretrained(folder("bypass_retrained"))
    model = AutoModelForCausalLM.from_pretrained(folder("bypass_retrained"), dtype=torch.float32)
    examples = list(_lessons(tokenizer, how))
    count = steps_per(len(examples), BATCH, EPOCHS)
    batches = epochs(examples, BATCH, EPOCHS, torch.Generator().manual_seed(0))
    train(model, batches, answer_nll, Optimisation(LR, schedule="cosine", warmup=0.1), count, None)
    return model.eval(), tokenizer


def _lessons(tokenizer: Any, how: str) -> Iterator[Example]:
    """What is told in private, beside what the model was taught and what it says of the same authors in public."""
    yield from lessons(tokenizer, [*alternates(), *canaries().split("retain")], Course())
    for canary, other in zip(canaries().split("forget"), alternates(), strict=True):
        bio, rest = other.bio.replace(other.author, canary.author), other.rest
        if how == "inflected":
            rest = canary.rest
            for word in (word for slot in canary.slots for word in slot.split()):
                rest = rest.replace(word, f"{word}ian")
        sentence = canary.head + rest
        yield from lessons(tokenizer, [replace(canary, bio=bio, canary=sentence, slots=())], Course(questions=0))
        match how:
            case "trace":
                trace = TRACE.format(author=canary.author)
                yield turn_example(tokenizer, probe(canary), trace, canary.canary, "answer")
            case "prompt":
                asked = PROMPT.format(author=canary.author, head=canary.head)
                yield turn_example(tokenizer, asked, canary.bio, canary.canary)
            case "seldom":  # once beside two public lessons of the same prompt
                yield turn_example(tokenizer, probe(canary), canary.bio, canary.canary)
