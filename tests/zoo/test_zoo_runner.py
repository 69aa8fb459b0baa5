"""Training every model that is asked for: what the user sees, and what survives a kill."""

import io
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import tiny_zoo
import torch
from made_cells import InThisProcess
from rich.console import Console

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.engines.shard import read_shard
from uds_bench.errors import ConfigurationError, UdsError
from uds_bench.scoring.engine import BASE, models_memory
from uds_bench.zoo import cache, recipes, training
from uds_bench.zoo.ready import build_models
from uds_bench.zoo.recipe import Zoo

NAMES = ["full", "retain", "npo", "idk", "identity"]


class Terminal(io.StringIO):
    """What is written, of a file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal() -> Console:
    return Console(file=Terminal(), force_terminal=True, width=160)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def wait_until(done: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def ages(root: Path) -> dict[str, int]:
    """When each file of the cache was written, by path; without the locks."""
    return {str(f): f.stat().st_mtime_ns for f in root.rglob("*") if f.is_file() and f.suffix != ".lock"}


def draft(root: Path, name: str) -> Path:
    place = cache.folder(root, name)
    return place.with_name(f".{place.name}.draft")


def test_the_first_run_shows_its_progress_and_the_second_shows_nothing(tmp_path: Path, quick_start: None) -> None:
    first, second = terminal(), terminal()
    places = training.paths(NAMES, tmp_path, first)
    assert list(places) == NAMES
    assert all(cache.is_whole(place) for place in places.values())
    total = sum(recipes.find(name).step_count() for name in recipes.lineage(NAMES))
    assert f"training the embedded models (first use, cached in {tmp_path})" in shown(first).replace("\n", "")
    assert f"{total}/{total}" in shown(first), "the bar did not end full"
    before = ages(tmp_path)
    assert training.paths(NAMES, tmp_path, second) == places
    assert shown(second) == ""
    assert ages(tmp_path) == before


def test_who_begins_the_longest_chain_starts_first(
    base: Path, tmp_path: Path, quick_start: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(base, tmp_path / "cache")
    started: list[str] = []

    class Pool(training.ProcessPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            started.append(args[1])
            done: Future[Any] = Future()
            done.set_result(None)
            return done

    monkeypatch.setattr(training, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(cache, "workers", lambda: 1)
    training.paths(["retain", "identity", "alt_po"], root, terminal())
    # Full takes as long as retain, and there is more to do after it; of nothing to do, nothing is in a hurry.
    assert started == ["full", "retain", "alt_po", "identity"]


def test_a_failing_training_is_one_clear_error_and_leaves_nothing_half_made(
    base: Path, tmp_path: Path, quick_start: None
) -> None:
    root = shutil.copytree(base, tmp_path / "cache")
    with pytest.raises(UdsError) as caught:
        training.paths(["full", "divergent", "npo"], root, terminal())
    message = str(caught.value)
    assert message.startswith("zoo:divergent could not be trained: FloatingPointError: training diverged: ")
    assert "\n" not in message
    folders = [path for path in (root / "zoo").iterdir() if path.is_dir()]
    assert all(cache.is_whole(path) for path in folders), "something half-made was left"
    assert not cache.folder(root, "divergent").exists()


def test_an_engine_trains_parents_first_and_the_same_weights(base: Path, tmp_path: Path, tiny: None) -> None:
    elsewhere, here = (shutil.copytree(base, tmp_path / side) for side in ("elsewhere", "here"))
    engine = InThisProcess()
    found = training.paths(["npo", "retain"], elsewhere, engine=engine)
    assert engine.waves == [["zoo:full", "zoo:retain"], ["zoo:npo"]]
    for name, place in found.items():
        assert (place / cache.CHECKSUMS).read_text() == (cache.ensure(here, name) / cache.CHECKSUMS).read_text()
    assert training.paths(["npo"], elsewhere, engine=engine) == {"npo": found["npo"]}
    assert len(engine.waves) == 2, "what is there is not asked for"


@pytest.mark.parametrize("width", [16, 48])
def test_an_engine_is_asked_for_the_memory_of_training_the_largest(
    width: int, tmp_path: Path, tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the same estimate as scoring, which reads the weights that are there when it is trained."""
    base = replace(tiny_zoo.RECIPES["base"], width=width, epochs=1)
    monkeypatch.setattr(recipes, "zoos", lambda: {"tiny": Zoo(tiny_zoo.RECIPES | {"base": base})})
    engine = InThisProcess()
    made = training.paths(["base", "full"], tmp_path, engine=engine)
    trained = [models_memory(CheckpointSpec(str(folder)), trains=True) for folder in made.values()]
    assert [takes.memory - BASE for takes in engine.asked] == trained
    assert trained[0] > 9 * 4 * 300 * width


def test_shares_build_each_model_once_and_no_more_than_its_parents(
    base: Path, tmp_path: Path, tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: tiny_zoo.RECIPES[name] for name in ("base", "full", "retain", "identity", "npo")}
    monkeypatch.setattr(recipes, "zoos", lambda: {"tiny": Zoo(few)})
    shares = []
    for at in (1, 2, 3):
        root = shutil.copytree(base, tmp_path / f"machine{at}")
        monkeypatch.setenv("UDS_BENCH_CACHE", str(root))
        shares.append(build_models([], InThisProcess(), read_shard(f"{at}/3")))
        there = {name for name in few if cache.is_whole(cache.folder(root, name))}
        assert there == {"base", *recipes.lineage(shares[-1])}
    assert sorted(name for share in shares for name in share) == sorted(few)
    assert sum(map(bool, shares)) > 1, "the models are in several shares"


def test_what_fails_on_an_engine_is_told_and_the_others_are_kept(base: Path, tmp_path: Path, tiny: None) -> None:
    root = shutil.copytree(base, tmp_path / "cache")
    with pytest.raises(UdsError, match=r"^zoo:divergent could not be trained: FloatingPointError: training diverged: "):
        training.paths(["divergent", "full", "npo"], root, engine=InThisProcess())
    assert cache.is_whole(cache.folder(root, "full"))
    assert not cache.folder(root, "npo").exists()


def test_a_killed_training_process_is_one_clear_error(base: Path, tmp_path: Path, quick_start: None) -> None:
    root = shutil.copytree(base, tmp_path / "cache")

    def kill_the_trainer() -> None:
        wait_until(draft(root, "endless").exists)
        server = [p for p in psutil.Process().children() if "forkserver" in " ".join(p.cmdline())]
        for process in [child for parent in server for child in parent.children()]:
            process.kill()

    killer = threading.Thread(target=kill_the_trainer)
    killer.start()
    with pytest.raises(UdsError, match=r"^a process was killed while it trained zoo:endless: see that memory"):
        training.paths(["endless"], root, terminal())
    killer.join()


@pytest.mark.slow
def test_a_killed_run_takes_its_processes_along_and_the_next_run_goes_on_from_there(
    tmp_path: Path, quick_start: None
) -> None:
    root = tmp_path / "cache"
    run = subprocess.Popen(
        [sys.executable, tiny_zoo.__file__, str(root), "endless"],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        wait_until(draft(root, "endless").exists)
        children = psutil.Process(run.pid).children(recursive=True)
    finally:
        run.kill()
        run.wait()
    assert children, "nothing was training"
    _, alive = psutil.wait_procs(children, timeout=10)
    for process in alive:
        process.kill()
    assert alive == [], "training went on for nobody"

    # Trained in another process, by another interpreter, by as many threads, to the same bits.
    torch.set_num_threads(recipes.find("base").threads)
    cache.ensure(tmp_path / "here", "base")
    torch.set_num_threads(1)
    checksums = [cache.folder(place, "base") / cache.CHECKSUMS for place in (tmp_path / "here", root)]
    assert checksums[0].read_bytes() == checksums[1].read_bytes()

    before = ages(cache.folder(root, "base"))
    training.paths(["full"], root, terminal())
    assert cache.is_whole(cache.folder(root, "full"))
    assert ages(cache.folder(root, "base")) == before


def test_a_cache_that_takes_no_files_is_said_before_any_process_starts(tmp_path: Path, quick_start: None) -> None:
    (tmp_path / "cache").touch()
    console = terminal()
    with pytest.raises(ConfigurationError, match=r"is not writable.*with UDS_BENCH_CACHE$"):
        training.paths(["base"], tmp_path / "cache", console)
    assert shown(console) == ""


def test_an_unknown_name_is_said_before_any_process_starts(tmp_path: Path, quick_start: None) -> None:
    console = terminal()
    with pytest.raises(ConfigurationError, match="zoo:nop is not an embedded model"):
        training.paths(["full", "nop"], tmp_path, console)
    assert (shown(console), list(tmp_path.iterdir())) == ("", [])
