"""In a process of an engine: a scorer that is made once and stays, and the task that it is given."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from uds_bench.progress import hush_process
from uds_bench.scoring.engine import Groups, ProcessReport, Scorer, limit_threads, run_task

_scorers: dict[str, Scorer] = {}


def score(run: str, make: Callable[[], Scorer], groups: Groups, wait: bool, threads: int, folder: str) -> ProcessReport:
    """Score a task of a run, in the folder where that was begun."""
    with suppress(OSError):  # another machine may lack it: only relative paths need it
        os.chdir(folder)
    if run not in _scorers:
        limit_threads(threads)
        hush_process()
        _scorers.clear()
        _scorers[run] = make()
    return run_task(_scorers[run], groups, wait)
