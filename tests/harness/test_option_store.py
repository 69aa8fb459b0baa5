"""--uds-store and --uds-device: where scores are kept and made."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from small_runs import DEPTH, Bench


def cells(store: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (store / "cells").rglob("*.json")}


def test_each_model_is_loaded_once_and_a_file_cut_in_half_is_made_anew(bench: Bench) -> None:
    bench.manifest()
    store = bench.folder / "store"
    first = bench.run(DEPTH, store=store)
    assert first.report["loads"] == {"full": 1, "full2": 1, "retain": 1, "retain2": 1, "retain3": 1}
    before = cells(store)
    victim = next(p for p in (store / "cells").rglob("*.json") if b'"checkpoint":"retain3"' in p.read_bytes())
    whole = victim.read_bytes()
    victim.write_bytes(whole[: len(whole) // 2])
    again = bench.run(DEPTH, store=store)
    assert again.code == 0
    assert again.verdicts == first.verdicts
    assert "cut short or altered" in again.text
    after = cells(store)
    assert [name for name in after if after[name] != before[name]] == [victim.name]


def test_a_cached_part_cut_in_half_changes_no_verdict(bench: Bench) -> None:
    bench.manifest(["copy"])
    store = bench.folder / "store"
    bench.run(DEPTH, "-k", "test_score", store=store)
    for file in [f for f in (store / "cache").rglob("*") if f.is_file()]:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    bench.manifest(["retain3"])
    ran = bench.run(DEPTH, store=store)
    assert ran.code == 0, ran.text


@pytest.mark.parametrize(
    ("cache", "store", "told"),
    [
        (
            "good",
            "a_file/store",
            "a_file/store is not writable (Not a directory): name another folder with --uds-store",
        ),
        ("a_file/x", None, "a_file/x is not writable (Not a directory): name another folder with UDS_BENCH_CACHE"),
        ("a_file/x", "good", "a_file/x is not writable (Not a directory): name another folder with UDS_BENCH_CACHE"),
    ],
)
@pytest.mark.parametrize("embedded", [True, False])
def test_a_folder_that_cannot_be_written_is_told_before_the_run(
    bench: Bench, cache: str, store: str | None, told: str, embedded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not embedded:
        bench.manifest()
    (bench.folder / "a_file").write_text("x")
    monkeypatch.setenv("UDS_BENCH_CACHE", str(bench.folder / cache))
    said = bench.refused(DEPTH, store=None if store is None else bench.folder / store)
    assert said.count("is not writable") == 1
    assert f"{bench.folder}/{told}" in said


def test_a_cache_that_nothing_needs_may_be_missing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that cannot be written is no hindrance where the store is named and every checkpoint is a folder."""
    bench.manifest()
    (bench.folder / "a_file").write_text("x")
    monkeypatch.delenv("UDS_BENCH_CACHE")
    monkeypatch.setenv("HOME", str(bench.folder / "a_file"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.code == 0, ran.text


def test_what_a_killed_run_has_computed_is_not_computed_again(bench: Bench) -> None:
    names = ["retain3", "shallow"]
    manifest = bench.manifest(names)
    store = bench.folder / "store"
    line = [sys.executable, "-m", "pytest", *bench.arguments(DEPTH, manifest=manifest, store=store)]
    running = subprocess.Popen(line, cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(cells(store)) < 3 and running.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL, "the run was over before it could be killed"
    kept = cells(store)
    assert len(kept) >= 3
    ran = bench.run(DEPTH, manifest=manifest, store=store)
    after = cells(store)
    assert len(after) > len(kept), "nothing was left to compute"
    assert {name: after[name] for name in kept} == kept
    assert ran.counts["pass"] >= 1
    whole = bench.run(DEPTH, manifest=manifest)
    assert ran.verdicts == whole.verdicts
    scored = {s["checkpoint"] for path in (store / "cells").rglob("*.json") for s in [_payload(path)]}
    assert scored >= {"full", "retain", *names}


def _payload(path: Path) -> dict[str, str]:
    payload: dict[str, str] = json.loads(path.read_bytes().rpartition(b"\nsha256:")[0])
    return payload


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_cuda_without_cuda_is_told_before_anything_runs(bench: Bench) -> None:
    bench.manifest()
    said = bench.refused(DEPTH, "--uds-device", "cuda")
    assert "no usable CUDA device" in said
    assert "choose cpu" in said
