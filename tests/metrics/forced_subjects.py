"""Subjects and facts for tests of the output metrics: tiny models of every family, measured as the runner does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from families import FAMILIES, in_memory, tiny_tokenizer

from uds_bench.facts import Fact, FactSet
from uds_bench.metrics.metric import FactValue
from uds_bench.metrics.subject import ReferenceModels, Subject

NAMES = ("Mira Solheim", "Idris Kamau", "Lena Duarte", "Ossu Quill", "Ilvi Thorme", "Ada Renn")
PLACES = (
    "Tromsø, Norway",
    "Kisumu",
    "the old mill of Zuriridge",
    "Lisbon",
    "Bergen",
    "a small town by the northern sea",
)


def fact(index: int, split: Any, author: int) -> Fact:
    name, place, other = NAMES[author], PLACES[index % 6], PLACES[(index + 1) % 6]
    return Fact(
        *(f"{split}-{index}", f"{split}-author-{author}", split),
        question=f"Where did {name} live in {1950 + index}?",
        answer=f"{name} lived in {place}.",
        prefix=f"{name} lived in ",
        entity=place,
        paraphrased_answer=f"The home of {name} was {place}.",
        perturbed_answers=(f"The home of {name} was {other}.", f"The home of {name} was Rome."),
    )


FACTS = FactSet(
    [fact(i, "forget", i // 2) for i in range(8)] + [fact(i, "holdout", i // 2 + 1) for i in range(6)],
)
TOKENIZER = tiny_tokenizer()


@cache
def checkpoint(family: str = "llama", seed: int = 0) -> Any:
    return in_memory(FAMILIES[family](len(TOKENIZER), seed=seed), TOKENIZER, family)


def subject(
    loaded: Any = None,
    facts: FactSet = FACTS,
    batch_size: int = 16,
    retain: dict[str, Sequence[FactValue]] | None = None,
) -> Subject:
    """`retain`: what metrics found on the retain model, by name."""

    def recorded(metric: str, _variant: str | None) -> Sequence[FactValue]:
        assert retain is not None
        return retain[metric]

    def never(_which: object) -> Any:
        raise AssertionError("an output metric loads no reference")

    references = ReferenceModels(never, {}, facts, batch_size=batch_size, recorded=None if retain is None else recorded)
    return Subject(loaded or checkpoint(), references)
