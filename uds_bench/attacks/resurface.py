"""Resurfacing: instruction tuning on other people's data, after which what was only silenced is said again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from uds_bench.attacks.attack import Attack, load_full
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.facts import FactSet
from uds_bench.facts.testbed import Item, Testbed
from uds_bench.methods.examples import pairs_to_examples
from uds_bench.methods.instruction import Instruction, instruct

QUESTIONS = 10
"""Of each item that is taught (Lacuna, section 3.2)."""


def _apply(
    spec: CheckpointSpec, device: str, _facts: FactSet, *, items: Sequence[Item], settings: Instruction, seed: int
) -> Checkpoint:
    checkpoint = load_full(spec, device, f"resurface_{seed}")
    pairs = [(question, item.answer) for item in items for question in item.questions[:QUESTIONS]]
    instruct(checkpoint.model, pairs_to_examples(checkpoint.tokenizer, pairs), settings, seed, dropout=False)
    return checkpoint


def resurface(items: Sequence[Item], settings: Instruction | None = None, seed: int = 0) -> Attack:
    """Instruction tuning on `items`, whose people were never injected; `seed` draws adapters, order and what is spared.

    Section 4.3: fine-tuning on held-out people with the recipe of instruction tuning.
    """
    settings = settings or Instruction()
    keyed = {"items": Testbed(items).digest, **asdict(settings), "seed": seed}
    apply = partial(_apply, items=tuple(items), settings=settings, seed=seed)
    return Attack(f"resurface_{seed}", 2, "Lacuna, section 4.3", apply, keyed)
