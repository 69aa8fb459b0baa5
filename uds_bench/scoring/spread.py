"""Scoring in several processes: they score what is wanted first, and the rest beside it and while its scores are
read."""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.children import end_with_parent
from uds_bench.device import cores
from uds_bench.progress import hush_process
from uds_bench.scoring.engine import (
    RETRIES,
    Groups,
    ProcessReport,
    Scorer,
    complete,
    failure,
    limit_threads,
    run_task,
)

LOST = (
    f"its process was killed {1 + RETRIES} times while it scored: see that memory is enough and run again; what is "
    "finished is kept in the store"
)


@dataclass(frozen=True)
class Work:
    """What a scorer is to score. `make`: makes the same scorer in another process. `first`: the groups that all others
    are compared with. `largest`: the checkpoint that takes most memory, None if only one process may score. `trains`:
    whether a model is trained."""

    scorer: Scorer
    make: Callable[[], Scorer]
    groups: Sequence[Sequence[Any]]
    largest: CheckpointSpec | None
    first: Sequence[Sequence[Any]] = ()
    trains: bool = False


class Spread:
    """Scores works in the order in which they are wanted, in this process and in `count` - 1 others.

    This process goes on as soon as the work that it wants is scored. Meanwhile the others score what is left, and this
    one helps when it wants more; `close` ends that. A process that is killed is replaced, and its task is begun anew.
    """

    def __init__(self, works: Sequence[Work], count: int) -> None:
        self._works, self._count = works, count - 1
        self._tasks: dict[Future[ProcessReport], tuple[int, Groups]] = {}
        self._waiting = {at: work.groups for at, work in enumerate(works) if work.first}
        self._held: list[tuple[int, Groups]] = []
        self._open = ExitStack()
        threads = max(1, cores() // count)
        # Passed as an argument, they would hold up this process until the other one has imported all that they name.
        makes = Path(self._open.enter_context(TemporaryDirectory())) / "makes"
        makes.write_bytes(pickle.dumps([work.make for work in works]))
        self._open.enter_context(_limited(threads))
        # Each process is a pool of its own: so a killed one is known by its task, and the others go on.
        self._new = partial(ProcessPoolExecutor, 1, get_context("spawn"), _start, (threads, makes))
        self._processes = SimpleQueue[ProcessPoolExecutor]()
        for _ in range(self._count):
            self._processes.put(self._new())
        self._pool = ThreadPoolExecutor(self._count)
        # Work that other work waits for comes first.
        for at in sorted(range(len(works)), key=lambda at: at not in self._waiting):
            self._submit(at, [works[at].first] if at in self._waiting else [[group] for group in works[at].groups])

    @property
    def left(self) -> int:
        """Groups that are not scored yet."""
        return sum(len(groups) for _, groups in self._tasks.values()) + sum(map(len, self._waiting.values()))

    def holds(self, scorer: Scorer) -> bool:
        """Whether a scorer's work is not done yet."""
        return any(self._works[at].scorer is scorer for at, _ in [*self._tasks.values(), *self._held])

    def until(self, scorer: Scorer, advance: Callable[[int], None]) -> None:
        """Score together with the others until a scorer's work is done."""
        while any(self._works[at].scorer is scorer for at, _ in self._tasks.values()):
            # This process takes what is wanted, else what comes last; the others begin at the other end.
            last = [*self._tasks][::-1]
            last.sort(key=lambda task: self._scorer(task) is not scorer)
            own = next((task for task in last if task.cancel()), None)
            if own is not None:
                at, groups = self._tasks.pop(own)
                held = run_task(self._works[at].scorer, groups, at in self._waiting).held
                self._finish(at, groups, held, advance)
            for done in wait(self._tasks, 0 if own else None, FIRST_COMPLETED).done:
                at, groups = self._tasks.pop(done)
                self._works[at].scorer.take(report := done.result())
                self._finish(at, groups, report.held, advance)
        for at, left in [one for one in self._held if self._works[one[0]].scorer is scorer]:
            self._held.remove((at, left))
            complete(scorer, left, advance)

    def close(self) -> None:
        """Start no more tasks, and take the reports of those that are done."""
        for task in self._tasks:
            task.cancel()
        for _ in range(self._count):
            self._pool.submit(lambda: self._processes.get().shutdown())
        self._pool.shutdown()
        for task, (at, _) in self._tasks.items():
            if task.done() and not task.cancelled() and task.exception() is None:
                self._works[at].scorer.take(task.result())
        self._open.close()

    def _scorer(self, task: Future[ProcessReport]) -> Scorer:
        return self._works[self._tasks[task][0]].scorer

    def _submit(self, at: int, each: Iterable[Groups]) -> None:
        self._tasks |= {
            self._pool.submit(self._elsewhere, at, groups, at in self._waiting): (at, groups) for groups in each
        }

    def _elsewhere(self, at: int, groups: Groups, wait: bool) -> ProcessReport:
        """Runs in a thread: a process, or the one that replaces it, scores groups and reports."""
        process = self._processes.get()
        try:
            for _ in range(1 + RETRIES):
                try:
                    return process.submit(_score, at, groups, wait).result()
                except BrokenProcessPool:
                    process = self._new()
            return failure(groups, LOST)
        finally:
            self._processes.put(process)

    def _finish(self, at: int, groups: Groups, held: Groups, advance: Callable[[int], None]) -> None:
        if at in self._waiting:
            self._submit(at, [[group] for group in self._waiting.pop(at)])
        elif held:
            self._held.append((at, held))
        advance(len(groups) - len(held))


@contextmanager
def _limited(threads: int) -> Iterator[None]:
    """Limit this process to so many cores inside the block."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(limits=threads):  # numpy's own threads, of which each process would start one a core
            yield
    finally:
        torch.set_num_threads(before)


_makes: Sequence[Callable[[], Scorer]] = ()
_scorers: dict[int, Scorer] = {}


def _start(threads: int, makes: Path) -> None:
    global _makes
    end_with_parent()
    # This is for libraries that are loaded later: scipy's own threads would wait for each other without rest.
    os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(threads)}
    hush_process()
    limit_threads(threads)
    _makes = pickle.loads(makes.read_bytes())
    gc.freeze()  # what is imported lives on: it is not looked through for what can be freed


def _score(at: int, groups: Groups, wait: bool) -> ProcessReport:
    if at not in _scorers:
        _scorers[at] = _makes[at]()
    return run_task(_scorers[at], groups, wait)
