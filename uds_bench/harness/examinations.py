"""Scores of an audit that examines one checkpoint at a time: from the store where they are, else made and stored."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import transformers
from filelock import FileLock

from uds_bench.attacks import NONE, Attack
from uds_bench.audits.examiner import Examiner
from uds_bench.checkpoints import CheckpointSpec, digest, load
from uds_bench.errors import ConfigurationError, UdsError
from uds_bench.facts import FactSet
from uds_bench.harness.engine import BATCH_SIZE, DEVICES, KNOWN, told
from uds_bench.harness.store import Cell, Failures, Store, provenance
from uds_bench.harness.workers import Crew, Outcome, Work
from uds_bench.scores import Score, summarise
from uds_bench.statistics import SEED

NOBODY = FactSet(())
"""The attacks of examinations read no facts."""


@dataclass(frozen=True)
class Place:
    """What is loaded for a score."""

    checkpoint: str
    attack: str = NONE

    def __str__(self) -> str:
        return self.checkpoint if self.attack == NONE else f"{self.checkpoint} under {self.attack}"


class Examinations:
    """One audit's scores of named checkpoints; each is loaded once."""

    def __init__(
        self,
        specs: Mapping[str, CheckpointSpec],
        examiner: Examiner,
        store: Store,
        device: str = "cpu",
        attacks: Mapping[str, Attack] | None = None,
        crew: Crew | None = None,
    ) -> None:
        self.specs, self.examiner, self.store, self.device = dict(specs), examiner, store, device
        self.attacks = attacks or {}
        self.loads: Counter[str] = Counter()
        self._crew = crew or Crew(device)
        self._failures = Failures(store)
        self._scores: dict[Place, Score] = {}

    def score(self, name: str, attack: str = NONE, plan: Iterable[Place] = ()) -> Score:
        """The score of a checkpoint; where it is not stored it is made, and with it all of `plan` that are missing."""
        if name not in self.specs:
            raise ConfigurationError(f"the manifest has no model {name!r}: it has {', '.join(self.specs)}")
        place = Place(name, attack)
        if (found := self.stored(place)) is None:
            self._failures.raise_if(str(place))
            with FileLock(self.store.lock):
                self._crew.score(self.work([place, *plan]))
            found = self.stored(place)
        if found is None:
            self._failures.raise_if(str(place))
            raise UdsError(f"{place} was examined but not stored in {self.store.folder}")
        return found

    def stored(self, place: Place) -> Score | None:
        """The score if it is stored already; nothing is computed."""
        if place not in self._scores:
            # What a machine with a GPU has scored is read where there is none; its own scores come first.
            for device in (self.device, *(d for d in DEVICES if d != self.device)):
                if (found := self.store.read(self._cell(place, device))) is not None:
                    self._scores[place] = found
                    break
        return self._scores[place].named(place.checkpoint) if place in self._scores else None

    def compute_group(self, group: Sequence[Place]) -> None:
        """Load one checkpoint, change it where an attack says so, examine it and store the score."""
        (place,) = group
        name, started = place.checkpoint, time.perf_counter()
        try:
            self._failures.raise_if(str(place))
            self.loads[str(place)] += 1
            spec = self.specs[name]
            attacked = place.attack != NONE
            checkpoint = self._attack(place).apply(spec, self.device, NOBODY) if attacked else load(spec, self.device)
            measured = self.examiner.examine(checkpoint)
        except KNOWN as error:
            self._failures.add(str(place), told(str(place), error))
            return
        cell, measure = self._cell(place, self.device), self.examiner.measure
        record = provenance(
            cell,
            checkpoint_name=name,
            dtype=str(checkpoint.model.dtype).removeprefix("torch."),
            quantization=checkpoint.spec.quantization,
            torch=torch.__version__,
            transformers=transformers.__version__,
            source=measure.source,
            direction=measure.direction,
            seconds=round(time.perf_counter() - started, 3),
            **{key: measured.notes[key] for key in ("rendered", "template") if key in measured.notes},
        )
        score = summarise(
            measure,
            measured,
            self.examiner.units,
            checkpoint=name,
            attack=place.attack,
            variant=self.examiner.variant,
            provenance=record,
        )
        self.store.write(cell, score)
        self._scores[place] = score

    def failed(self) -> dict[str, str]:
        """What could not be loaded or examined in this run, and why."""
        return self._failures.known

    def work(self, places: Iterable[Place]) -> Work:
        """What is missing of some places."""
        missing = [[place] for place in dict.fromkeys(places) if self._is_missing(place)]
        make = partial(Examinations, self.specs, self.examiner, self.store, self.device, self.attacks)
        return Work(self, make, missing, self.specs[missing[0][0].checkpoint] if missing else None)

    def take(self, outcome: Outcome) -> None:
        """See `Scorer`."""
        self.loads += outcome.loads
        for what, message in outcome.failed.items():
            self._failures.add(what, message)

    def _is_missing(self, place: Place) -> bool:
        try:
            return str(place) not in self.failed() and self.stored(place) is None
        except UdsError as error:
            self._failures.add(str(place), str(error))
            return False

    def _attack(self, place: Place) -> Attack:
        if place.attack not in self.attacks:
            raise ConfigurationError(f"the audit knows no attack {place.attack!r}: it has {', '.join(self.attacks)}")
        return self.attacks[place.attack]

    def _cell(self, place: Place, device: str) -> Cell:
        measure = self.examiner.measure
        return Cell(
            checkpoint=digest(self.specs[place.checkpoint], device),
            attack=place.attack,
            attack_key=NONE if place.attack == NONE else self._attack(place).key,
            metric=measure.name,
            metric_version=measure.version,
            variant=self.examiner.variant,
            references=self.examiner.references(self.specs[place.checkpoint]),
            facts=self.examiner.digest,
            device=device,
            batch_size=BATCH_SIZE,
            seed=SEED,
        )
