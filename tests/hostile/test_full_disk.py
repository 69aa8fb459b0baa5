"""A disk that fills up while scores are stored: a line says so, what is stored is whole, a later run ends the work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import made_cells as made
import pytest

RUN = """
import json, os, subprocess, sys, warnings
from pathlib import Path
import made_cells as made
from uds_bench.scoring import workers
workers.processes = lambda *_: 1
warnings.simplefilter("error")  # nothing that is stored may be damaged
folder, told = Path(sys.argv[1]), []
for size in ("96k", "16m"):
    if "PYTEST_XDIST_TESTRUNUID" in os.environ:
        os.environ["PYTEST_XDIST_TESTRUNUID"] = size  # a run by itself
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"remount,size={size}", "none", folder / "store"], check=True)
    told.append([made.score_all(made.made_runner(folder, made.names_of(40))), made.stored(folder), made.times(folder)])
print(json.dumps(told))
"""
IN_A_ROOM_OF_ITS_OWN = ["unshare", "--map-root-user", "--mount"]


@pytest.mark.parametrize("beside", [{}, {"PYTEST_XDIST_TESTRUNUID": "one"}], ids=["alone", "distributed"])
def test_a_disk_that_is_full_is_told_and_costs_nothing_that_is_stored(beside: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("unshare") is None or subprocess.run([*IN_A_ROOM_OF_ITS_OWN, "true"], check=False).returncode:
        pytest.skip("no disk can be made here: unshare --map-root-user --mount is missing or not allowed")
    (tmp_path / "store").mkdir()
    mounted = 'mount -t tmpfs -o size=96k none "$1/store" && exec "$0" -c "$2" "$1"'
    path = os.pathsep.join([str(Path(made.__file__).parent), *filter(None, sys.path)])
    line = [*IN_A_ROOM_OF_ITS_OWN, "sh", "-c", mounted, sys.executable, str(tmp_path), RUN]
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_XDIST")}
    ran = subprocess.run(line, env=own | {"PYTHONPATH": path} | beside, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    (full, kept, before), (whole, stored, after) = json.loads(ran.stdout)
    lost = {name: said for name, said in full.items() if isinstance(said, str)}
    store = tmp_path / "store"
    said = (
        f"{store} cannot be written (No space left on device): make room there, or mend its permissions, and run again"
    )
    assert lost
    for line in lost.values():
        assert line.startswith(said) or f"{store} is not writable (No space left on device): name another" in line
    assert 0 < kept == len(full) - len(lost)
    assert all(isinstance(value, float) for value in whole.values())
    assert {name: value for name, value in whole.items() if name not in lost} == {
        name: value for name, value in full.items() if name not in lost
    }
    assert stored == len(whole)
    assert {name for name in whole if after[name] > before.get(name, 0)} == set(lost), (
        "what was stored is not made anew"
    )
