"""Compute the scores that a run needs: each checkpoint is loaded once and everything that needs it runs meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

import torch
import transformers
from filelock import FileLock

from uds_bench.attacks import NONE, Attack
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, digest, load
from uds_bench.errors import CheckpointError, ConfigurationError, UdsError
from uds_bench.facts import FactSet, Split, require_forget
from uds_bench.harness.specs import check_shapes
from uds_bench.harness.store import Cell, Failures, Store, provenance
from uds_bench.harness.workers import Crew, Outcome, Work
from uds_bench.metrics import find_metric
from uds_bench.metrics.metric import FactValue, Metric, Reference
from uds_bench.metrics.subject import LoadedSubject, References
from uds_bench.scores import Score, summarise
from uds_bench.statistics import SEED

BATCH_SIZE = 16
DEVICES = ("cpu", "cuda")
TOLD = ("rendered", "patching", "patching_reason")
"""Notes of a metric that are provenance."""
REFERENCES: tuple[Reference, ...] = get_args(Reference)
KNOWN = (UdsError, RuntimeError, ValueError, FloatingPointError, torch.OutOfMemoryError)
"""What may go wrong with one checkpoint or metric; the others go on."""


@dataclass(frozen=True)
class Request:
    """One score wanted: names as the manifest has them; `variant` None means the metric's default."""

    checkpoint: str
    metric: str
    variant: str | None = None
    attack: str = NONE

    @property
    def place(self) -> str:
        """What is loaded for it: the checkpoint, or the checkpoint under an attack."""
        return self.checkpoint if self.attack == NONE else f"{self.checkpoint} under {self.attack}"

    def __str__(self) -> str:
        form = "" if self.variant is None else f"[{self.variant}]"
        return f"{self.place}: {self.metric}{form}"


class Engine:
    """Scores for the checkpoints of one manifest, from the store where they are, else computed and stored."""

    def __init__(
        self,
        specs: dict[str, CheckpointSpec],
        facts: FactSet,
        store: Store,
        device: str = "cpu",
        batch_size: int = BATCH_SIZE,
        attacks: Mapping[str, Attack] | None = None,
        crew: Crew | None = None,
    ) -> None:
        self.specs = specs
        self.facts = require_forget(facts, "the manifest's facts")
        self.attacks = attacks or {}
        self._crew = crew or Crew(device)
        self.store = store
        self.device = device
        self.batch_size = batch_size
        self.loads: Counter[str] = Counter()
        self._failures = Failures(store)
        self._digests: dict[tuple[str, str], str] = {}
        self._planned: dict[tuple[Split, ...], FactSet] = {}
        self._scores: dict[Cell, Score] = {}
        self._loaded: dict[str, Checkpoint] = {}
        self._references: References | None = None

    def score(self, request: Request, plan: Iterable[Request] = ()) -> Score:
        """The score wanted. If it is not stored, everything in `plan` that is missing is computed with it."""
        found = self._find(request)
        if found is not None:
            return found
        self._raise_if(request)
        with FileLock(self.store.lock):
            self._crew.score(self.work([request, *plan]))
        found = self._find(request)
        if found is None:
            self._raise_if(request)
            raise UdsError(f"{request} was computed but not stored in {self.store.folder}")
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
        metric = find_metric(request.metric)
        used = [name for name in REFERENCES if name in metric.needs]
        for name in used:
            if name not in self.specs:
                raise ConfigurationError(f"metric {metric.name} needs a {name} model: add {name} under [references]")
        return Cell(
            checkpoint=self.digest(request.checkpoint, device),
            attack=request.attack,
            attack_key=NONE if request.attack == NONE else self.attack(request.attack).key,
            metric=metric.name,
            metric_version=metric.version,
            variant=metric.variant(request.variant),
            references=tuple(f"{name}:{self.digest(name, device)}" for name in used),
            facts=self.planned(metric).digest,
            device=device or self.device,
            batch_size=self.batch_size,
            seed=SEED,
        )

    def attack(self, name: str) -> Attack:
        """The attack as the manifest sets it."""
        if name not in self.attacks:
            listed = ", ".join([NONE, *self.attacks])
            raise ConfigurationError(
                f"the manifest has no attack {name!r}: choose from {listed}, or add [attacks] {name}"
            )
        return self.attacks[name]

    def planned(self, metric: Metric) -> FactSet:
        """The facts that a metric has values of, with every split that it needs there."""
        for split in metric.splits:
            if not self.facts.split(split):
                raise ConfigurationError(
                    f"metric {metric.name} needs facts of the split {split}, and the manifest's facts have none: "
                    f"add some, or leave {metric.name} out"
                )
        # Kept, as its digest is part of every score's address.
        facts = FactSet(fact for fact in self.facts if fact.split in metric.splits)
        return self._planned.setdefault(metric.splits, facts)

    def stored(self, request: Request) -> Score | None:
        """The score if it is stored already; nothing is computed."""
        return self._find(request)

    def _find(self, request: Request) -> Score | None:
        # What a machine with a GPU has scored is read where there is none; its own scores come first.
        for device in (self.device, *(d for d in DEVICES if d != self.device)):
            try:
                cell = self.cell(request, device)
            except CheckpointError as error:
                self._failures.add(request.place, str(error))
                raise
            if cell not in self._scores and (stored := self.store.read(cell)) is not None:
                self._scores[cell] = stored
            if cell in self._scores:
                return self._scores[cell].named(request.checkpoint)
        return None

    def _raise_if(self, request: Request) -> None:
        """Raise what was met before: by the request itself, or by loading what it is about."""
        self._failures.raise_if(request.place)
        self._failures.raise_if(str(request))

    def work(self, requests: Sequence[Request]) -> Work:
        """What is missing, grouped by what is loaded for it, references first."""
        read = [Request("retain", name) for r in requests for name in find_metric(r.metric).reads]
        groups: dict[tuple[str, str], list[Request]] = {}
        for request in dict.fromkeys([*read, *requests]):
            try:
                if self._find(request) is None:
                    groups.setdefault((request.checkpoint, request.attack), []).append(request)
            except ConfigurationError as error:
                self._failures.add(str(request), str(error))
            except UdsError:
                continue  # noted in failures; the claims about this checkpoint will say so
        order = list(self.specs)
        places = sorted(groups, key=lambda g: (g[1] != NONE, g[0] not in REFERENCES, order.index(g[0])))
        # The references come first and here: what every other model is held against is then on disk.
        first = [place for place in places if place[1] == NONE and place[0] in REFERENCES]
        rest = [groups[place] for place in places if place not in first]
        make = partial(Engine, self.specs, self.facts, self.store, self.device, self.batch_size, self.attacks)
        return Work(self, make, rest, self.specs.get("full"), [groups[place] for place in first])

    def take(self, outcome: Outcome) -> None:
        """See `Scorer`."""
        self.loads += outcome.loads
        for what, message in outcome.failed.items():
            self._failures.add(what, message)

    def compute_group(self, group: Sequence[Request]) -> None:
        """Load what the requests of one checkpoint and attack are about, and store every score that can be computed."""
        place = group[0].place
        try:
            self._failures.raise_if(place)
            subject = self._subject(group[0])
        except KNOWN as error:
            self._failures.add(place, told(place, error))
            return
        for request in group:
            try:
                self._measure(request, subject)
            except KNOWN as error:
                self._failures.add(str(request), told(str(request), error))

    def failed(self) -> dict[str, str]:
        """What could not be loaded or computed in this run, and why."""
        return self._failures.known

    def _subject(self, request: Request) -> LoadedSubject:
        """What a request measures, loaded and, where it says so, attacked."""
        name = request.checkpoint
        if request.attack == NONE:
            # The full model as a source is read once for all. The retain model is read anew: its score is a check of
            # the stored reading that every candidate is held against.
            same = "full" in self.specs and self.digest("full") == self.digest(name)
            return LoadedSubject(self.loaded(name), self._yardstick(), "full" if same else None)
        check_shapes(name, self.specs)
        self.loads[request.place] += 1
        attacked = self.attack(request.attack).apply(self.specs[name], self.device, self.facts.split("forget"))
        return LoadedSubject(attacked, self._yardstick())

    def _measure(self, request: Request, subject: LoadedSubject) -> None:
        started = time.perf_counter()
        metric, cell = find_metric(request.metric), self.cell(request)
        measured = metric.compute(subject, cell.variant)
        record = provenance(
            cell,
            checkpoint_name=request.checkpoint,
            dtype=str(subject.checkpoint.model.dtype).removeprefix("torch."),
            quantization=subject.checkpoint.spec.quantization,
            attack_settings={} if request.attack == NONE else self.attack(request.attack).settings,
            batches=f"right padding, at most {self.batch_size} facts of like length",
            torch=torch.__version__,
            transformers=transformers.__version__,
            source=metric.source,
            direction=metric.direction_of(cell.variant),
            seconds=round(time.perf_counter() - started, 3),
            **{key: measured.notes[key] for key in TOLD if key in measured.notes},
        )
        score = summarise(
            metric,
            measured,
            self.planned(metric),
            checkpoint=request.checkpoint,
            attack=request.attack,
            variant=cell.variant,
            provenance=record,
        )
        self.store.write(cell, score)
        self._scores[cell] = score

    def _yardstick(self) -> References:
        if self._references is None:
            digests: dict[Reference, str] = {name: self.digest(name) for name in REFERENCES if name in self.specs}
            self._references = References(
                self.loaded, digests, self.facts, self.store.cache, self.batch_size, self._of_retain
            )
        return self._references

    def _of_retain(self, metric: str, variant: str | None) -> list[FactValue]:
        """What a metric found on the retain model: stored, as references are measured first."""
        request = Request("retain", metric, variant)
        score = self._find(request)
        if score is None:
            self._raise_if(request)
            self._measure(request, self._subject(request))
            score = self._find(request)
        assert score is not None
        return [FactValue(f.id, f.value, f.reason, dict(f.detail), f.label) for f in score.per_fact]

    def _place(self, name: str) -> str:
        # A reference under another name is the same weights: it is not loaded twice.
        for reference in REFERENCES:
            if reference in self.specs and self.specs[reference] == self.specs[name]:
                return reference
        return name


def told(what: str, error: Exception) -> str:
    if isinstance(error, UdsError):
        return str(error)
    return f"{what}: scoring failed with {type(error).__name__}: {' '.join(str(error).split())}"
