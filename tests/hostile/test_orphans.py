"""Who is killed leaves nothing behind: no process that scores for nobody, no draft, no lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from uds_bench import storage
from uds_bench.children import Child, ChildError
from uds_bench.storage import write_atomic

CREW = """
import sys, time
from functools import partial
from pathlib import Path
from uds_bench.scoring import workers
from uds_bench.scoring.spread import Work

class Slow:
    loads = {}
    def __init__(self, folder):
        self.folder = Path(folder)
    def compute_group(self, group):
        import os
        (self.folder / str(os.getpid())).touch()
        time.sleep(600)
        return True
    def failed(self):
        return {}

if __name__ == "__main__":
    workers.processes = lambda *_: 3
    folder = sys.argv[1]
    work = Work(Slow(folder), partial(Slow, folder), [[at] for at in range(9)], None)
    workers.WorkerPool().score(work)
"""
RENDER = """
import sys, time
from uds_bench.children import Child
child = Child("uds_bench.facts.rendering:render", 10)
child.ask("x", [], {})
print(child._process.pid, flush=True)
time.sleep(600)
"""
PATIENCE = 120


def wait_until(what: object, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    assert what()


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_scoring_processes_end_with_the_one_that_started_them(tmp_path: Path, sent: signal.Signals) -> None:
    script, begun = tmp_path / "crew.py", tmp_path / "begun"
    script.write_text(CREW)
    begun.mkdir()
    parent = subprocess.Popen([sys.executable, str(script), str(begun)], stderr=subprocess.DEVNULL)
    wait_until(lambda: len(list(begun.iterdir())) == 3)
    below = psutil.Process(parent.pid).children(recursive=True)
    assert len(below) >= 2
    parent.send_signal(sent)
    parent.wait()
    _, alive = psutil.wait_procs(below, timeout=PATIENCE)
    for process in alive:
        process.kill()
    assert not alive


def test_what_renders_ends_with_the_one_that_started_it() -> None:
    parent = subprocess.Popen([sys.executable, "-c", RENDER], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    _, alive = psutil.wait_procs([child], timeout=PATIENCE)
    assert not alive


def test_a_child_answers_raises_and_is_started_again_after_it_went_too_far() -> None:
    child = Child("uds_bench.checkpoints.patterns:match", 1)
    assert child.ask(["a+"], ["aa", "b"]) == 6  # each form that fits, from the start and whole
    with pytest.raises(ChildError, match="TypeError"):
        child.ask(1)
    with pytest.raises(ChildError, match="takes more than 1 s"):
        child.ask(["(a+)+b"], ["a" * 64])
    assert child.ask([], []) == 0
    child.close()


LARGE = """
import mmap, sys
import uds_bench.checkpoints.bounded
def reserved(gib):
    return mmap.mmap(-1, gib << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
library = reserved(3)
def take(gib):
    return len(reserved(gib)) >> 30
def has_torch():
    return "torch" in sys.modules
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux says what a process has, and limits it")
def test_what_a_library_takes_is_not_counted_among_what_a_call_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As CUDA builds of torch do."""
    (tmp_path / "large_library.py").write_text(LARGE)
    monkeypatch.syspath_prepend(tmp_path)
    child = Child("large_library:take", 60)
    assert child.ask(1) == 1
    with pytest.raises(ChildError, match=r"OSError.*Cannot allocate memory"):
        child.ask(3)
    child.close()
    child = Child("large_library:has_torch", 60)
    assert child.ask(), "torch is loaded before a configuration is read within limits"
    child.close()


def test_drafts_of_killed_writers_are_cleared_and_those_of_others_are_not(tmp_path: Path) -> None:
    old, young = (tmp_path / f".a.json.{sign * 16}" for sign in "01")
    others = tmp_path / f".b.json.{'0' * 16}", tmp_path / ".a.json.bak", tmp_path / ".lock"
    for path in (old, young, *others):
        path.touch()
    for path in (old, *others):
        os.utime(path, (0, time.time() - storage.HOUR - 1))
    write_atomic(tmp_path / "a.json", b"x")
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", young.name, *(one.name for one in others)}
