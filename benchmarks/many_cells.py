"""What a score costs beside its own computing, by processes here, by Ray, in a bucket; and what a plan and a report of
many scores take.

Cells are made (`tests/made_cells.py`): runner, store, leases and processes are real. `python benchmarks/many_cells.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "report")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "tests"), os.environ.get("PYTHONPATH")]))

import big  # noqa: E402
import made_cells as made  # noqa: E402
import psutil  # noqa: E402
from s3_server import BUCKET, s3_server  # noqa: E402

import uds_bench  # noqa: E402
from uds_bench.claims.fact_rows import write_run  # noqa: E402
from uds_bench.report import render  # noqa: E402
from uds_bench.storage import StorePlace  # noqa: E402

SIZES = (300, 3_000, 30_000)
FACTS = 3
SCORES = 49
"""That a plan with variants has of a checkpoint."""


def processor() -> float:
    """Processor-seconds of this process, and of all that it started."""
    alive = [sum(one.cpu_times()[:2]) for one in psutil.Process().children(recursive=True)]
    return sum(os.times()[:4]) + sum(alive)


def overhead(engine: str, count: int) -> dict[str, Any]:
    """Milliseconds a cell, by the clock and of the processor, and to read it again; seconds that processes start in."""
    folder = Path(tempfile.mkdtemp(prefix="many_cells"))
    place: StorePlace | None = None
    with ExitStack() as running:
        running.callback(shutil.rmtree, folder)
        if engine == "bucket":
            os.environ |= running.enter_context(s3_server()).environment() | {"UDS_BENCH_CACHE": str(folder)}
            place = f"s3://{BUCKET}/scores"
        within = made.engine_of(engine, folder)
        start = time.perf_counter()
        made.score_all(made.made_runner(folder / "few", made.names_of(8), within, store=place and f"{place}/few"))
        started = time.perf_counter() - start
        start, computed = time.perf_counter(), processor()
        found = made.score_all(made.made_runner(folder, made.names_of(count), within, store=place))
        took, computed = time.perf_counter() - start, processor() - computed
        assert all(isinstance(value, float) for value in found.values())
        assert set(made.times(folder).values()) == {1}
        start = time.perf_counter()
        made.score_all(made.made_runner(folder, made.names_of(count), within, store=place))
        read = time.perf_counter() - start
    ms = {"clock": took, "processor": computed, "read again": read}
    told = {name: round(1e3 * seconds / count, 2) for name, seconds in ms.items()}
    return {"engine": engine, "cells": count, "ms a cell": told, "start s": round(started, 1)}


def plan(count: int) -> dict[str, Any]:
    """Seconds that `uds-bench plan` of some so many scores takes, of copies of a shipped model, first and again."""
    checkpoints = count // SCORES
    folder = Path(tempfile.mkdtemp(prefix="many_cells"))
    shipped = Path(uds_bench.__file__).parent / "zoo" / "shipped"
    try:
        for at in range(checkpoints):
            shutil.copytree(shipped / "npo", folder / "runs" / f"c{at:05}")
        rows = "\n".join(f'c{at:05} = "runs/c{at:05}"' for at in range(checkpoints))
        references = "\n".join(f'{name} = "{shipped / name}"' for name in ("full", "retain"))
        text = f'[facts]\nsource = "authors"\n[references]\n{references}\n[candidates]\n{rows}\n'
        (folder / "uds.toml").write_text(text)
        words = ["plan", "--manifest", str(folder / "uds.toml"), "--variants", "--audits", "depth", "--json"]
        command = [sys.executable, "-c", "from uds_bench.cli import main; main()", *words]
        times = []
        for _ in range(2):
            start = time.perf_counter()
            done = subprocess.run([*command, "--store", str(folder / "store")], capture_output=True, check=True)
            times.append(round(time.perf_counter() - start, 1))
        cells = len(json.loads(done.stdout)["cells"])
    finally:
        shutil.rmtree(folder)
    return {"plan_of": cells, "checkpoints": checkpoints, "first_s": times[0], "again_s": times[1]}


def report(count: int) -> dict[str, Any]:
    """Megabytes and seconds of the JSON and of the page of so many scores of `FACTS` facts each."""
    run = big.big(FACTS, candidates=count // (big.METRICS * len(big.ATTACKS)))
    folder = Path(tempfile.mkdtemp(prefix="many_cells"))
    try:
        start = time.perf_counter()
        write_run(run, folder / "run.json")
        written = time.perf_counter() - start
        start = time.perf_counter()
        page = render(run)
        rendered = time.perf_counter() - start
        mb = {path.name: round(path.stat().st_size / 1e6, 2) for path in folder.iterdir()}
    finally:
        shutil.rmtree(folder)
    mb |= {"index.html": round(len(page.index.encode()) / 1e6, 2)}
    mb |= {"parts": round(sum(map(len, page.parts.files.values())) / 1e6, 2)}
    seconds = {"json": round(written, 1), "page": round(rendered, 1)}
    return {"report_of": len(run.scores), "claims": len(run.claims), "MB": mb, "s": seconds}


if __name__ == "__main__":
    for name in sys.argv[1:] or ["local", "ray", "plan", "report"]:
        for size in SIZES:
            measure = {"plan": plan, "report": report}.get(name, partial(overhead, name))
            print(json.dumps(measure(size)), flush=True)
