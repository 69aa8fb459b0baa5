"""Scoring side by side: small models in several processes, each with a share of the cores; large ones one by one."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from uds_bench.checkpoints import CheckpointSpec, resolve
from uds_bench.errors import UdsError

if TYPE_CHECKING:
    from rich.console import Console

ENOUGH = 8
"""Groups from which on a second process pays for its start, which takes seconds."""
SHARE = 0.25
"""Of the machine's memory that the models of all processes may take, four of the full model's size each."""
HELD = 4

OpenConsole = Callable[[], AbstractContextManager["Console"]]


class Scorer(Protocol):
    """What scores in a process: a group at a time, storing what it can; it tells what failed and what it loaded."""

    loads: Counter[str]

    def compute_group(self, group: Sequence[Any]) -> None: ...
    def failed(self) -> Mapping[str, str]: ...


_scorer: Scorer | None = None


@dataclass(frozen=True)
class Outcome:
    """What a process did beside storing scores: what failed, by request or place, and what it loaded."""

    failed: Mapping[str, str]
    loads: Counter[str]


def processes(groups: int, spec: CheckpointSpec, device: str) -> int:
    """How many processes to score in; 1 means here."""
    cores = os.cpu_count() or 1
    if device != "cpu" or groups < ENOUGH or cores < 2:
        return 1
    size = sum(file.stat().st_size for file in Path(resolve(spec).model).glob("*.safetensors"))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fitting = int(SHARE * memory / max(HELD * size, 1))
    return max(1, min(cores, groups, fitting))


def spread(
    make: Callable[[], Scorer],
    groups: Sequence[Sequence[Any]],
    count: int,
    open_console: OpenConsole | None,
    first: Callable[[], None] = lambda: None,
) -> list[Outcome]:
    """Score every group in one of `count` processes, each with a scorer that `make` gives it.

    `first` is done here, before any group is, while the processes start. Raises UdsError where a process was killed;
    what is stored is kept.
    """
    threads = max(1, (os.cpu_count() or 1) // count)
    context = get_context("spawn")
    outcomes = []
    with (
        ProcessPoolExecutor(count, context, _start, (threads, make)) as pool,
        watched(len(groups), open_console) as advance,
    ):
        try:
            for _ in range(count):
                pool.submit(_ready)
            first()
            for done in as_completed([pool.submit(_score, list(group)) for group in groups]):
                outcomes.append(done.result())
                advance()
        except BrokenProcessPool as error:
            raise UdsError(
                "a process was killed while it scored: see that memory is enough and run again; what is finished is "
                "kept in the store"
            ) from error
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return outcomes


@contextmanager
def watched(total: int, open_console: OpenConsole | None) -> Iterator[Callable[[], None]]:
    """A progress bar over groups, given a console to show it on and enough of them; yields what advances it."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with ExitStack() as stack:
        if open_console is None:
            yield lambda: None
            return
        console = stack.enter_context(open_console())
        hush()
        if total < ENOUGH:
            yield lambda: None
            return
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        progress = stack.enter_context(Progress(*columns, console=console))
        bar = progress.add_task("scoring checkpoints and attacks", total=total)
        yield lambda: progress.advance(bar)


def hush() -> None:
    """No bars of the library's own beside or inside this one."""
    import transformers

    chatter: Any = transformers.utils.logging
    chatter.disable_progress_bar()
    chatter.set_verbosity_error()


def _start(threads: int, make: Callable[[], Scorer]) -> None:
    global _scorer
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(threads)
    threadpool_limits(limits=threads)  # numpy's own threads, of which each process would start one a core
    hush()
    logging.disable(logging.WARNING)
    _scorer = make()


def _ready() -> None:
    """Asked of each process, so that all start, which takes seconds, and have imported what they need."""
    import uds_bench.attacks  # noqa: F401


def _score(group: list[Any]) -> Outcome:
    assert _scorer is not None
    before = Counter(_scorer.loads)
    _scorer.compute_group(group)
    return Outcome(_scorer.failed(), _scorer.loads - before)
