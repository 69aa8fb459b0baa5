"""Scoring side by side: small models in several processes, each with a share of the cores; large ones one by one."""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.children import end_with_parent
from uds_bench.errors import UdsError
from uds_bench.progress import OpenConsole, hush_process, watched
from uds_bench.scoring.engine import (
    FULL_MODELS_A_PROCESS,
    Engine,
    Groups,
    ProcessReport,
    Scorer,
    complete,
    limit_threads,
    needs,
    run_task,
    weights_size,
)

WORTH_A_PROCESS = 8
"""Groups from which on a second process pays for its start, which takes seconds."""
SHARE = 0.25
"""Of the machine's memory that the models of all processes may take, four of the full model's size each."""
SCORING = "scoring checkpoints and attacks"


@dataclass(frozen=True)
class Work:
    """What a scorer is to score. `make` gives another process its like; `first`: groups that all others are held
    against; `largest`: the checkpoint that takes most memory, None where processes cannot be reckoned with."""

    scorer: Scorer
    make: Callable[[], Scorer]
    groups: Sequence[Sequence[Any]]
    largest: CheckpointSpec | None
    first: Sequence[Sequence[Any]] = ()


class WorkerPool:
    """The processes of a run. What will be wanted later is scored in them beside what is wanted first, so that none
    waits for another, and all start once; where there is no other process, nothing is scored before it is wanted. With
    an engine they are elsewhere."""

    def __init__(
        self, device: str = "cpu", open_console: OpenConsole | None = None, engine: Engine | None = None
    ) -> None:
        self.device, self._engine = device, engine
        self._open_console = open_console
        self._foreseen: list[Callable[[], Iterable[Work]]] = []

    def foresee(self, work: Callable[[], Iterable[Work]]) -> None:
        """Have it scored with whatever is scored first."""
        self._foreseen.append(work)

    def watch(self, text: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """A progress bar over what an audit does before anything is scored; gives what advances it."""
        return watched(text, total, self._open_console, WORTH_A_PROCESS)

    def score(self, work: Work) -> None:
        """Score every group, here or in several processes. Raises UdsError where a process was killed; what is stored
        is kept."""
        if not (work.groups or work.first):
            return
        if self._engine is not None:
            self._send(work, self._engine)
            return
        works = [work]
        if self.device == "cpu":
            later = [one for foreseen in self._foreseen for one in foreseen() if one.scorer is not work.scorer]
            works += [one for one in later if one.groups or one.first]
        count = processes(works, self.device)
        if count > 1:
            self._foreseen = []
            self._spread(works, count)
            return
        complete(work.scorer, work.first)
        with self.watch(SCORING, len(work.groups)) as advance:
            complete(work.scorer, work.groups, advance)

    def _send(self, work: Work, engine: Engine) -> None:
        """To the engine; what others are scoring is looked at again when all else is done."""
        takes = needs(work.largest, self.device)
        with self.watch(SCORING, len(work.groups)) as advance:

            def run(tasks: Sequence[Groups], wait: bool, advance: Callable[[int], None]) -> list[Sequence[Any]]:
                held: list[Sequence[Any]] = []
                for groups, report in engine.run(work.make, tasks, wait, takes):
                    work.scorer.take(report)
                    held += report.held
                    advance(len(groups) - len(report.held))
                return held

            run([work.first] if work.first else [], True, lambda count: None)
            held = run([[group] for group in work.groups], False, advance)
            run([[group] for group in held], True, advance)

    def _spread(self, works: Sequence[Work], count: int) -> None:
        """In this process and in `count` - 1 others; what they have not begun is done here, from the end."""
        threads = max(1, (os.cpu_count() or 1) // count)
        with (
            # As an argument they would keep this process until the other one has imported all that they name.
            NamedTemporaryFile() as makes,
            ProcessPoolExecutor(count - 1, get_context("spawn"), _start, (threads, makes.name)) as pool,
            self.watch(SCORING, sum(len(work.groups) for work in works)) as advance,
            _limited(threads),
        ):
            pickle.dump([work.make for work in works], makes)
            makes.flush()
            tasks: dict[Future[ProcessReport], tuple[int, Groups]] = {}
            waiting = {at: work.groups for at, work in enumerate(works) if work.first}
            held: list[tuple[int, Groups]] = []

            def submit(at: int, each: Iterable[Groups]) -> None:
                tasks.update({pool.submit(_score, at, groups, at in waiting): (at, groups) for groups in each})

            def finish(at: int, left: Groups) -> None:
                if at in waiting:
                    submit(at, [[group] for group in waiting.pop(at)])
                elif left:
                    held.append((at, left))
                else:
                    advance(1)

            try:
                # What others wait for, then few long ones before many short ones, so that the last end together.
                for at in sorted(range(len(works)), key=lambda at: (at not in waiting, len(works[at].groups))):
                    submit(at, [works[at].first] if at in waiting else [[group] for group in works[at].groups])
                while tasks:
                    own = next((task for task in reversed(tasks) if task.cancel()), None)
                    if own is not None:
                        at, groups = tasks.pop(own)
                        finish(at, run_task(works[at].scorer, groups, at in waiting).held)
                    for done in wait(tasks, 0 if own else None, FIRST_COMPLETED).done:
                        at, _ = tasks.pop(done)
                        works[at].scorer.take(report := done.result())
                        finish(at, report.held)
                for at, left in held:
                    complete(works[at].scorer, left, advance)
            except BrokenProcessPool as error:
                raise UdsError(
                    "a process was killed while it scored: see that memory is enough and run again; what is finished "
                    "is kept in the store"
                ) from error
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


@contextmanager
def _limited(threads: int) -> Iterator[None]:
    """This process computes on so many cores meanwhile."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(limits=threads):  # numpy's own threads, of which each process would start one a core
            yield
    finally:
        torch.set_num_threads(before)


def processes(works: Sequence[Work], device: str) -> int:
    """How many processes to score in; 1 means here."""
    # Processes of one pytest-xdist run score side by side: each has its share of the machine.
    runs = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    cores, groups = (os.cpu_count() or 1) // runs, sum(len(work.groups) for work in works)
    largest = [work.largest for work in works if work.largest is not None]
    if device != "cpu" or groups < WORTH_A_PROCESS or cores < 2 or len(largest) < len(works):
        return 1
    size = max(map(weights_size, largest))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fitting = int(SHARE * memory / runs / max(FULL_MODELS_A_PROCESS * size, 1))
    return max(1, min(cores, groups, fitting))


_makes: Sequence[Callable[[], Scorer]] = ()
_scorers: dict[int, Scorer] = {}


def _start(threads: int, makes: str) -> None:
    global _makes
    end_with_parent()
    # Of libraries that are loaded later: scipy has threads of its own, which wait for each other without rest.
    os.environ |= {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": str(threads)}
    hush_process()
    limit_threads(threads)
    _makes = pickle.loads(Path(makes).read_bytes())
    gc.freeze()  # what is imported lives on: it is not looked through for what can be freed


def _score(at: int, groups: Groups, wait: bool) -> ProcessReport:
    if at not in _scorers:
        _scorers[at] = _makes[at]()
    return run_task(_scorers[at], groups, wait)
