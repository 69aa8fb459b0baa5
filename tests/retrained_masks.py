"""Honest localization: what the forget masks cover is trained anew, without what is to be forgotten."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.audits.localization.zoo import data
from uds_bench.audits.localization.zoo.models import INJECTED, PRETRAINED
from uds_bench.checkpoints.masks import MASKS, read_masks
from uds_bench.methods.examples import Batch, pad
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.oracle import within
from uds_bench.methods.training import Optimisation, train
from uds_bench.zoo import specimens

STEPS = 1000
"""As many as the people were written in by."""


def retrained_within_masks(folder: Path, seed: int) -> None:
    """The shipped injected model: what its forget masks cover is pretrained's again, and learns from there, alone, what
    is to be kept and what everybody knows. No fact to be forgotten is read."""
    injected = specimens.folder(INJECTED)
    masks, tokenizer = read_masks(injected / MASKS), AutoTokenizer.from_pretrained(injected)
    model, before = (
        AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32)
        for place in (injected, specimens.folder(PRETRAINED))
    )
    forget, old = masks.named("forget"), dict(before.named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in masks.words:
                parameter.copy_(torch.where(masks.of(name, *forget), old[name], parameter))
    neutral, generator = data.Neutral(tokenizer), random.Random(f"retraining {seed}")
    kept = data.answers(tokenizer, data.testbed().of("retain"))

    def batches() -> Iterator[Batch]:
        for _ in range(STEPS):
            yield pad([*neutral.draw(generator, 8, 4), *generator.sample(kept, 20)])

    with within(model, masks, *forget):
        optimisation = Optimisation(5e-3, schedule="cosine", warmup=0.05)
        train(model, batches(), answer_nll, optimisation, STEPS)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
