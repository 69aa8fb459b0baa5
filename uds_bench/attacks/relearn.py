"""Relearning: a short fine-tuning on the forget set; what was only hidden comes back faster than what is gone."""

from __future__ import annotations

from functools import partial

import torch

from uds_bench.attacks.attack import Attack, load_full
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.facts import FactSet
from uds_bench.methods.examples import epochs, pairs_to_examples, steps_per
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.training import Optimisation, train

EPOCHS, LR, BATCH_SIZE = 1, 2e-5, 32
"""As published: one epoch on the forget set, no warm-up, no weight decay (UDS guide, section 4.1)."""


def _apply(
    spec: CheckpointSpec, device: str, facts: FactSet, *, count: int, lr: float, batch_size: int, seed: int
) -> Checkpoint:
    checkpoint = load_full(spec, device, "relearn")
    pairs = [(fact.question, fact.answer) for fact in facts]
    examples = pairs_to_examples(checkpoint.tokenizer, pairs, facts.date_string)
    batches = epochs(examples, batch_size, count, torch.Generator().manual_seed(seed))
    # Dropout, where a model has it, is drawn from the seed too, and the caller's own draws go on as they were.
    with torch.random.fork_rng(devices=[checkpoint.device] if checkpoint.device.type == "cuda" else []):
        torch.manual_seed(seed)
        train(
            checkpoint.model,
            (batch.to(checkpoint.device) for batch in batches),
            answer_nll,
            Optimisation(lr),
            steps_per(len(examples), batch_size, count),
        )
    return checkpoint


def relearn(epochs: int = EPOCHS, lr: float = LR, batch_size: int = BATCH_SIZE, seed: int = 0) -> Attack:
    """Fine-tune on the forget set's questions and answers for `epochs`, with AdamW at a constant rate."""
    settings = {"epochs": epochs, "lr": lr, "batch_size": batch_size, "seed": seed}
    apply = partial(_apply, count=epochs, lr=lr, batch_size=batch_size, seed=seed)
    return Attack("relearn", 1, "UDS guide, section 4.1", apply, settings)
