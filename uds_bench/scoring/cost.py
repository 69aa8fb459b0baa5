"""What scores by metric that are still to be computed take: measured on some of the facts, told for all of them."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from uds_bench.attacks import NONE
from uds_bench.checkpoints import block_hidden
from uds_bench.errors import UdsError
from uds_bench.facts import FactSet, encode
from uds_bench.facts.fact import EVERY_SPLIT
from uds_bench.scoring.engine import weights_size
from uds_bench.scoring.metric_runner import REFERENCES, MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

SECONDS = 10.0
"""From which on no larger part of the facts is tried."""
FEW = 4
"""Facts to be forgotten in the first part: what a large model takes ten seconds for."""
REFERENCE, CHECKPOINT = "a reference", "a checkpoint"
TRAINED = 3
"""Forward passes that a token costs on which a model is trained: a backward pass takes two (Kaplan et al. 2020)."""
Group = Sequence[ScoreRequest]


@dataclass(frozen=True)
class StageCost:
    """What one checkpoint of a kind takes to score, loading included; `count` of them are left.

    `tokens`: that go through all blocks, padding among them; one that is trained on counts `TRAINED` times. `passes`:
    the same, over the tokens of all facts to be forgotten. `weights`: bytes on disk, of the largest.
    """

    what: str
    count: int
    seconds: float
    tokens: int
    passes: float
    weights: int


@dataclass(frozen=True)
class PlannedCost:
    """What all of it takes in one process of this machine. `memory`: the most bytes that were held, as far as was
    tried; `disk`: bytes that are stored. `tried` of `facts` were scored, which took `measured` seconds; `failed`: what
    could not be scored of these, and why."""

    stages: tuple[StageCost, ...]
    memory: int
    disk: int
    facts: int
    tried: int
    measured: float
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Of all that is left."""
        return sum(stage.count * stage.seconds for stage in self.stages)


@dataclass
class _Trial:
    """What some of the facts took: seconds and tokens by kind, seconds to load a model, bytes stored."""

    facts: int
    loading: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    tokens: dict[str, float] = field(default_factory=dict)
    passes: int = 0
    disk: int = 0
    failed: dict[str, str] = field(default_factory=dict)


def planned_cost(runner: MetricRunner, requests: Sequence[ScoreRequest], enough: float = SECONDS) -> PlannedCost | None:
    """What the missing among some scores take; None where none is missing.

    One checkpoint of each kind, the one of which most is missing, is scored on a growing part of the facts in a store
    of its own. What that takes beyond loading grows with the facts.

    Args:
        runner: What will score them; it is left as it is.
        requests: The scores that are wanted.
        enough: Seconds after which no larger part is tried, 0 and above; the first part is tried in any case.

    Returns:
        The cost; `memory` is that of this process since it began.
    """
    work = runner.work(requests)
    kinds: dict[str, list[Group]] = {}
    for group in [*work.first, *work.groups]:
        kinds.setdefault(_kind(group[0]), []).append(group)
    if not kinds:
        return None
    began, every, share = time.perf_counter(), len(runner.facts), least(runner.facts)
    largest = {kind: max(groups, key=len) for kind, groups in kinds.items()}
    trial = _tried(runner, largest, part(runner.facts, share))
    while trial.facts < every and time.perf_counter() - began < enough:
        share *= 2
        trial = _tried(runner, largest, part(runner.facts, share))
    times = every / trial.facts

    def cost(kind: str, groups: Sequence[Group]) -> StageCost:
        # What is shorter than loading was is not: the second model comes from the system's cache.
        loading = min(trial.loading, trial.seconds[kind])
        seconds = loading + (trial.seconds[kind] - loading) * times
        weights = max(weights_size(runner.spec(group[0].checkpoint)) for group in groups)
        tokens = trial.tokens[kind]
        return StageCost(kind, len(groups), seconds, round(tokens * times), tokens / trial.passes, weights)

    return PlannedCost(
        tuple(cost(kind, groups) for kind, groups in kinds.items()),
        _memory(runner.device),
        round(trial.disk * times),
        every,
        trial.facts,
        time.perf_counter() - began,
        trial.failed,
    )


def least(facts: FactSet) -> float:
    """The smallest part of the facts that is worth measuring on.

    Args:
        facts: With some to be forgotten.

    Returns:
        The share that holds `FEW` of those to be forgotten, above 0 to 1.

    Example:
        >>> from uds_bench.facts.authors import embedded
        >>> least(embedded(forget=16, retain=8, holdout=0))
        0.03125
    """
    return min(1.0, FEW / len(facts.split("forget")))


def part(facts: FactSet, share: float) -> FactSet:
    """Of each split a share of its facts, two and two clusters at the least; as few clusters as that takes."""
    kept: set[str] = set()
    for split in EVERY_SPLIT:
        own, wanted = facts.split(split), max(2, math.ceil(share * len(facts.split(split))))
        each, groups = len(own) if share >= 1 else math.ceil(wanted / 2), dict[str, list[str]]()
        for fact in own:
            groups.setdefault(fact.cluster, []).append(fact.id)
        kept |= {*[id for group in groups.values() for id in group[:each]][:wanted]}
    return facts.where(lambda fact: fact.id in kept)


def _kind(request: ScoreRequest) -> str:
    if request.attack != NONE:
        return f"{CHECKPOINT} under {request.attack}"
    return REFERENCE if request.checkpoint in REFERENCES else CHECKPOINT


def _tried(runner: MetricRunner, groups: dict[str, Group], facts: FactSet) -> _Trial:
    """One group of each kind scored on some facts. References come first, wanted or not: others read of them."""
    forms = dict.fromkeys((one.metric, one.variant) for group in groups.values() for one in group)
    references = [name for name in REFERENCES if name in runner.specs]
    first = [ScoreRequest(name, *form) for name in references for form in forms]
    found = _Trial(len(facts))
    with TemporaryDirectory() as folder:
        own = runner.on(facts, Store(Path(folder)))
        started = time.perf_counter()
        full = own.loaded(references[0] if references else next(iter(groups.values()))[0].checkpoint)
        found.loading = time.perf_counter() - started
        found.passes = sum(len(encode(fact, full.tokenizer).ids) for fact in facts.split("forget"))
        for kind, group in ({REFERENCE: first} | groups | {REFERENCE: first}).items():
            many = max(1, len(references)) if kind == REFERENCE else 1
            started = time.perf_counter()
            with counted({type(block) for block in full.anatomy.blocks}, len(full.anatomy.blocks)) as count:
                for request in group:
                    try:
                        own.score(request, group)
                    except UdsError as error:
                        found.failed[str(request)] = str(error)
            found.seconds[kind] = (time.perf_counter() - started) / many
            found.tokens[kind] = count() / many
        found.disk = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    return found


@contextmanager
def counted(blocks: set[type], layers: int) -> Iterator[Callable[[], float]]:
    """While open, tokens that go through all blocks of any model are counted; gives what says how many so far."""
    seen = 0

    def count(module: torch.nn.Module, _given: Any, output: Any) -> None:
        nonlocal seen
        if type(module) in blocks:
            hidden = block_hidden(output)
            seen += hidden.shape[:-1].numel() * (TRAINED if hidden.requires_grad else 1)

    handle = torch.nn.modules.module.register_module_forward_hook(count)
    try:
        yield lambda: seen / layers
    finally:
        handle.remove()


def _memory(device: str) -> int:
    """The most bytes that this process has held, on its device."""
    if device != "cpu":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024
