"""Scoring side by side: small models in several processes, each with a share of the cores; large ones one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from uds_bench.device import cores, memory
from uds_bench.progress import OpenConsole, watched
from uds_bench.scoring.engine import BASE, Engine, Groups, complete, models_memory, needs
from uds_bench.scoring.spread import Spread, Work

WORTH_A_PROCESS = 8
"""Groups from which on a second process pays for its start, which takes seconds."""
SHARE = 0.25
"""Of the machine's memory that the models of all processes may take."""
SCORING = "scoring checkpoints and attacks"


class WorkerPool:
    """The processes of a run. While they score what is wanted first, and while its scores are read, they also score
    what will be wanted later. So none waits for another, and all start only once. Without other processes, nothing is
    scored before it is wanted. With an engine, the processes are elsewhere."""

    def __init__(
        self, device: str = "cpu", open_console: OpenConsole | None = None, engine: Engine | None = None
    ) -> None:
        self.device, self._engine = device, engine
        self._open_console = open_console
        self._foreseen: list[Callable[[], Iterable[Work]]] = []
        self._spread: Spread | None = None

    def foresee(self, work: Callable[[], Iterable[Work]]) -> None:
        """Have `work` scored together with whatever is scored first."""
        self._foreseen.append(work)

    def watch(self, text: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
        """A progress bar over what an audit does before anything is scored; gives what advances it."""
        return watched(text, total, self._open_console, WORTH_A_PROCESS)

    def score(self, work: Work) -> None:
        """Score every group, here or in several processes."""
        if not (work.groups or work.first):
            return
        if self._engine is not None:
            self._send(work, self._engine)
            return
        if self._spread is None:
            self._spread = self._begin(work)
        if self._spread is not None and self._spread.holds(work.scorer):
            self._until(self._spread, work)
            return
        if work.first:
            with self.watch(SCORING, 0):  # that others hold it is seen there
                complete(work.scorer, work.first)
        with self.watch(SCORING, len(work.groups)) as advance:
            complete(work.scorer, work.groups, advance)

    def close(self) -> None:
        """Stop scoring what was foreseen; the runners are told what was done."""
        spread, self._spread = self._spread, None
        if spread is not None:
            spread.close()

    def _begin(self, work: Work) -> Spread | None:
        """Start the wanted and the foreseen work in several processes; None if this process does it alone."""
        works = [work]
        if self.device == "cpu":
            later = [one for foreseen in self._foreseen for one in foreseen() if one.scorer is not work.scorer]
            works += [one for one in later if one.groups or one.first]
        count = processes(works, self.device)
        if count == 1:
            return None
        self._foreseen = []
        return Spread(works, count)

    def _until(self, spread: Spread, work: Work) -> None:
        try:
            with self.watch(SCORING, spread.left) as advance:
                spread.until(work.scorer, advance)
        except BaseException:
            self.close()
            raise
        if not spread.left:
            self.close()

    def _send(self, work: Work, engine: Engine) -> None:
        """Send the work to the engine. Groups that others are scoring are tried again when all else is done."""
        takes = needs(work.largest, work.trains, self.device)
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


def processes(works: Sequence[Work], device: str) -> int:
    """How many processes to score in.

    Args:
        works: What is to be scored, in groups of one model each, with the largest model that a process would hold.
        device: Where models run; elsewhere than on a CPU there is one process.

    Returns:
        1 or more; 1 means here.

    Raises:
        CheckpointError: Files of the largest models are missing, pickled, or cannot be had.

    Example:
        >>> processes([], "cpu")
        1
    """
    # Processes of one pytest-xdist run score side by side: each has its share of the machine.
    runs = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    usable, groups = cores() // runs, sum(len(work.groups) for work in works)
    largest = [(work.largest, work.trains) for work in works if work.largest is not None]
    if device != "cpu" or groups < WORTH_A_PROCESS or usable < 2 or len(largest) < len(works):
        return 1
    most = max(models_memory(spec, trains) for spec, trains in largest)
    room = memory() / runs
    fitting = int(min(SHARE * room / max(most, 1), room / (BASE + most)))
    return max(1, min(usable, groups, fitting))
