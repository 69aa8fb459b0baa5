"""What lookups among many rows cost, and what they find beside a plain matrix product; one index a process."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uds_bench.retrieval.encoder import Encoder, Vectors, VectorTable
from uds_bench.retrieval.scorers import Dense

TOP, DELETED = 5, 5
"""Candidates a lookup, and rows that are gone: so many more are asked for."""
FORMS = ("exact", "changed")
ROWS: list[str] = []
"""Stands for the texts of all rows, whose vectors are there."""


class Given(Encoder):
    """Vectors that are there already: those of all rows, and those of lookups, which are called by their number."""

    def __init__(self, rows: Vectors, lookups: Vectors) -> None:
        super().__init__("given")
        self._rows, self._lookups = rows, lookups

    def table(self, texts: Sequence[str], advance: Any = None) -> VectorTable:
        assert texts is ROWS
        return VectorTable((self._rows,))

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._lookups[[int(text) for text in texts]]


def prepare(folder: Path, rows: Vectors, lookups: dict[str, Vectors]) -> None:
    """Write what every process reads, and for each lookup the rows that are best by plain products."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "rows.npy", rows)
    for form in FORMS:
        best = []
        for at in range(0, len(lookups[form]), 100):
            scores = lookups[form][at : at + 100] @ rows.T
            first = np.argpartition(-scores, TOP, axis=1)[:, :TOP]
            order = np.argsort(-np.take_along_axis(scores, first, axis=1), axis=1)
            best.append(np.take_along_axis(first, order, axis=1))
        np.savez(folder / f"{form}.npz", vectors=lookups[form], best=np.concatenate(best))


def measure(folder: Path, factory: str, searches: Sequence[str]) -> dict[str, Any]:
    """Build one index, and search it in each of some ways ("" as it is).

    Seconds are of the wall, a lookup's own embedding left out; bytes are of the index as it is written; `above` is how
    far memory rose above what the vectors and the program took, in bytes, and None where that cannot be read.
    """
    import faiss

    rows = np.load(folder / "rows.npy")
    asked = {form: np.load(folder / f"{form}.npz") for form in FORMS}
    vectors = np.concatenate([asked[form]["vectors"] for form in FORMS])
    before, start = resident(reset=True), time.perf_counter()
    dense = Dense(ROWS, Given(rows, vectors), factory)
    seconds = time.perf_counter() - start
    peak = resident(peak=True)
    found: dict[str, Any] = {
        "build_s": seconds,
        "above": None if before is None or peak is None else peak - before,
        "bytes": int(faiss.serialize_index(dense._index).nbytes),
    }
    del rows
    for search in searches:
        faiss.ParameterSpace().set_index_parameters(dense._index, search)
        found[search] = latencies(dense, len(vectors))
        for at, form in enumerate(FORMS):
            texts = [str(at * len(vectors) // 2 + one) for one in range(len(vectors) // 2)]
            parts = [dense.best(texts[of : of + 128], TOP + DELETED) for of in range(0, len(texts), 128)]
            best, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
            found[search] |= compared(form, best, scores, asked[form], np.load(folder / "rows.npy", mmap_mode="r"))
    return found


def latencies(dense: Dense, number: int) -> dict[str, float]:
    """Milliseconds a lookup: the median of single ones, and of batches of 128."""
    taken: dict[int, list[float]] = {1: [], 128: []}
    for size, batches in ((1, 50), (128, 5)):
        for batch in range(batches):
            texts = [str((batch * size + at) * 7 % number) for at in range(size)]
            start = time.perf_counter()
            dense.best(texts, TOP + DELETED)
            taken[size].append((time.perf_counter() - start) / size * 1000)
    return {f"ms_of_{size}": statistics.median(times) for size, times in taken.items()}


def compared(form: str, found: NDArray[Any], scores: NDArray[Any], asked: Any, rows: NDArray[Any]) -> dict[str, float]:
    """Recall of the best row, of the five best, and of the row that answers once the best one is deleted; and how far
    the first one's score is from its true cosine, at most."""
    true = asked["best"]
    next_best = [next((row for row in some if row != best), -1) for some, best in zip(found, true[:, 0], strict=True)]
    shared = [len(set(a) & set(b)) / TOP for a, b in zip(true.tolist(), found[:, :TOP].tolist(), strict=True)]
    there = found[:, 0] >= 0
    cosine = (rows[found[there, 0]] * asked["vectors"][there]).sum(1)
    return {
        f"recall_1_{form}": float((true[:, 0] == found[:, 0]).mean()),
        f"recall_5_{form}": statistics.mean(shared),
        f"recall_next_{form}": float((true[:, 1] == np.array(next_best)).mean()),
        f"off_{form}": float(np.abs(cosine - scores[there, 0]).max()),
    }


def resident(peak: bool = False, reset: bool = False) -> int | None:
    """This process's memory in bytes, or the most that it was since the last reset; None where there is no /proc."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    name = "VmHWM:" if peak else "VmRSS:"
    return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith(name))


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])))
