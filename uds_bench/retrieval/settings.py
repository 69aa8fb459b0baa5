"""What can be set of a retriever."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from uds_bench.errors import ConfigurationError, did_you_mean

Kind = Literal["dense", "tfidf", "bm25", "hybrid"]
Fallback = Literal["top1_anyway", "unknown"]
FALLBACKS: tuple[Fallback, ...] = ("unknown", "top1_anyway")
"""Both, in the order in which they are asked: the paper's is the second (LMLM audit, table 4)."""
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
THRESHOLDS: dict[Kind, float] = {"dense": 0.6, "tfidf": 0.6, "hybrid": 0.6, "bm25": 0.0}
"""Scores below are dropped: the published cosine, for sparse vectors and the mean of both too; BM25 has no fixed scale,
and a score of 0 is a row that shares no word."""

SWEPT: dict[str, tuple[Kind, float]] = {
    **{f"dense_{round(100 * least)}": ("dense", least) for least in (0.4, 0.5, 0.6, 0.7, 0.8)},
    **{f"{kind}_{round(100 * least)}": (kind, least) for kind in ("hybrid", "tfidf") for least in (0.4, 0.6, 0.8)},
    "bm25": ("bm25", 0.0),
}
"""Kinds and thresholds over which what survives a deletion is swept, by name."""


@dataclass(frozen=True)
class RetrieverSettings:
    """`kind`: cosine of embeddings, of TF-IDF vectors, BM25, or the mean of the first two. `model`: the encoder, a hub
    id or folder. `threshold`: the least score that counts, the kind's own where None. `top_k`: candidates a lookup.
    `fallback`: what is answered where none counts, the best row all the same or nothing (LMLM audit, table 4).
    `index`: a FAISS index by its factory name, and after a semicolon how it is searched (`IVF4096,SQ8; nprobe=32`);
    Flat is exact, others trade recall for memory and time.

    Raises ConfigurationError for a value that cannot be.
    """

    kind: Kind = "dense"
    model: str = MINILM
    threshold: float | None = None
    top_k: int = 5
    fallback: Fallback = "top1_anyway"
    index: str = "Flat"

    def __post_init__(self) -> None:
        for name, allowed in (("kind", get_args(Kind)), ("fallback", FALLBACKS)):
            if getattr(self, name) not in allowed:
                raise ConfigurationError(
                    f"retriever: {name} is {getattr(self, name)!r}: {did_you_mean(getattr(self, name), allowed)}"
                )
        lowest, highest = (0.0, math.inf) if self.kind == "bm25" else (-1.0, 1.0)
        if not lowest <= self.least <= highest:
            raise ConfigurationError(
                f"retriever: threshold is {self.least:g}; {self.kind} scores lie in {lowest:g} to {highest:g}"
            )
        if self.top_k < 1:
            raise ConfigurationError(f"retriever: top_k is {self.top_k}; use 1 or more")

    @property
    def least(self) -> float:
        """The threshold in force."""
        return THRESHOLDS[self.kind] if self.threshold is None else self.threshold

    @property
    def embeds(self) -> bool:
        """Whether it needs the encoder."""
        return self.kind in ("dense", "hybrid")

    def to_json(self) -> dict[str, Any]:
        """What a record holds of it."""
        return asdict(self) | {"threshold": self.least}
