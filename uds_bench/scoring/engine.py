"""A scorer is given groups, one by one, in a process; an engine gives it groups in processes elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from uds_bench.checkpoints import CheckpointSpec, resolve
from uds_bench.errors import MESSAGE_LENGTH, UdsError, one_line

Groups = Sequence[Sequence[Any]]
WAIT = 0.5
"""Seconds between two looks at what only other processes are scoring."""
PATIENCE = 30.0
"""Seconds for which they are waited for before a line says so."""
RETRIES = 3
"""How often a task is begun anew after its process was lost. A task with wrong input is told, and tried once."""
FLOAT32 = 4
"""Bytes of a weight, as it is on a CPU."""
HELD, TRAINED = 6, 3
"""Memory of a process that scores on a CPU, in models in float32. Training one takes `TRAINED` more: gradients, AdamW's
moments. 350 million weights held 8.9 GB, and 14.5 in relearning (`benchmarks/text_to_card.py`)."""
HOST = 4
"""Main memory of a process whose models are on a GPU, as a multiple of the full model's size on disk (not measured)."""
BASE = 2 << 30
"""Bytes that it takes beside: Python, torch, facts."""


class Scorer(Protocol):
    """What scores in a process: a group at a time, storing what it can; it tells what failed and what it loaded."""

    loads: Counter[str]

    def compute_group(self, group: Sequence[Any]) -> bool:
        """Score a group that needs one loaded checkpoint; False, and nothing is done, if another process scores it."""

    def lease_of(self, group: Sequence[Any]) -> str:
        """The place of the lease by which another process holds a group."""

    def failed(self) -> Mapping[str, UdsError]:
        """Why checkpoints could not be scored, by name."""

    def take(self, outcome: ProcessReport) -> None:
        """Take over what another process did in this one's place."""


@dataclass(frozen=True)
class ProcessReport:
    """What a process did beside storing scores: what failed, by request or place, what it loaded, and which groups it
    left to others that were scoring them."""

    failed: Mapping[str, UdsError]
    loads: Counter[str]
    held: Groups = ()


@dataclass(frozen=True)
class Needs:
    """What a task takes: cores, bytes of memory, GPUs."""

    cpus: int
    memory: int
    gpus: int


class Engine(Protocol):
    """Something that scores on machines which share the store, and the folders of checkpoints, with this one."""

    def run(
        self, make: Callable[[], Scorer], tasks: Sequence[Groups], wait: bool, takes: Needs
    ) -> Iterator[tuple[Groups, ProcessReport]]:
        """Give each task's groups to a scorer that `make` makes there. Yields groups with their report, as they are
        done.

        `wait`: whether groups that others are scoring are waited for. A task whose process was lost is begun anew
        `RETRIES` times; then its groups have failed. An error is told, and its task is not begun anew.
        """


def needs(largest: CheckpointSpec | None, trains: bool, device: str) -> Needs:
    """The needs of a task that scores models like `largest`. It takes as many cores as OMP_NUM_THREADS says, else
    one."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    models = 0
    if largest is not None:
        models = models_memory(largest, trains) if device == "cpu" else HOST * weights_size(largest)
    return Needs(int(threads) if threads.isdigit() else 1, BASE + models, int(device != "cpu"))


def models_memory(spec: CheckpointSpec, trains: bool) -> int:
    """The CPU memory of the models that a process holds while it scores models of this size, told by their weights.

    Args:
        spec: Of a folder, or of a hub id, which is downloaded.
        trains: Whether one of them is trained.

    Returns:
        Bytes, at least those of one model.

    Raises:
        CheckpointError: Files are missing, pickled, damaged, or cannot be had.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> import torch
        >>> from safetensors.torch import save_file
        >>> with TemporaryDirectory() as folder:
        ...     for name in ("config.json", "tokenizer.json"):
        ...         _ = (Path(folder) / name).write_text("{}")
        ...     save_file({"head": torch.zeros(5, 2, dtype=torch.bfloat16)}, Path(folder) / "model.safetensors")
        ...     models_memory(CheckpointSpec(folder), False), models_memory(CheckpointSpec(folder), True)
        (240, 360)
    """
    from uds_bench.checkpoints.weights import weight_count, weight_files  # torch takes seconds to import

    weights = sum(map(weight_count, weight_files(Path(resolve(spec).model))))
    return weights * FLOAT32 * (HELD + TRAINED * trains)


def weights_size(spec: CheckpointSpec) -> int:
    """How large a checkpoint is on disk.

    Args:
        spec: Of a folder, or of a hub id, which is downloaded; an adapter in a folder of its own does not count.

    Returns:
        Bytes of the safetensors files in its folder, masks among them.

    Raises:
        CheckpointError: Files are missing, pickled, or cannot be had.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     for name in ("config.json", "tokenizer.json"):
        ...         _ = (Path(folder) / name).write_text("{}")
        ...     _ = (Path(folder) / "model.safetensors").write_bytes(bytes(500))
        ...     weights_size(CheckpointSpec(folder))
        500
    """
    return sum(file.stat().st_size for file in Path(resolve(spec).model).glob("*.safetensors"))


def failure(groups: Groups, why: object = "") -> ProcessReport:
    """A report that groups could not be scored: `why`, or because their process was lost again and again."""
    said = one_line(why) if why else f"its process was lost {1 + RETRIES} times: see its memory and log"
    return ProcessReport({group[0].place: UdsError(f"{group[0].place}: {said}") for group in groups}, Counter())


def run_task(scorer: Scorer, groups: Groups, wait: bool) -> ProcessReport:
    """Score groups in this process. Groups that another one is scoring are left to it, unless `wait` is set."""
    before = Counter(scorer.loads)
    if wait:
        complete(scorer, groups)
        held: Groups = ()
    else:
        held = [group for group in groups if not scorer.compute_group(group)]
    return ProcessReport(scorer.failed(), Counter(scorer.loads) - before, held)


def complete(scorer: Scorer, groups: Groups, advance: Callable[[int], None] = lambda count: None) -> None:
    """Score every group. Groups of another process are waited for at the end, and scored here if it did not score them.

    Whoever may open a lease's file can hold it for ever: when nothing else is left to do, the wait is told once.
    """
    since, is_told = time.monotonic(), False
    while groups:
        left = [group for group in groups if not scorer.compute_group(group)]
        advance(len(groups) - len(left))
        if len(left) < len(groups):
            since = time.monotonic()
        else:
            if not is_told and time.monotonic() - since > PATIENCE:
                is_told, lease = True, scorer.lease_of(left[0])
                told = f"uds-bench: {left[0][0].place} is another process's, which holds {lease}: waiting for it"
                # A warning would be seen when all is over.
                print(one_line(told, MESSAGE_LENGTH), file=sys.stderr, flush=True)
            time.sleep(WAIT)
        groups = left


def limit_threads(threads: int) -> None:
    """Limit this process to so many cores from here on."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(threads)
    threadpool_limits(limits=threads)  # numpy's own threads, of which each process would start one a core
