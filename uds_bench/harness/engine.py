"""Compute the scores that a run needs: each checkpoint is loaded once and everything that needs it runs meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import torch
import transformers
from filelock import FileLock

from uds_bench.checkpoints import Checkpoint, CheckpointSpec, digest, load, shape
from uds_bench.errors import CheckpointError, ConfigurationError, UdsError
from uds_bench.facts import FactSet, require_forget
from uds_bench.harness.store import Cell, Failures, Store, provenance
from uds_bench.metrics import find_metric
from uds_bench.metrics.subject import LoadedSubject, Reference, References
from uds_bench.scores import Score, summarise
from uds_bench.statistics import SEED

BATCH_SIZE = 16
NO_ATTACK = "none"
DEVICES = ("cpu", "cuda")
TOLD = ("rendered", "patching", "patching_reason")
"""Notes of a metric that are provenance."""
REFERENCES: tuple[Reference, ...] = get_args(Reference)


@dataclass(frozen=True)
class Request:
    """One score wanted: names as the manifest has them; `variant` None means the metric's default."""

    checkpoint: str
    metric: str
    variant: str | None = None
    attack: str = NO_ATTACK


class Engine:
    """Scores for the checkpoints of one manifest, from the store where they are, else computed and stored."""

    def __init__(
        self,
        specs: dict[str, CheckpointSpec],
        facts: FactSet,
        store: Store,
        device: str = "cpu",
        batch_size: int = BATCH_SIZE,
    ) -> None:
        self.specs = specs
        self.facts = require_forget(facts, "the manifest's facts").split("forget")
        self.store = store
        self.device = device
        self.batch_size = batch_size
        self.loads: Counter[str] = Counter()
        self._failures = Failures(store)
        self._digests: dict[tuple[str, str], str] = {}
        self._scores: dict[Cell, Score] = {}
        self._loaded: dict[str, Checkpoint] = {}
        self._references: References | None = None

    def score(self, request: Request, plan: Iterable[Request] = ()) -> Score:
        """The score wanted. If it is not stored, everything in `plan` that is missing is computed with it."""
        found = self._find(request)
        if found is not None:
            return found
        self._failures.raise_if(request.checkpoint)
        with FileLock(self.store.lock):
            self._compute([request, *plan])
        found = self._find(request)
        if found is None:
            self._failures.raise_if(request.checkpoint)
            raise UdsError(f"{request.checkpoint}: {request.metric} was computed but not stored in {self.store.folder}")
        return found

    def loaded(self, name: str) -> Checkpoint:
        """The checkpoint in memory. The full model stays loaded, as every other is patched into it; of the others
        only the last one does."""
        if name not in self.specs:
            raise ConfigurationError(f"the manifest has no checkpoint {name!r}: it has {', '.join(self.specs)}")
        place = self._place(name)
        if place not in self._loaded:
            for other in [n for n in self._loaded if n != "full"]:
                del self._loaded[other]
            check_shapes(name, self.specs)
            self.loads[name] += 1
            self._loaded[place] = load(self.specs[name], self.device)
        return self._loaded[place]

    def digest(self, name: str, device: str | None = None) -> str:
        place = (name, device or self.device)
        if place not in self._digests:
            self._digests[place] = digest(self.specs[name], place[1])
        return self._digests[place]

    def cell(self, request: Request, device: str | None = None) -> Cell:
        """The address of a score as this machine's device, or another, computes it."""
        if request.attack != NO_ATTACK:
            raise ConfigurationError(f"there is no attack {request.attack!r}: choose {NO_ATTACK}")
        metric = find_metric(request.metric)
        used = [name for name in REFERENCES if name in metric.needs]
        for name in used:
            if name not in self.specs:
                raise ConfigurationError(f"metric {metric.name} needs a {name} model: add {name} under [references]")
        return Cell(
            checkpoint=self.digest(request.checkpoint, device),
            attack=request.attack,
            metric=metric.name,
            metric_version=metric.version,
            variant=metric.variant(request.variant),
            references=tuple(f"{name}:{self.digest(name, device)}" for name in used),
            facts=self.facts.digest,
            device=device or self.device,
            batch_size=self.batch_size,
            seed=SEED,
        )

    def stored(self, request: Request) -> Score | None:
        """The score if it is stored already; nothing is computed."""
        return self._find(request)

    def _find(self, request: Request) -> Score | None:
        # What a machine with a GPU has scored is read where there is none; its own scores come first.
        for device in (self.device, *(d for d in DEVICES if d != self.device)):
            try:
                cell = self.cell(request, device)
            except CheckpointError as error:
                self._failures.add(request.checkpoint, str(error))
                raise
            if cell not in self._scores and (stored := self.store.read(cell)) is not None:
                self._scores[cell] = stored
            if cell in self._scores:
                return self._scores[cell].named(request.checkpoint)
        return None

    def _compute(self, requests: list[Request]) -> None:
        """Group what is missing by checkpoint, references first, and compute each group while it is loaded."""
        groups: dict[str, list[Request]] = {}
        for request in dict.fromkeys(requests):
            try:
                if self._find(request) is None:
                    groups.setdefault(request.checkpoint, []).append(request)
            except UdsError:
                continue  # noted in failures; the claims about this checkpoint will say so
        for name in sorted(groups, key=lambda n: (n not in REFERENCES, list(self.specs).index(n))):
            try:
                self._failures.raise_if(name)
                self._compute_group(name, groups[name])
            except UdsError as error:
                self._failures.add(name, str(error))
            except (RuntimeError, ValueError, FloatingPointError, torch.OutOfMemoryError) as error:
                message = " ".join(str(error).split())
                self._failures.add(name, f"{name}: scoring failed with {type(error).__name__}: {message}")

    def _compute_group(self, name: str, requests: list[Request]) -> None:
        # The full model as a source is read once for all. The retain model is read anew: its score is a check of the
        # stored reading that every candidate is held against.
        role: Reference | None = "full" if "full" in self.specs and self.digest("full") == self.digest(name) else None
        subject = LoadedSubject(self.loaded(name), self._yardstick(), role)
        for request in requests:
            started = time.perf_counter()
            metric = find_metric(request.metric)
            cell = self.cell(request)
            measured = metric.compute(subject, cell.variant)
            record = provenance(
                cell,
                checkpoint_name=name,
                dtype=str(subject.checkpoint.model.dtype).removeprefix("torch."),
                quantization=self.specs[name].quantization,
                batches=self._yardstick().target("default").policy,
                torch=torch.__version__,
                transformers=transformers.__version__,
                source=metric.source,
                direction=metric.direction,
                seconds=round(time.perf_counter() - started, 3),
                **{key: measured.notes[key] for key in TOLD if key in measured.notes},
            )
            score = summarise(
                metric,
                measured,
                self.facts,
                checkpoint=name,
                attack=request.attack,
                variant=cell.variant,
                provenance=record,
            )
            self.store.write(cell, score)
            self._scores[cell] = score

    def _yardstick(self) -> References:
        if self._references is None:
            digests: dict[Reference, str] = {name: self.digest(name) for name in REFERENCES if name in self.specs}
            self._references = References(self.loaded, digests, self.facts, self.store.cache, self.batch_size)
        return self._references

    def _place(self, name: str) -> str:
        # A reference under another name is the same weights: it is not loaded twice.
        for reference in REFERENCES:
            if reference in self.specs and self.specs[reference] == self.specs[name]:
                return reference
        return name


def check_shapes(name: str, specs: dict[str, CheckpointSpec]) -> None:
    """Patching needs the full model's vocabulary, layers and width: told from config.json alone."""
    if "full" not in specs or name == "full" or specs["full"].model.startswith("zoo:"):
        return
    own, full = shape(specs[name]), shape(specs["full"])
    for what in ("vocabulary", "layers", "width"):
        if getattr(own, what) != getattr(full, what):
            raise CheckpointError(
                f"{name} ({specs[name].model}): its {what} is {getattr(own, what)}, the full model's is "
                f"{getattr(full, what)}: patching needs a checkpoint that was made from the full model"
            )


def resolve_zoo(
    specs: dict[str, CheckpointSpec], names: Iterable[str], cache: Path, console: Any = None
) -> dict[str, CheckpointSpec]:
    """The specs with every embedded model (`zoo:NAME`) among `names` trained if need be and named by its folder."""
    from uds_bench.zoo import runner
    from uds_bench.zoo.recipes import SCHEME

    embedded = {n: specs[n].model.removeprefix(SCHEME) for n in names if specs[n].model.startswith(SCHEME)}
    if not embedded:
        return specs
    folders = runner.paths(embedded.values(), cache, console)
    return specs | {n: replace(specs[n], model=str(folders[model])) for n, model in embedded.items()}
