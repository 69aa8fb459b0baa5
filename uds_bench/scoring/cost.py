"""The cost of scores that are still to be computed: measured on a part of what is asked, and told for all of it."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from uds_bench.attacks import NONE
from uds_bench.attacks.proof import is_proving
from uds_bench.checkpoints import block_hidden
from uds_bench.errors import UdsError
from uds_bench.grouping import grouped
from uds_bench.scoring.decoding_cost import DecodingCost
from uds_bench.scoring.engine import models_memory, weights_size
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.scoring.store import Store

SECONDS = 10.0
"""Seconds of measuring after which no larger part is tried."""
LONG = 60.0
"""If a part takes so many seconds, no second is tried: the few seconds that a process takes once count little then."""
GROWS = 4
"""How many times as large as the last part the next one is."""
REFERENCE, CHECKPOINT = "a reference", "a checkpoint"
TRAINED = 3
"""Forward passes that a token costs on which a model is trained: a backward pass takes two (Kaplan et al. 2020)."""
Group = Sequence[ScoreRequest]


@dataclass(frozen=True)
class StageCost:
    """The cost of scoring one checkpoint of a kind, loading included; `count` of them are left.

    `tokens`: those that go through all blocks, padding among them; a token that is trained on counts `TRAINED` times.
    `passes`: `tokens` over the tokens of all facts to be forgotten; None if no facts are asked about. `weights`: bytes
    on disk of the largest checkpoint. `memory`: the most bytes held while one was tried; `disk`: bytes that it stores.
    """

    what: str
    count: int
    seconds: float
    tokens: int
    passes: float | None
    weights: int
    memory: int
    disk: int


@dataclass(frozen=True)
class PlannedCost:
    """The cost of all missing scores in one process of this machine. `memory`: the most bytes held while trying, or
    on a CPU by all models that are held at once, if that is more; `disk`: bytes to be stored. `tried` of `units`, such
    as facts, were scored, which took `measured` seconds; `failed`: what could not be scored of these, and why.
    `measures`: the names of what is scored."""

    stages: tuple[StageCost, ...]
    memory: int
    disk: int
    units: int
    tried: int
    measured: float
    failed: dict[str, str] = field(default_factory=dict)
    measures: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Of all that is left."""
        return sum(stage.count * stage.seconds for stage in self.stages)


@dataclass
class _Trial:
    """The cost of a part by kind: seconds, tokens, decoding steps, bytes held and stored. `fixed`: tokens that are as
    many for any part; `passes`: tokens of one pass."""

    units: int
    seconds: dict[str, float] = field(default_factory=dict)
    tokens: dict[str, float] = field(default_factory=dict)
    fixed: dict[str, float] = field(default_factory=dict)
    steps: dict[str, dict[int, float]] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    disk: dict[str, float] = field(default_factory=dict)
    passes: int = 0
    failed: dict[str, str] = field(default_factory=dict)


def planned_cost(runner: ScoreRunner, requests: Sequence[ScoreRequest], enough: float = SECONDS) -> PlannedCost | None:
    """The cost of the scores that are missing among `requests`; None if none is missing.

    Of each kind, the checkpoint with most missing scores is scored on a growing part of what is asked, in a store of
    its own. Two parts tell what grows with the part. If the first takes long, the cost of a token tells it instead. The
    cost of decoding grows with its batches.

    Args:
        runner: What will score them; it is left as it is.
        requests: The scores that are wanted.
        enough: Seconds after which no larger part is tried, 0 and above; the first two are tried in any case.

    Returns:
        The cost.

    Raises:
        ConfigurationError: What is asked has no parts.
    """
    work = runner.work(requests)
    groups = [*work.first, *work.groups]
    kinds = grouped(groups, lambda group: _kind(runner, group[0]))
    if not kinds:
        return None
    every, share = runner.size, runner.least
    largest = {kind: max(groups, key=len) for kind, groups in kinds.items()}
    model, *_ = [*(one for one in runner.first if one in runner.specs), next(iter(largest.values()))[0].checkpoint]
    began = time.perf_counter()
    first = last = _tried(runner, largest, share, model)
    is_short = time.perf_counter() - began < LONG
    if is_short:  # what a process does once is no part's, and it is most of a short one
        began = time.perf_counter()
        first = last = _tried(runner, largest, share, model)
    while is_short and last.units < every and (first is last or time.perf_counter() - began < enough):
        share *= GROWS
        first, last = last, _tried(runner, largest, share, model)
    times, decoding = every / last.units, DecodingCost(partial(runner.loaded, model))

    def cost(kind: str, groups: Sequence[Group]) -> StageCost:
        weights = max(weights_size(runner.spec(group[0].checkpoint)) for group in groups)
        seconds, tokens = _seconds(kind, first, last, every, decoding), last.tokens[kind] * times + last.fixed[kind]
        passes = tokens / (last.passes * times) if last.passes else None
        held, disk = last.memory[kind], round(last.disk[kind] * times)
        return StageCost(kind, len(groups), seconds, round(tokens), passes, weights, held, disk)

    stages = tuple(cost(kind, groups) for kind, groups in kinds.items())
    memory = max(last.memory.values())
    if runner.device == "cpu" and work.largest is not None:  # a part holds less than all of it does
        memory = max(memory, models_memory(work.largest, work.trains))
    return PlannedCost(
        stages,
        memory,
        sum(stage.count * stage.disk for stage in stages),
        every,
        last.units,
        time.perf_counter() - began,
        last.failed,
        tuple(dict.fromkeys(runner.evaluator_of(one).measure.name for group in groups for one in group)),
    )


def _seconds(kind: str, first: _Trial, last: _Trial, units: int, decoding: DecodingCost) -> float:
    """Seconds for so many units: a fixed part, a part for each unit, and their decoding."""
    spent = [min(one.seconds[kind], decoding.of(one.steps[kind])) for one in (first, last)]
    plain = [one.seconds[kind] - own for one, own in zip((first, last), spent, strict=True)]
    steps, now, more = last.steps[kind], decoding.of(last.steps[kind]), last.units - first.units
    each = 0.0
    if more:  # a part that took less than a smaller one was disturbed, or the smaller one was
        each = min(max(plain[1] - plain[0], 0.0) / more, plain[1] / last.units)
    elif units > last.units:
        read = last.tokens[kind] - sum(rows * count for rows, count in steps.items())
        each = min(decoding.passed(read), plain[1]) / last.units
    grown = decoding.of(steps, units / last.units) / now if now else 0.0
    return plain[1] + each * (units - last.units) + spent[1] * grown


def _kind(runner: ScoreRunner, request: ScoreRequest) -> str:
    if request.attack != NONE:
        return f"{CHECKPOINT} under {request.attack}"
    return REFERENCE if request.checkpoint in runner.first else CHECKPOINT


def _tried(runner: ScoreRunner, groups: dict[str, Group], share: float, model: str) -> _Trial:
    """One group of each kind scored on a part. References come first, wanted or not: others read of them."""
    forms = dict.fromkeys((one.metric, one.variant) for group in groups.values() for one in group)
    references = [name for name in runner.first if name in runner.specs]
    first = [ScoreRequest(name, *form) for name in references for form in forms]
    with TemporaryDirectory() as folder:
        own = runner.on_part(share, Store(Path(folder)))
        loaded = own.loaded(model)
        found, blocks = _Trial(own.size, passes=own.pass_tokens(loaded.tokenizer)), loaded.anatomy.blocks
        kinds, layers = {type(block) for block in blocks}, len(blocks)
        del loaded, blocks  # what is scored is loaded by itself
        for kind, group in ({REFERENCE: first} | groups | {REFERENCE: first}).items():
            many, stored = (max(1, len(references)) if kind == REFERENCE else 1), _size(folder)
            _forget_memory(runner.device)
            started = time.perf_counter()
            with counting_tokens(kinds, layers) as count:
                for request in group:
                    try:
                        own.score(request, group)
                    except UdsError as error:
                        found.failed[str(request)] = str(error)
            found.seconds[kind] = (time.perf_counter() - started) / many
            found.tokens[kind], found.fixed[kind] = count.tokens / many, count.fixed / many
            found.steps[kind] = {rows: steps / many for rows, steps in count.steps.items()}
            found.memory[kind], found.disk[kind] = _memory(runner.device), (_size(folder) - stored) / many
    return found


class Passed:
    """Counts what goes through all blocks of a model: `tokens`, and `steps` of one token by their number of rows; those
    of a proof, which takes the same for any part of what is asked, are `fixed`."""

    def __init__(self, layers: int) -> None:
        self._layers, self._seen, self._single = layers, Counter[bool](), Counter[int]()

    def add(self, hidden: torch.Tensor) -> None:
        """The output of one block."""
        tokens = hidden.shape[:-1].numel()
        self._seen[is_proving()] += tokens * (TRAINED if hidden.requires_grad else 1)
        if hidden.shape[-2] == 1:
            self._single[tokens] += 1

    @property
    def tokens(self) -> float:
        """One that is trained on counts `TRAINED` times."""
        return self._seen[False] / self._layers

    @property
    def fixed(self) -> float:
        """The same of those of a proof."""
        return self._seen[True] / self._layers

    @property
    def steps(self) -> dict[int, float]:
        """By number of rows, how many steps they took."""
        return {rows: count / self._layers for rows, count in self._single.items()}


@contextmanager
def counting_tokens(blocks: set[type], layers: int) -> Iterator[Passed]:
    """Counts what goes through blocks of these types inside the block."""
    passed = Passed(layers)

    def count(module: torch.nn.Module, _given: Any, output: Any) -> None:
        if type(module) in blocks:
            passed.add(block_hidden(output))

    handle = torch.nn.modules.module.register_module_forward_hook(count)
    try:
        yield passed
    finally:
        handle.remove()


def _size(folder: str) -> int:
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def _forget_memory(device: str) -> None:
    """From here on `_memory` is of what follows, where the system can tell that."""
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats(device)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _memory(device: str) -> int:
    """The most bytes that this process has held on its device, since they were last forgotten."""
    if device != "cpu":
        return torch.cuda.max_memory_allocated(device)
    with suppress(OSError):
        if found := re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text()):
            return 1024 * int(found[1])
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024
