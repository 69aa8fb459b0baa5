"""An encoder for tests: words hashed into a small space, so that texts with words in common lie near each other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from uds_bench.retrieval.encoder import Encoder, Vectors


class HashingEncoder(Encoder):
    """Unit vectors of 64 dimensions; counts what it embeds."""

    def __init__(self) -> None:
        super().__init__("hashing")
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self.embedded += new
        self._known |= {text: _vector(text) for text in new}
        return np.stack([self._known[text] for text in texts]) if texts else np.zeros((0, 64), np.float32)


def _vector(text: str) -> np.ndarray:
    total = np.full(64, 1e-3)
    for word in text.casefold().split():
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
        total += np.random.default_rng(seed).normal(size=64)
    return (total / np.linalg.norm(total)).astype(np.float32)
