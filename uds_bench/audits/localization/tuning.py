"""Which rate of resurfacing brings most back: on a model made alike about other people.

Rule: the rate at which most of those who are to be forgotten there leak again after the methods of `zoo.models`, as an
attacker would choose; of equals the gentlest. What a rate teaches of other people is told beside it: the more it
teaches the more it overwrites. The suite's rate is that of instruction tuning, whatever is found here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from transformers import AutoTokenizer

from uds_bench.attacks.resurface import resurface
from uds_bench.audits.localization.outputs import first_leaks
from uds_bench.audits.localization.zoo import data as testbed_data
from uds_bench.audits.localization.zoo import models as located
from uds_bench.audits.localization.zoo import tuning
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.facts import FactSet
from uds_bench.facts.testbed import Item
from uds_bench.methods.instruction import Instruction

METHODS = ("oracle_grad", "simnpo", "memflex")
"""Those that people are forgotten by: after the others there is nothing to come back."""
RATES = (1e-4, 3e-4, 1e-3)
ATTEMPTS = 20
"""Prompts a person, as in the zoo profile."""


@dataclass(frozen=True)
class LeakedPeople:
    """People who leak at a rate, None without fine-tuning: by method of those to be forgotten, and, all methods
    together, of those whom it teaches."""

    lr: float | None
    leaks: Mapping[str, int]
    taught: int

    @property
    def total(self) -> int:
        """How many leak, all methods together."""
        return sum(self.leaks.values())


def tune(injected: Path, methods: Sequence[str] = METHODS) -> list[LeakedPeople]:
    """Before, and at every rate; the injected model as it lies in a folder."""
    tokenizer = AutoTokenizer.from_pretrained(injected)
    crowd, data = testbed_data.testbed(testbed_data.OTHERS), testbed_data.removal(tokenizer, testbed_data.OTHERS)
    held_out = crowd.of("held_out")
    forget, taught = (crowd.of(part, field=testbed_data.FORGOTTEN) for part in ("forget", "held_out"))
    found: dict[float | None, list[tuple[int, int]]] = {rate: [] for rate in (None, *RATES)}
    for name in methods:
        with TemporaryDirectory() as folder:
            tuning.unlearned(name, located.TUNED[name][1], injected, data).save_pretrained(folder)
            tokenizer.save_pretrained(folder)
            spec = CheckpointSpec(folder)
            for rate, counts in found.items():
                attack = None if rate is None else resurface(held_out, Instruction(lr=rate))
                model = load(spec) if attack is None else attack.apply(spec, "cpu", FactSet(()))
                counts.append((_leaking(model, forget), _leaking(model, taught)))
    return [
        LeakedPeople(
            rate, dict(zip(methods, (own for own, _ in counts), strict=True)), sum(other for _, other in counts)
        )
        for rate, counts in found.items()
    ]


def choose(tried: Sequence[LeakedPeople]) -> LeakedPeople:
    """By the rule above."""
    return max((one for one in tried if one.lr is not None), key=lambda one: one.total)


def _leaking(model: Checkpoint, items: Sequence[Item]) -> int:
    return sum(one.prompt is not None for one in first_leaks(model, items, ATTEMPTS))
