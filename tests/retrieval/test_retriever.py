"""Lookups: the rule in plain Python beside the retriever, deletions by filter beside physical ones."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import pytest
from hashing import HashingEncoder
from hypothesis import given, settings
from hypothesis import strategies as st

from uds_bench.errors import ConfigurationError
from uds_bench.facts.topology import embedded
from uds_bench.facts.triplets import Triplet, TripletDatabase, lookup_text
from uds_bench.retrieval.blocks import places_of
from uds_bench.retrieval.retriever import Retriever
from uds_bench.retrieval.scorers import LOST, CachedScorer, Exact
from uds_bench.retrieval.settings import Kind, RetrieverSettings

WORDS = st.sampled_from(["ant", "bee", "cow", "dog", "elk", "fox", "gnu", "hen"])
NAMES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
ROWS = st.lists(st.builds(Triplet, NAMES, NAMES, WORDS), min_size=1, max_size=12)
QUERIES = st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=4)
KINDS: tuple[Kind, ...] = get_args(Kind)
ENCODER = HashingEncoder()


def slowly(
    rows: list[Triplet], query: tuple[str, str], gone: set[int], s: RetrieverSettings
) -> tuple[int | None, bool]:
    """The row that answers a dense lookup and whether by falling back: one cosine at a time."""
    wanted = ENCODER.embed([lookup_text(*query)])[0].astype(float)
    best: tuple[float, int] | None = None
    for at, row in enumerate(rows):
        score = round(float(np.dot(wanted, ENCODER.embed([row.key])[0].astype(float))), 6)
        if at not in gone and (best is None or score > best[0]):
            best = (score, at)
    if best is None:
        return None, False
    if best[0] >= s.least:
        return best[1], False
    return (best[1], True) if s.fallback == "top1_anyway" else (None, False)


@given(ROWS, QUERIES, st.data())
@settings(max_examples=60, deadline=None)
def test_dense_lookups_follow_the_rule(rows: list[Triplet], queries: list[tuple[str, str]], data: Any) -> None:
    gone = [data.draw(st.sets(st.integers(0, len(rows) - 1))) for _ in queries]
    for fallback in ("top1_anyway", "unknown"):
        for threshold in (-1.0, 0.3, 0.6, 0.95):
            s = RetrieverSettings(threshold=threshold, top_k=2, fallback=fallback)
            found = Retriever(TripletDatabase(rows), s, ENCODER).look_up(queries, gone)
            assert [(one.chosen, one.fell_back) for one in found] == [
                slowly(rows, query, out, s) for query, out in zip(queries, gone, strict=True)
            ]


def without(database: Any, gone: Any) -> list[Triplet]:
    """What is left once the rows at these places are deleted."""
    return [row for at, row in enumerate(database) if at not in gone]


@pytest.mark.parametrize("kind", ["dense", "bm25", "tfidf", "hybrid"])
@given(ROWS, QUERIES, st.data())
@settings(max_examples=30, deadline=None)
def test_a_filter_is_a_physical_deletion(kind: Any, rows: list[Triplet], queries: Any, data: Any) -> None:
    """For the kinds that weigh words: among the rows that are left, in the weights of the whole database."""
    database, s = TripletDatabase(rows), RetrieverSettings(kind=kind, top_k=2, threshold=0.0)
    gone = data.draw(st.sets(st.integers(0, len(rows) - 1)))
    filtered = Retriever(database, s, ENCODER).look_up(queries, [gone] * len(queries))
    left = [at for at in range(len(rows)) if at not in gone]
    if kind == "dense":
        physical = Retriever(without(database, gone), s, ENCODER).look_up(queries)
        for one, other in zip(filtered, physical, strict=True):
            assert [c.row for c in one.kept] == [left[c.row] for c in other.kept]
            assert one.chosen == (None if other.chosen is None else left[other.chosen])
    everything = Retriever(database, RetrieverSettings(kind=kind, top_k=len(rows), threshold=0.0), ENCODER)
    for one, whole in zip(filtered, everything.look_up(queries), strict=True):
        assert [c.row for c in one.kept] == [c.row for c in whole.kept if c.row not in gone][:2] or one.fell_back


def test_the_embedded_databases_lose_the_same_by_filter_and_physically() -> None:
    asked = embedded("countries", "alias")
    settings_ = RetrieverSettings(top_k=3)
    whole = Retriever(asked.database, settings_, ENCODER)
    for fact in asked.facts[:40:5]:
        gone = {fact.id, fact.id + 1}
        (filtered,) = whole.look_up([fact.triplet[:2]], [gone])
        (physical,) = Retriever(without(asked.database, gone), settings_, ENCODER).look_up([fact.triplet[:2]])
        left = [at for at in range(len(asked.database)) if at not in gone]
        assert filtered.chosen == left[physical.chosen]


def test_what_is_deleted_takes_no_place_from_what_is_there() -> None:
    """Ten forms of one row beyond rank k: a search for the k best alone would find them and nothing else."""
    rows = [Triplet("ant bee", "cow", f"v{at}") for at in range(10)] + [Triplet("ant", "cow", "other")]
    retriever = Retriever(TripletDatabase(rows), RetrieverSettings(threshold=0.1, top_k=2), ENCODER)
    (found,) = retriever.look_up([("ant bee", "cow")], [set(range(10))])
    assert [one.row for one in found.kept] == [10]
    assert {one.row for one in found.deleted} == set(range(10))


@given(ROWS, QUERIES, st.floats(-1, 1), st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_a_higher_threshold_adds_no_candidate(rows: list[Triplet], queries: Any, low: float, more: float) -> None:
    found = [
        Retriever(TripletDatabase(rows), RetrieverSettings(threshold=t, fallback="unknown"), ENCODER).look_up(queries)
        for t in (low, min(1.0, low + more))
    ]
    for loose, tight in zip(*found, strict=True):
        assert {one.row for one in tight.kept} <= {one.row for one in loose.kept}


@given(ROWS, QUERIES)
@settings(max_examples=40, deadline=None)
def test_falling_back_always_answers(rows: list[Triplet], queries: Any) -> None:
    s = RetrieverSettings(kind="bm25", threshold=1e9)
    for one in Retriever(TripletDatabase(rows), s, ENCODER).look_up(queries):
        assert one.chosen is not None
        assert one.fell_back


def test_an_emptied_database_answers_nothing() -> None:
    database = TripletDatabase([Triplet("a", "b", "c")])
    (found,) = Retriever(database, RetrieverSettings(), ENCODER).look_up([("a", "b")], [{0}])
    assert found.chosen is None
    assert [one.row for one in found.deleted] == [0]
    (empty,) = Retriever(without(database, [0]), RetrieverSettings(), ENCODER).look_up([("a", "b")])
    assert empty.chosen is None


def test_twins_answer_in_the_order_of_the_rows() -> None:
    rows = [Triplet("ant", "bee", str(at)) for at in range(6)]
    for kind in KINDS:
        (found,) = Retriever(TripletDatabase(rows), RetrieverSettings(kind=kind), ENCODER).look_up([("ant", "bee")])
        assert [one.row for one in found.kept] in ([0, 1, 2, 3, 4], [0]), kind


def test_a_database_is_embedded_once() -> None:
    encoder = HashingEncoder()
    retriever = Retriever(TripletDatabase([Triplet("a", "b", "c"), Triplet("a", "b", "d")]), None, encoder)
    assert encoder.embedded == ["a b"]
    retriever.look_up([("a", "b"), ("a", "b"), ("x", "y")])
    retriever.look_up([("x", "y")])
    assert encoder.embedded == ["a b", "x y"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"kind": "sparse"}, "kind is 'sparse': choose from dense"),
        ({"fallback": "top1"}, "fallback is 'top1'"),
        ({"top_k": 0}, "top_k is 0"),
    ],
)
def test_settings_that_cannot_be(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        RetrieverSettings(**changed)


@pytest.mark.parametrize(("kind", "threshold"), [("dense", 2.0), ("tfidf", -1.5), ("hybrid", math.nan), ("bm25", -0.1)])
def test_a_threshold_that_no_score_can_have_is_refused(kind: Kind, threshold: float) -> None:
    with pytest.raises(ConfigurationError, match=f"{kind} scores lie in"):
        RetrieverSettings(kind=kind, threshold=threshold)


def test_a_lookup_tells_of_so_many_deleted_rows_and_of_the_best() -> None:
    rows = [*[Triplet("ant", "bee", str(at)) for at in range(LOST + 20)], Triplet("ant bee", "bee", "other")]
    retriever = Retriever(TripletDatabase(rows), RetrieverSettings(threshold=0.1), ENCODER)
    (found,) = retriever.look_up([("ant", "bee")], [set(range(LOST + 20))])
    assert [one.row for one in found.deleted] == list(range(LOST))
    assert found.chosen == LOST + 20


class Asked:
    """Passes on what a scorer is asked and notes it."""

    def __init__(self, texts: list[str]) -> None:
        self._scorer, self.asked = Exact(texts, ENCODER), list[str]()

    def find(self, queries: Any, k: int, gone: Any) -> Any:
        self.asked += queries
        return self._scorer.find(queries, k, gone)


def test_the_same_is_scored_once() -> None:
    """The same lookup is another one where other rows are gone, or where more rows are wanted."""
    texts, none, one = ["ant bee", "ant", "cow"], places_of(()), places_of([0])
    inner = Asked(texts)
    remembered = CachedScorer(inner)
    found = remembered.find(["ant", "ant", "cow"], 2, [none, one, none])
    again = remembered.find(["cow", "ant", "ant", "bee"], 2, [none, one, none, none])
    remembered.find(["cow"], 3, [none])
    assert inner.asked == ["ant", "ant", "cow", "bee", "cow"]
    assert all(one is other for one, other in zip(again, found[::-1], strict=False))
    assert [hits.kept[0][0] for hits in found] == [1, 1, 2]
