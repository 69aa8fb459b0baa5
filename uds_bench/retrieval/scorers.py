"""How rows are scored against a lookup: by embeddings, by words, or by both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from uds_bench.extras import require
from uds_bench.retrieval.encoder import Encoder
from uds_bench.retrieval.index import index_of
from uds_bench.retrieval.settings import RetrieverSettings

Ranked = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Rows [queries, k], best first, and their scores; row -1 where there are fewer."""
DECIMALS = 6
"""Scores that differ by less are equal, and the earlier row comes first: rounding must not choose between twins."""


class TextIndex(Protocol):
    """An index over texts. `best`: the `k` best rows of each query."""

    def best(self, queries: Sequence[str], k: int) -> Ranked:
        """The `k` best rows of each query, best first, ties by row, and their scores."""


class Dense:
    """Cosine of embeddings through FAISS; exact with the index `Flat`; see `index.index_of` for others."""

    def __init__(self, texts: Sequence[str], encoder: Encoder, index: str = "Flat") -> None:
        self._encoder, self._index = encoder, index_of(encoder.embed(texts), index)

    def best(self, queries: Sequence[str], k: int) -> Ranked:
        """The `k` rows whose embeddings are nearest."""
        wanted, reach = min(k, self._index.ntotal), min(2 * k, self._index.ntotal)
        vectors = self._encoder.embed(queries)
        best_rows, best_scores = np.zeros((len(queries), wanted), np.int64), np.zeros((len(queries), wanted))
        left = np.arange(len(queries))
        while len(left):
            # An index breaks ties as it likes: it is asked for more until none lies across the last place.
            scores, rows = self._index.search(vectors[left], reach)
            found, sorted_scores = ordered(rows, scores)
            best_rows[left], best_scores[left] = found[:, :wanted], sorted_scores[:, :wanted]
            rounded = np.round(sorted_scores, DECIMALS)
            tied = rounded[:, wanted - 1] == rounded[:, -1]
            # An index that gives fewer than it was asked for has no more in the lists that it searches.
            left = left[tied & (found[:, -1] >= 0)] if reach < self._index.ntotal else left[:0]
            reach = min(2 * reach, self._index.ntotal)
        return best_rows, best_scores


class Sparse:
    """Cosine of TF-IDF vectors, or BM25, over lower-cased words."""

    def __init__(self, texts: Sequence[str], kind: str) -> None:
        self._texts, self._kind = list(texts), kind
        if kind == "tfidf":
            from sklearn.feature_extraction.text import TfidfVectorizer

            self._vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b")
            self._matrix = self._vectorizer.fit_transform(self._texts)
        else:
            require("a bm25 retriever", "bm25s")
            import bm25s

            self._bm25 = bm25s.BM25()
            self._bm25.index([words(text) for text in texts], show_progress=False)

    def scores(self, queries: Sequence[str]) -> NDArray[np.float64]:
        """[queries, rows]."""
        if self._kind == "tfidf":
            found = self._vectorizer.transform(list(queries)) @ self._matrix.T
            return np.asarray(found.toarray(), dtype=np.float64)
        rows = [self._bm25.get_scores(words(query)) if words(query) else self._nothing() for query in queries]
        return np.asarray(rows, dtype=np.float64)

    def best(self, queries: Sequence[str], k: int) -> Ranked:
        """The `k` rows that share most words."""
        return top(self.scores(queries), k)

    def _nothing(self) -> NDArray[np.float64]:
        return np.zeros(len(self._texts))


class Hybrid:
    """The mean of both cosines, of embeddings and of TF-IDF vectors."""

    def __init__(self, texts: Sequence[str], encoder: Encoder) -> None:
        self._encoder, self._vectors = encoder, encoder.embed(texts)
        self._sparse = Sparse(texts, "tfidf")

    def best(self, queries: Sequence[str], k: int) -> Ranked:
        """The `k` rows of the highest mean of both scores."""
        dense = self._encoder.embed(queries).astype(np.float64) @ self._vectors.astype(np.float64).T
        return top((dense + self._sparse.scores(queries)) / 2, k)


def scorer_of(texts: Sequence[str], settings: RetrieverSettings, encoder: Encoder | None) -> TextIndex:
    """The index that the settings name; `encoder` is needed where they embed."""
    if not settings.embeds:
        return Sparse(texts, settings.kind)
    if encoder is None:
        raise TypeError(f"a {settings.kind} retriever needs an encoder")
    return Dense(texts, encoder, settings.index) if settings.kind == "dense" else Hybrid(texts, encoder)


def words(text: str) -> list[str]:
    """The lower-cased words of a text."""
    return re.findall(r"\w+", text.casefold())


def top(scores: NDArray[np.float64], k: int) -> Ranked:
    """The `k` best columns of each row, equal ones in order."""
    rounded = np.round(scores, DECIMALS)
    rows = np.argsort(-rounded, axis=1, kind="stable")[:, :k]
    return rows.astype(np.int64), np.take_along_axis(scores, rows, axis=1)


def ordered(rows: NDArray[np.int64], scores: NDArray[np.float32]) -> Ranked:
    """What an index found, equal scores by row."""
    order = np.lexsort((rows, -np.round(scores.astype(np.float64), DECIMALS)), axis=1)
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores.astype(np.float64), order, axis=1)
