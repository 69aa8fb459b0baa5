"""How rows are scored against a lookup: by embeddings, by words, or by both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from uds_bench.errors import ConfigurationError
from uds_bench.extras import require
from uds_bench.retrieval.blocks import DECIMALS, Hits, Places, Ranked, best_of
from uds_bench.retrieval.encoder import BLOCK, Encoder, VectorTable
from uds_bench.retrieval.settings import Kind

EXACT = "Flat"
"""The index that is none: every row is compared, a block at a time, as it lies on disk."""
AT_ONCE = 256
"""Lookups that are scored together: with a block of rows they fit into a processor's cache."""


LOST = 100
"""Rows that are gone, and would have been found, which a lookup tells of at most."""
WANTED = 1_000_000
"""Rows that an index is asked for together, over all lookups."""


class TextIndex(Protocol):
    """An index over texts. `find`: the `k` best rows of each query beside those that are gone for it."""

    def find(self, queries: Sequence[str], k: int, gone: Sequence[Places]) -> list[Hits]:
        """The `k` best rows of each query that are there, best first, ties by row, and the best that are gone."""


class Exhaustive:
    """Base of what scores every row; `scores`: of a few queries, by blocks of rows, each with its first row's place."""

    at_once = AT_ONCE

    def find(self, queries: Sequence[str], k: int, gone: Sequence[Places]) -> list[Hits]:
        """See `TextIndex`."""
        parts = [slice(at, at + self.at_once) for at in range(0, len(queries), self.at_once)]
        return [hits for part in parts for hits in best_of(self.scores(queries[part]), k, gone[part])]

    def scores(self, queries: Sequence[str]) -> Iterator[tuple[int, NDArray[Any]]]:
        """By block of rows, the place of its first row and [queries, rows]."""
        raise NotImplementedError


class Exact(Exhaustive):
    """Cosine of embeddings."""

    def __init__(self, texts: Sequence[str], encoder: Encoder) -> None:
        self._encoder, self._table = encoder, encoder.table(texts)

    def scores(self, queries: Sequence[str]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Cosines."""
        vectors = self._encoder.embed(queries)
        return ((start, vectors @ block.T) for start, block in self._table)


class Dense:
    """Cosine of embeddings through FAISS; see `index_of`."""

    def __init__(self, texts: Sequence[str], encoder: Encoder, index: str) -> None:
        self._encoder, self._index = encoder, index_of(encoder.table(texts), index)

    def find(self, queries: Sequence[str], k: int, gone: Sequence[Places]) -> list[Hits]:
        """See `TextIndex`: a row that is gone is lost where the index finds it."""
        # As many more as are gone: a deleted row must not take the place of one that is there.
        wanted = k + max(map(len, gone), default=0)
        size, found = max(1, WANTED // wanted), list[Hits]()
        for at in range(0, len(queries), size):
            ranked = self.best(queries[at : at + size], wanted)
            for rows, scores, places in zip(*ranked, gone[at : at + size], strict=True):
                out = np.isin(rows, places)
                kept = (rows >= 0) & ~out
                found.append(Hits((rows[kept][:k], scores[kept][:k]), (rows[out], scores[out])))
        return found

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


class TfIdf(Exhaustive):
    """Cosine of TF-IDF vectors over lower-cased words."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectorizer = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b")
        self._matrix = self._vectorizer.fit_transform(texts)

    def scores(self, queries: Sequence[str]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Cosines."""
        asked = self.vectors(queries)
        for start in range(0, self._matrix.shape[0], BLOCK):
            yield start, self.part(asked, start, start + BLOCK)

    def vectors(self, queries: Sequence[str]) -> Any:
        """Queries as vectors."""
        return self._vectorizer.transform(list(queries))

    def part(self, asked: Any, start: int, end: int) -> NDArray[np.float64]:
        """[queries, rows], the scores of some rows."""
        found: NDArray[np.float64] = (asked @ self._matrix[start:end].T).toarray()
        return found


class Bm25(Exhaustive):
    """BM25 over lower-cased words."""

    at_once = 16  # it scores all rows at once

    def __init__(self, texts: Sequence[str]) -> None:
        require("a bm25 retriever", "bm25s")
        import bm25s

        self._rows, self._bm25 = len(texts), bm25s.BM25()
        self._bm25.index([words(text) for text in texts], show_progress=False)

    def scores(self, queries: Sequence[str]) -> Iterator[tuple[int, NDArray[Any]]]:
        """What BM25 gives."""
        asked = [words(query) for query in queries]
        rows = [self._bm25.get_scores(one) if one else np.zeros(self._rows) for one in asked]
        yield 0, np.asarray(rows, dtype=np.float64)


class Hybrid(Exhaustive):
    """The mean of both cosines, of embeddings and of TF-IDF vectors."""

    def __init__(self, texts: Sequence[str], encoder: Encoder) -> None:
        self._encoder, self._table, self._words = encoder, encoder.table(texts), TfIdf(texts)

    def scores(self, queries: Sequence[str]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Means of both cosines."""
        vectors = self._encoder.embed(queries).astype(np.float64)
        asked = self._words.vectors(queries)
        for start, block in self._table:
            by_words = self._words.part(asked, start, start + len(block))
            yield start, (vectors @ block.astype(np.float64).T + by_words) / 2


class Remembered:
    """A scorer that is asked for the same once: a fact is looked up in several wordings, states and fallbacks. Of the
    rows that are gone it keeps the best `LOST`."""

    def __init__(self, scorer: TextIndex) -> None:
        self._scorer, self._known = scorer, dict[tuple[str, int, bytes], Hits]()

    def find(self, queries: Sequence[str], k: int, gone: Sequence[Places]) -> list[Hits]:
        """See `TextIndex`."""
        asked = [(query, k, sha256(places.tobytes()).digest()) for query, places in zip(queries, gone, strict=True)]
        new = {one: places for one, places in zip(asked, gone, strict=True) if one not in self._known}
        found = self._scorer.find([query for query, *_ in new], k, list(new.values())) if new else []
        for one, (kept, (rows, scores)) in zip(new, found, strict=True):
            self._known[one] = Hits(kept, (rows[:LOST].copy(), scores[:LOST].copy()))
        return [self._known[one] for one in asked]


@lru_cache(64)
def scorer_of(texts: tuple[str, ...], kind: Kind, index: str, encoder: Encoder | None) -> TextIndex:
    """What scores rows in a way, made once a process for the same rows; `encoder` is needed where they are embedded."""
    return Remembered(_scorer(texts, kind, index, encoder))


def _scorer(texts: Sequence[str], kind: Kind, index: str, encoder: Encoder | None) -> TextIndex:
    if kind == "bm25":
        return Bm25(texts)
    if kind == "tfidf":
        return TfIdf(texts)
    if encoder is None:
        raise TypeError(f"a {kind} retriever needs an encoder")
    if kind == "hybrid":
        return Hybrid(texts, encoder)
    return Exact(texts, encoder) if index == EXACT else Dense(texts, encoder, index)


def words(text: str) -> list[str]:
    """The lower-cased words of a text."""
    return re.findall(r"\w+", text.casefold())


def ordered(rows: NDArray[np.int64], scores: NDArray[np.float32]) -> Ranked:
    """What an index found, best first; equal scores by row.

    Args:
        rows: Of each lookup, in any order, [lookups, k].
        scores: Of these rows, [lookups, k], higher is better.

    Returns:
        RowPlaces and scores, [lookups, k] each; scores that agree to `DECIMALS` are equal.

    Example:
        >>> rows, scores = ordered(np.array([[7, 2, 5]]), np.array([[0.5, 0.5, 0.75]], np.float32))
        >>> rows.tolist(), scores.tolist()
        ([[5, 2, 7]], [[0.75, 0.5, 0.5]])
    """
    order = np.lexsort((rows, -np.round(scores.astype(np.float64), DECIMALS)), axis=1)
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores.astype(np.float64), order, axis=1)


PARAMETER = re.compile(r"(\w+)\s*=\s*(\d+(?:\.\d+)?)")


def index_of(table: VectorTable, name: str) -> Any:
    """An index over the vectors of `table` by inner product, trained where its kind needs that.

    `name`: a factory name and, after a semicolon, FAISS search parameters: `IVF4096,SQ8; nprobe=32`. Raises
    ConfigurationError where either is none of FAISS's, does not fit the width, or needs more rows to be trained on.
    """
    require("a dense retriever", "faiss")
    import faiss  # takes a second to import

    factory, _, search = name.partition(";")
    parameters, space = _parameters(search, name), cast(Any, faiss.ParameterSpace())
    width = table.blocks[0].shape[1]
    try:
        index = faiss.index_factory(width, factory.strip(), faiss.METRIC_INNER_PRODUCT)
        # Before the training, which may take an hour, so that a slip is told at once.
        space.set_index_parameters(index, parameters)
        if not index.is_trained:
            index.train(np.concatenate(table.blocks))
        for _, block in table:
            index.add(block)
    except RuntimeError as error:
        reason = " ".join(str(error).split(": ", 1)[-1].split())[:200]  # what comes before names FAISS's own source
        raise _unusable(name, f"FAISS refuses it for {len(table)} rows of width {width} ({reason})") from error
    return index


def _parameters(search: str, name: str) -> str:
    """What follows the semicolon as FAISS reads it, without a space."""
    found = [PARAMETER.fullmatch(part.strip()) for part in search.split(",")] if search.strip() else []
    for one in found:
        # FAISS takes 0 and fails in the first lookup; it takes -1 for as many as there are.
        if one is None or float(one[2]) < 1:
            raise _unusable(name, "what follows the semicolon must be name=number, each 1 or more, with commas between")
    return ",".join(f"{one[1]}={one[2]}" for one in found if one)


def _unusable(name: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"[lmlm] retriever index {name!r}: {reason}; use Flat, which is exact, or another FAISS factory name with its "
        "search parameters, such as 'IVF4096,SQ8; nprobe=32'"
    )
