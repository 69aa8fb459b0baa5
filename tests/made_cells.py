"""Cells whose scores cost nothing: names in the place of checkpoints; runner, store and processes are real."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import uds_bench
from uds_bench.attacks import Attack
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import UdsError
from uds_bench.metrics.metric import FactValue, Measure, Measured
from uds_bench.scores import FactScore, Score
from uds_bench.scoring.engine import Engine, Groups, Needs, ProcessReport, Scorer, run_task
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.scoring.spread import Work
from uds_bench.scoring.store import ScoreKey, Store
from uds_bench.scoring.workers import WorkerPool
from uds_bench.statistics import Interval
from uds_bench.storage import StorePlace, scores_place

CELL = ScoreKey("model", "none", "none", "uds", 1, "block", ("full:a", "retain:b"), "facts", "cpu", 16, "code")
SCORE = Score(
    *("npo", "none", "uds", "block", 0.5, Interval(0.4, 0.6, "x", 9), (FactScore("f", "a", 0.5),)),
    provenance={"cell": CELL.key},
)
HOLD = """
import sys, time
from uds_bench.scoring import bucket_leases
from uds_bench.scoring.store import Store
from uds_bench.storage import scores_place
bucket_leases.RENEWED = 0.2
with Store(scores_place(sys.argv[1])).lease(sys.argv[2]) as is_held:
    # Who keeps scores in a folder imports no package of buckets.
    print(is_held and ("obstore" in sys.modules) == ("://" in sys.argv[1]), flush=True)
    time.sleep(600)
"""
WRONG, PANICS, DEADLY, FATAL = "wrong", "panics", "deadly", "fatal"
"""How names begin of what cannot be scored, makes a library in Rust panic, and kills the first process that scores it,
or each."""
SMALL = CheckpointSpec(str(Path(uds_bench.__file__).parent / "zoo" / "shipped" / "full"))
"""What tells how much memory a process takes."""


@dataclass(frozen=True)
class MadeUnit:
    id: str
    cluster: str
    kind: None = None


@dataclass(frozen=True)
class MadeEvaluator:
    """`log`: a folder of empty files, one for each time that something is scored, named by it and the process."""

    log: Path
    seconds: float = 0.0
    measure = Measure("made", "knowledge", "made here")
    variant = "default"
    units: Sequence[MadeUnit] = tuple(MadeUnit(f"{at}", f"{at // 2}") for at in range(4))
    digest = "0" * 64

    def references(self, checkpoint: CheckpointSpec, device: str, /) -> tuple[str, ...]:
        return ()

    def evaluate(self, subject: Any, /) -> Measured:
        import torch

        name = subject.spec.model
        place = self.log / f"{name}.{os.getpid()}.{time.time_ns()}"
        if name.startswith(FATAL) or (name.startswith(DEADLY) and not list(self.log.glob(f"{name}.*"))):
            place.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        place.touch()
        time.sleep(self.seconds)
        if name.startswith(WRONG):
            raise ValueError("such input is wrong")
        if name.startswith(PANICS):
            raise type("PanicException", (BaseException,), {})("in Rust")  # no process finds its class by name
        draw = torch.Generator().manual_seed(int(hashlib.sha256(name.encode()).hexdigest()[:8], 16))
        numbers = torch.randn(len(self.units), 50_000, generator=draw).exp().sum(1).log()
        return Measured([FactValue(unit.id, float(x)) for unit, x in zip(self.units, numbers, strict=True)])


class MadeRunner(ScoreRunner):
    """See `ScoreRunner`: a checkpoint's name is its content, and nothing is loaded."""

    def digest(self, name: str, device: str | None = None) -> str:
        return hashlib.sha256(self.spec(name).model.encode()).hexdigest()

    def work(self, requests: Iterable[ScoreRequest]) -> Work:
        return replace(super().work(requests), largest=SMALL)

    def _whole(self, name: str) -> Any:
        spec = self.spec(name)
        return SimpleNamespace(model=SimpleNamespace(dtype="torch.float32"), spec=spec)


def made_runner(
    folder: Path,
    names: Sequence[str],
    engine: Engine | None = None,
    seconds: float = 0.0,
    store: StorePlace | None = None,
) -> MadeRunner:
    """A runner of names, whose log is in `folder`, and its store too where it is nowhere else."""
    log = folder / "log"
    log.mkdir(parents=True, exist_ok=True)
    attacks: dict[str, Attack] = {}
    crew = WorkerPool("cpu", None, engine)
    specs = {name: CheckpointSpec(name) for name in names}
    return MadeRunner(specs, MadeEvaluator(log, seconds), Store(store or folder / "store"), "cpu", attacks, crew)


def names_of(count: int) -> list[str]:
    return [f"c{at:05}" for at in range(count)]


def score_all(runner: MadeRunner) -> dict[str, float | str | None]:
    """The value of each name, or what went wrong."""
    plan = [ScoreRequest(name) for name in runner.specs]
    found: dict[str, float | str | None] = {}
    for request in plan:
        try:
            found[request.checkpoint] = runner.score(request, plan).value
        except UdsError as error:
            found[request.checkpoint] = str(error)
    return found


def drive(folder: str, count: int, engine: str, seconds: float, store: str) -> None:
    """A run in a process of its own, which may be killed. Its local processes are two."""
    from uds_bench.scoring import bucket_leases, workers

    bucket_leases.LOOKED, bucket_leases.RENEWED = 0.1, 0.2
    if engine == "local":
        workers.processes = lambda *_: 2
    place = scores_place(store)
    score_all(made_runner(Path(folder), names_of(count), engine_of(engine, Path(folder)), seconds, place))


def engine_of(name: str, folder: Path) -> Engine | None:
    """An engine of this machine, with two processes."""
    if name == "ray":
        from uds_bench.engines.on_ray import RayEngine

        return RayEngine(num_cpus=2, object_store_memory=100 << 20)
    if name == "slurm":
        from uds_bench.engines.on_slurm import SlurmEngine

        return SlurmEngine(2, "local", folder / "jobs")
    return None


def build(log: Path, name: str) -> None:
    """Leaves `name` beside the log, if it is not there; see `WRONG` and `DEADLY`."""
    if (made := log.with_name(name)).exists():
        return
    is_first = not list(log.glob(f"{name}.*"))
    (log / f"{name}.{os.getpid()}.{time.time_ns()}").touch()
    if name.startswith(DEADLY) and is_first:
        os.kill(os.getpid(), signal.SIGKILL)
    if name.startswith(WRONG):
        raise UdsError("such input is wrong")
    made.touch()


class InThisProcess:
    """An engine whose only machine is this process. `waves`: what it was given at a time, `asked`: the needs of it."""

    def __init__(self) -> None:
        self.waves: list[list[str]] = []
        self.asked: list[Needs] = []

    def run(
        self, make: Callable[[], Scorer], tasks: Sequence[Groups], wait: bool, takes: Needs
    ) -> Iterator[tuple[Groups, ProcessReport]]:
        scorer = make()
        self.asked.append(takes)
        self.waves.append([group[0].place for groups in tasks for group in groups])
        for groups in tasks:
            yield groups, run_task(scorer, groups, wait)


def holder(place: StorePlace, key: str) -> subprocess.Popen[bytes]:
    """A process that scores what a key names."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(place), key], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"True\n"
    return process


def started(
    folder: Path, count: int, engine: str, seconds: float, store: StorePlace | None = None, ahead: int = 0
) -> subprocess.Popen[bytes]:
    """A run in a process of its own, whose clock is so many seconds ahead."""
    given = str(folder), count, engine, seconds, str(store or folder / "store")
    code = f"import made_cells; made_cells.shift_clock({ahead}); made_cells.drive(*{given!r})"
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    return subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path})


def shift_clock(ahead: int) -> None:
    """From here on this process takes it to be so many seconds later."""
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + ahead
    time.time_ns = lambda: nanoseconds() + ahead * 10**9


def wait_until(what: Callable[[], object], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    assert what()


def stored(folder: Path) -> int:
    return sum(1 for _ in (folder / "store" / "cells").rglob("*.json"))


def times(folder: Path) -> Counter[str]:
    """How often each name was scored."""
    return Counter(path.name.split(".")[0] for path in (folder / "log").glob("*"))
