"""Facts, their entity spans and prompts, and where they come from."""

from uds_bench.facts.authors import base_authors, embedded, training_pairs
from uds_bench.facts.fact import SPLITS, Fact, FactSet, Split, Unannotated, require_forget

__all__ = [
    "SPLITS",
    "Fact",
    "FactSet",
    "Split",
    "Unannotated",
    "base_authors",
    "embedded",
    "require_forget",
    "training_pairs",
]
