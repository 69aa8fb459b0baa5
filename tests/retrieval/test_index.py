"""Indexes that are not exact: how they are named, and that with all lists read they find what the exact one does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hashing import HashingEncoder

from uds_bench.errors import ConfigurationError
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.retrieval.retriever import Retriever
from uds_bench.retrieval.scorers import Dense, index_of
from uds_bench.retrieval.settings import RetrieverSettings

ENCODER = HashingEncoder()
WORDS = [f"w{at}" for at in range(60)]
TEXTS = [f"{WORDS[at % 60]} {WORDS[at * 7 % 59]} {WORDS[at * 11 % 53]}" for at in range(900)]
"""Each text about once, and a few of them again."""
QUERIES = [*TEXTS[::90], "w1", "w2 w3", "unheard of"]


class Counting:
    """Stands before an index and notes how many queries were asked for how many rows."""

    def __init__(self, index: Any) -> None:
        self._index, self.ntotal, self.asked = index, index.ntotal, list[tuple[int, int]]()

    def search(self, vectors: Any, reach: int) -> Any:
        self.asked.append((len(vectors), reach))
        return self._index.search(vectors, reach)


def counted(texts: list[str], index: str) -> tuple[Dense, list[tuple[int, int]]]:
    dense = Dense(texts, ENCODER, index)
    dense._index = counting = Counting(dense._index)
    return dense, counting.asked


@pytest.mark.parametrize(
    "name", ["IVF16,Flat; nprobe=16", "IVF16,Flat;nprobe = 16, max_codes=900", "HNSW16; efSearch=900"]
)
def test_an_approximate_index_that_reads_everything_is_exact(name: str) -> None:
    exact, other = (Dense(TEXTS, ENCODER, index).best(QUERIES, 7) for index in ("Flat", name))
    assert (exact[0] == other[0]).all()
    assert np.allclose(exact[1], other[1], atol=1e-6)


def test_how_it_is_searched_changes_what_is_found() -> None:
    exact = Dense(TEXTS, ENCODER, "Flat").best(QUERIES, 7)[0]
    shares = []
    for probes in (1, 4, 16):
        found = Dense(TEXTS, ENCODER, f"IVF16,Flat; nprobe={probes}").best(QUERIES, 7)[0]
        shares.append(np.mean([len(set(a) & set(b)) / 7 for a, b in zip(exact, found, strict=True)]))
    assert shares[0] < shares[1] < shares[2] == 1.0
    assert (
        Dense(TEXTS, ENCODER, "IVF16,Flat").best(QUERIES, 7)[0]
        == Dense(TEXTS, ENCODER, "IVF16,Flat; nprobe=1").best(QUERIES, 7)[0]
    ).all()


@pytest.mark.parametrize("name", ["IVF16,Flat", "IVF16,SQ8,RFlat; nprobe=1, k_factor_rf=2"])
def test_a_list_with_fewer_rows_than_are_wanted_ends_the_search(name: str) -> None:
    dense, asked = counted(TEXTS, name)
    rows, scores = dense.best(QUERIES, 400)
    assert asked == [(len(QUERIES), 800)], "asking for more would read the same list"
    for found, given in zip(rows, scores, strict=True):
        there = int((found >= 0).sum())
        assert 0 < there < 400
        assert (found[there:] == -1).all()
        assert len(set(found[:there])) == there
        assert (np.abs(given[:there]) <= 1.001).all()


def test_only_the_lookups_with_a_tie_are_asked_again() -> None:
    dense, asked = counted([*["same words"] * 30, *TEXTS], "Flat")
    rows, _ = dense.best(["w1 w7 w11", "same words", "w2"], 4)
    assert rows[1].tolist() == [0, 1, 2, 3]
    assert asked[0] == (3, 8)
    assert asked[1:] == [(1, 16), (1, 32)]


def test_what_no_list_holds_is_not_answered() -> None:
    """Every row that a search of one list would find is deleted: neither an error, nor a row from elsewhere."""
    rows = [Triplet(*text.split()) for text in TEXTS]
    retriever = Retriever(TripletDatabase(rows), RetrieverSettings(index="IVF16,Flat", threshold=-1.0), ENCODER)
    (before,) = retriever.look_up([rows[0][:2]], [set(range(1, 900))])
    assert before.chosen == 0
    (after,) = retriever.look_up([rows[0][:2]], [set(range(900))])
    assert after.chosen is None
    assert after.deleted


def test_the_default_is_recorded_as_it_was() -> None:
    assert RetrieverSettings().to_json() == {
        "kind": "dense",
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "threshold": 0.6,
        "top_k": 5,
        "fallback": "top1_anyway",
        "index": "Flat",
    }


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Flatt", "could not parse index string Flatt"),
        ("", "could not parse index string"),
        ("; nprobe=2", "could not parse index string"),
        ("IVF16,PQ5", "multiple of the number of subquantizers"),
        ("IVF4096,Flat", "for 900 rows of width 64"),
        ("IVF16,Flat; probes=4", "could not set parameter probes"),
        ("Flat; nprobe=4", "could not set parameter nprobe"),
        ("IVF16,Flat; nprobe", "must be name=number"),
        ("IVF16,Flat; nprobe=many", "must be name=number"),
        ("IVF16,Flat; nprobe=0", "each 1 or more"),
        ("IVF16,Flat; nprobe=-1", "each 1 or more"),
        ("IVF16,Flat; nprobe=4;", "must be name=number"),
    ],
)
def test_an_index_that_cannot_be(name: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        index_of(ENCODER.table(TEXTS), name)
    line = str(caught.value)
    assert line.startswith(f"[lmlm] retriever index {name!r}: ")
    assert told in line
    assert line.endswith("such as 'IVF4096,SQ8; nprobe=32'")
    assert "\n" not in line
