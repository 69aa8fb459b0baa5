"""Build every model that is asked for, side by side where their parents allow, with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console

from uds_bench.children import end_with_parent
from uds_bench.engines.builds import Build, run_builds
from uds_bench.errors import UdsError
from uds_bench.progress import bar, hush_process
from uds_bench.scoring.engine import Engine
from uds_bench.storage import require_writable
from uds_bench.zoo import cache, recipes

_queue: Any = None


def paths(
    names: Iterable[str], root: Path, console: Console | None = None, engine: Engine | None = None
) -> dict[str, Path]:
    """The folders of the embedded models, trained first where they are not cached yet: on this machine, or on those of
    an engine."""
    wanted = list(dict.fromkeys(names))
    lineage = recipes.lineage(wanted)
    if missing := [name for name in lineage if not cache.is_whole(cache.folder(root, name))]:
        require_writable(root, "UDS_BENCH_CACHE")
        if engine is None:
            _build(missing, root, console or Console(stderr=True))
        else:
            _build_on(engine, missing, root)
    return {name: cache.folder(root, name) for name in wanted}


def _build_on(engine: Engine, names: list[str], root: Path) -> None:
    while names:
        ready = [name for name in names if recipes.ancestor(name) not in names]
        names = [name for name in names if name not in ready]
        builds = [Build(f"zoo:{name}", partial(_one, str(root), name)) for name in ready]
        threads, largest = max(recipes.find(name).threads for name in ready), max(map(recipes.weights, ready))
        failed = [error for _, error in run_builds(engine, builds, threads, largest)]
        if wrong := [error for error in failed if error is not None]:
            raise wrong[0]


def _build(names: list[str], root: Path, console: Console) -> None:
    context, chains, at_once = get_context("spawn"), _chains(names), cache.workers()
    # A plain pipe, not a manager's queue: the manager's process would outlive a killed parent.
    messages = context.SimpleQueue()
    with ProcessPoolExecutor(at_once, context, _start, (messages,)) as pool, bar(console) as progress:
        what = f"training the embedded models (first use, cached in {root})"
        task = progress.add_task(what, total=sum(recipes.find(name).step_count() for name in names))
        if progress.disable:
            console.print(what)  # in a log there is no bar, and it takes minutes
        running: dict[Future[None], str] = {}
        waiting = sorted(names, key=chains.__getitem__, reverse=True)
        try:
            while waiting or running:
                busy = {*waiting, *running.values()}
                for name in [n for n in waiting if recipes.ancestor(n) not in busy][: at_once - len(running)]:
                    waiting.remove(name)
                    running[pool.submit(_one, str(root), name)] = name
                done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                while not messages.empty():
                    progress.advance(task, messages.get())
                for future in done:
                    future.result()
                    running.pop(future)
        except BrokenProcessPool as error:
            models = ", ".join(f"zoo:{name}" for name in running.values())
            raise UdsError(
                f"a process was killed while it trained {models}: see that memory is enough and run again, "
                f"what is finished is kept in {root}"
            ) from error
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _chains(names: Iterable[str]) -> dict[str, int]:
    """By model the steps of the longest chain that it begins: the longest starts first, or one process would end it
    alone."""
    chains: dict[str, int] = {}
    for name in reversed(recipes.lineage(list(names))):  # whatever is trained from a model comes before it
        chains[name] = chains.get(name, 0) + recipes.find(name).step_count()
        if above := recipes.ancestor(name):
            chains[above] = max(chains.get(above, 0), chains[name])
    return chains


def _start(queue: Any) -> None:
    """Set up a training process: silent, and with an end when its parent ends."""
    global _queue
    _queue = queue
    end_with_parent()
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    hush_process()


def _one(root: str, name: str) -> None:
    import torch

    # Said by the recipe and not by what is free: the order of sums, and with it the last digits, follow the threads.
    torch.set_num_threads(recipes.find(name).threads)
    try:
        cache.ensure(Path(root), name, None if _queue is None else lambda _step, _loss: _queue.put(1))
    except UdsError:
        raise
    except Exception as error:
        raise UdsError(f"zoo:{name} could not be trained: {type(error).__name__}: {error}") from error
