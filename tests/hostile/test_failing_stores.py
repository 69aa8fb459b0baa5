"""A store that fails while scores are kept, as its disk is full or may be written no more: a line says so, what is
stored is whole, a later run ends the work."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import made_cells as made
import pytest
from typer.testing import CliRunner

from uds_bench.console.app import new_app
from uds_bench.metrics.metric import Measured
from uds_bench.storage import write_json, write_sealed

RUN = """
import json, os, subprocess, sys, threading, warnings
from pathlib import Path
import made_cells as made
from uds_bench.scoring import workers
workers.processes = lambda *_: 1
warnings.simplefilter("error")  # nothing that is stored may be damaged
folder, told, engine = Path(sys.argv[1]), [], sys.argv[3]

def change(command, stored):
    made.wait_until(lambda: made.stored(folder) >= stored)
    subprocess.run([*command, folder / "store"], check=True)

for command, stored in json.loads(sys.argv[2]):
    if "PYTEST_XDIST_TESTRUNUID" in os.environ:
        os.environ["PYTEST_XDIST_TESTRUNUID"] = str(stored)  # a run by itself
    changing = threading.Thread(target=change, args=(command, stored))
    changing.start()
    if not stored:
        changing.join()
    seconds = 0.01 if engine == "local" else 0.2  # two processes, while this one harms the store
    runner = made.made_runner(folder, made.names_of(40), made.engine_of(engine, folder), seconds)
    told.append([made.score_all(runner), made.stored(folder), made.times(folder)])
    changing.join()
print(json.dumps(told))
"""
FULL = ["unshare", "--map-root-user", "--mount"]
"""Mounts a disk of its own."""
BARRED = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""An owner whom permissions bind, as they do not bind root."""


def fails_and_is_mended(
    before: list[str], steps: list[tuple[str, int]], folder: Path, engine: str, beside: dict[str, str], why: str
) -> int:
    """A run that is harmed, once so much is stored, and one after it that is not: how often the first computed what it
    could not store. `why`: what it is told."""
    path = os.pathsep.join([str(Path(made.__file__).parent), *filter(None, sys.path)])
    changes = json.dumps([(command.split(), stored) for command, stored in steps])
    command_line = [*before, sys.executable, "-c", RUN, str(folder), changes, engine]
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_XDIST")}
    ran = subprocess.run(
        command_line, env=own | {"PYTHONPATH": path} | beside, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    (first, kept, before_it), (whole, stored, after) = json.loads(ran.stdout)
    lost = {name: said for name, said in first.items() if isinstance(said, str)}
    assert 0 < kept == len(first) - len(lost)
    assert all(isinstance(value, float) for value in whole.values())
    assert {name: whole[name] for name in first if name not in lost} == {
        name: value for name, value in first.items() if name not in lost
    }
    assert stored == len(whole)
    assert {name for name in whole if after[name] > before_it.get(name, 0)} == set(lost), (
        "what was stored is not made anew"
    )
    store = folder / "store"
    said = f"{store} cannot be written ({why}): make room there, or mend its permissions, and run again"
    assert lost
    for line in lost.values():
        assert line.startswith(said) or f"{store} is not writable ({why}): name another" in line
    return sum(before_it.values()) - kept


def is_possible(command: list[str]) -> bool:
    return not command or (
        shutil.which(command[0]) is not None and not subprocess.run([*command, "true"], check=False).returncode
    )


RUNS = pytest.mark.parametrize(
    ("engine", "beside"),
    [
        pytest.param("local", {}, id="alone"),
        pytest.param("local", {"PYTEST_XDIST_TESTRUNUID": "one"}, id="distributed"),
        pytest.param("slurm", {}, id="jobs", marks=[pytest.mark.slow, pytest.mark.needs("submitit")]),
    ],
)


@RUNS
def test_a_disk_that_is_full_is_told_and_costs_nothing_that_is_stored(
    engine: str, beside: dict[str, str], tmp_path: Path
) -> None:
    if not is_possible(FULL):
        pytest.skip(f"no disk can be made here: {' '.join(FULL)} is missing or not allowed")
    (tmp_path / "store").mkdir()
    mounted = ["sh", "-c", 'mount -t tmpfs -o size=96k none "$4/store" && exec "$@"', "sh"]
    sizes = [(f"mount -t tmpfs -o remount,size={size} none", 0) for size in ("96k", "16m")]
    lost = fails_and_is_mended([*FULL, *mounted], sizes, tmp_path, engine, beside, "No space left on device")
    assert lost <= (1 if engine == "local" else 2), "no process computes anything for a disk that it knows to be full"


@RUNS
def test_permissions_that_are_lost_are_told_and_cost_nothing_that_is_stored(
    engine: str, beside: dict[str, str], tmp_path: Path
) -> None:
    if not is_possible(BARRED):
        pytest.skip(f"permissions bind nobody here: {' '.join(BARRED)} is missing or not allowed")
    (tmp_path / "store").mkdir()
    steps = [("chmod -R a-w", 15), ("chmod -R u+w", 0)]
    fails_and_is_mended(BARRED, steps, tmp_path, engine, beside, "Permission denied")


class Keeping(made.MadeEvaluator):
    """Keeps something beside its scores, for which there is no room."""

    def evaluate(self, subject: Any, /) -> Measured:
        super().evaluate(subject)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("os.fsync", out_of_room)
            write_sealed(self.log.parent / "store" / "cache" / "kept", b"")
        raise AssertionError


def out_of_room(_: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_what_is_kept_beside_scores_and_finds_no_room_ends_the_computing_too(tmp_path: Path) -> None:
    runner = made.made_runner(tmp_path, made.names_of(4))
    runner.evaluator = Keeping(runner.evaluator.log)
    found = made.score_all(runner)
    assert made.times(tmp_path) == {"c00000": 1}
    (said,) = set(found.values())
    assert str(said).startswith(
        f"{tmp_path / 'store' / 'cache' / 'kept'} cannot be written (No space left on device): "
    )


def test_a_command_whose_file_finds_no_room_names_it_and_is_no_wrong_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", out_of_room)
    app = new_app("Help.", "uds-bench")
    for name in ("write", "other"):  # one alone would be no group
        app.command(name)(lambda: write_json(tmp_path / "out.json", {}))
    ran = CliRunner().invoke(app, ["write"])
    assert ran.exit_code == 1
    assert ran.stderr.startswith(
        f"uds-bench: error: {tmp_path / 'out.json'} cannot be written (No space left on device): "
    )
    assert ran.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
