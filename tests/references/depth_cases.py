"""Facts and model pairs on which the plain references and the package are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from families import FAMILIES, in_memory
from references import depth

from uds_bench.facts import EncodedFact, Fact

VOCABULARY = 384
TOLERANCE = 1e-5
"""nats; float32 rounding on these models stays a few times below it."""
SPANS = ((5, 5, 6, 6), (6, 9, 12, 14), (4, 4, 11, 11), (7, 12, 13, 19))
"""prompt length, entity start, entity end, tokens in all: one-token entities and longer ones than a sliding window,
right after the prompt and later, at the end of the answer and before more of it."""


def encoded_fact(
    index: int, prompt: int, start: int, end: int, length: int, vocabulary: int = VOCABULARY
) -> EncodedFact:
    """A fact of random tokens, the same at every call; its text stands for nothing."""
    draw = torch.randint(3, vocabulary, (length,), generator=torch.Generator().manual_seed(index))
    fact = Fact(id=f"fact-{index}", cluster="one", split="forget", question="?", answer="x", prefix="", entity="x")
    return EncodedFact(fact, tuple(draw.tolist()), prompt, start, end)


def ragged_facts() -> list[EncodedFact]:
    return [encoded_fact(index, *span) for index, span in enumerate(SPANS)]


@cache
def checkpoint(family: str, seed: int = 0) -> Any:
    """A tiny random model; to be read only."""
    return in_memory(FAMILIES[family](VOCABULARY, seed=seed))


@dataclass(frozen=True)
class Case:
    """A target and a source of one family."""

    family: str

    @property
    def full(self) -> Any:
        return checkpoint(self.family, 0)

    @property
    def source(self) -> Any:
        return checkpoint(self.family, 1)

    @property
    def pair(self) -> tuple[Any, Any, Any, Any]:
        """Full model, its anatomy, source model, its anatomy: as the references take them."""
        return self.full.model, self.full.anatomy, self.source.model, self.source.anatomy


def span_of(fact: EncodedFact) -> tuple[Sequence[int], int, int]:
    return fact.ids, fact.start, fact.end


@cache
def reference_drops(family: str, scope: str = "block", published: bool = False) -> torch.Tensor:
    """[facts, layers] of `ragged_facts`, in nats, by the plain reference."""
    pair = Case(family).pair
    rows = [depth.drops(*pair, *span_of(f), scope=scope, published=published) for f in ragged_facts()]
    return torch.tensor(rows, dtype=torch.float64)
