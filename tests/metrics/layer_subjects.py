"""Subjects for tests of the metrics that look at layers: tiny models of every family beside two references."""

from __future__ import annotations

from functools import cache
from typing import Any

from families import FAMILIES, in_memory
from forced_subjects import FACTS, TOKENIZER

from uds_bench.facts import FactSet
from uds_bench.metrics.subject import ReferenceModels, Subject

FULL, RETAIN, CANDIDATE = 0, 1, 2
"""Seeds of the three models."""
BATCH_SIZE = 3
FORGET = FACTS.split("forget")


@cache
def checkpoint(family: str, seed: int, layers: int = 3, width: int = 32) -> Any:
    """A random model, to be read only, with all that a checkpoint has."""
    return wrapped(FAMILIES[family](len(TOKENIZER), layers, width, seed=seed), f"{family} {seed}")


def wrapped(model: Any, name: str, tokenizer: Any = TOKENIZER) -> Any:
    return in_memory(model, tokenizer, name)


@cache
def yardstick(family: str) -> ReferenceModels:
    """The usual references of a family, which keep what was read of them."""
    return subject(family=family, batch_size=BATCH_SIZE, full=checkpoint(family, FULL)).references


def subject(
    candidate: Any = None,
    family: str = "llama",
    *,
    full: Any = None,
    retain: Any = None,
    facts: FactSet = FACTS,
    batch_size: int = BATCH_SIZE,
    cache: Any = None,
) -> Subject:
    if full is None and retain is None and cache is None and facts is FACTS and batch_size == BATCH_SIZE:
        return Subject(candidate or checkpoint(family, CANDIDATE), yardstick(family))
    references = {"full": full or checkpoint(family, FULL), "retain": retain or checkpoint(family, RETAIN)}
    digests: Any = {name: model.digest for name, model in references.items()}
    own = ReferenceModels(references.__getitem__, digests, facts, cache, batch_size)
    return Subject(candidate or checkpoint(family, CANDIDATE), own)
