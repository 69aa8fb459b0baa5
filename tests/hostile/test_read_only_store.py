"""A store that can only be read serves as far as it goes, and says what it lacks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from small_runs import DEPTH, Bench

# Root may write anywhere: it gives that up for the run.
BOUND = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] if os.geteuid() == 0 else []


@pytest.mark.skipif(bool(BOUND) and shutil.which("setpriv") is None, reason="root, and no setpriv to be less")
@pytest.mark.parametrize("whole", [True, False])
def test_a_store_that_can_only_be_read(bench: Bench, whole: bool) -> None:
    store, manifest = bench.folder / "store", bench.manifest()
    shutil.copytree(bench.store, store)
    if not whole:
        for cell in (store / "cells").rglob("*.json"):
            if b'"checkpoint":"retain3"' in cell.read_bytes():
                cell.unlink()
    folders = [store, *(path for path in store.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        line = [*BOUND, sys.executable, "-m", "pytest", *bench.arguments(DEPTH, manifest=manifest, store=store)]
        ran = subprocess.run(line, cwd=bench.folder, capture_output=True, text=True, check=False)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    report = json.loads((bench.folder / "report.json").read_text())
    assert "Traceback" not in ran.stdout
    if whole:
        assert (ran.returncode, report["loads"]) == (0, {}), ran.stdout
    else:
        assert ran.returncode == 1
        assert report["loads"] == {}
        messages = [claim["message"] for claim in report["claims"] if claim["status"] == "undecided"]
        told = f"is not stored, and {store} is not writable (Permission denied): name another folder with --uds-store"
        assert any(told in message for message in messages), messages
