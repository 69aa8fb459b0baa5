"""Compute the scores that a run needs: each checkpoint is loaded once and everything that needs it runs meanwhile."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
import transformers

from uds_bench.attacks import NONE, Attack
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, digest, load
from uds_bench.checkpoints.rounding import require_as_stored
from uds_bench.code_digest import code_digest
from uds_bench.errors import (
    NO_ROOM,
    CheckpointError,
    ConfigurationError,
    StoreError,
    UdsError,
    did_you_mean,
    failures,
    one_line,
    unwritten,
)
from uds_bench.extras import require
from uds_bench.facts import FactSet
from uds_bench.inference.batches import MORE_ROOM, halved, is_out_of_memory, lacking
from uds_bench.metrics.metric import Measured
from uds_bench.scores import LEARNED, Score, summarise
from uds_bench.scoring.engine import ProcessReport
from uds_bench.scoring.evaluator import Evaluator
from uds_bench.scoring.part import FEW
from uds_bench.scoring.spread import Work
from uds_bench.scoring.store import Failures, ScoreKey, Store, provenance
from uds_bench.scoring.workers import WorkerPool
from uds_bench.statistics import SEED
from uds_bench.storage import content_key

BATCH_SIZE = 16
DEVICES = ("cpu", "cuda")
STORE = ""
"""The name under which the store itself has failed, in the place of a checkpoint: it takes nothing more."""
TOLD = ("rendered", "template", "patching", "patching_reason", "asking", "replies", "drawn")
"""Notes of an evaluation that are provenance."""


@dataclass(frozen=True)
class ScoreRequest:
    """One wanted score, by the names that the manifest has. `metric`: empty for a runner that gives one score per
    checkpoint; `variant`: None means the metric's default."""

    checkpoint: str
    metric: str = ""
    variant: str | None = None
    attack: str = NONE

    @property
    def place(self) -> str:
        """What is loaded for it: the checkpoint, or the checkpoint under an attack."""
        return self.checkpoint if self.attack == NONE else f"{self.checkpoint} under {self.attack}"

    def __str__(self) -> str:
        form = "" if self.variant is None else f"[{self.variant}]"
        return f"{self.place}: {self.metric}{form}" if self.metric else self.place


class ScoreRunner:
    """Scores of named checkpoints by one evaluator, from the store where they are, else computed and stored.

    `requested`: the scores that were wanted so far; `loads`: how often each checkpoint was loaded. `taught`: the facts
    that attacks teach of.
    """

    first: Sequence[str] = ()
    """Checkpoints that all others are held against."""

    def __init__(
        self,
        specs: Mapping[str, CheckpointSpec],
        evaluator: Any,
        store: Store,
        device: str = "cpu",
        attacks: Mapping[str, Attack] | None = None,
        crew: WorkerPool | None = None,
        taught: FactSet | None = None,
    ) -> None:
        self._taught = FactSet(()) if taught is None else taught
        self.specs, self.evaluator, self.store, self.device = dict(specs), evaluator, store, device
        self.attacks = attacks or {}
        self.loads: Counter[str] = Counter()
        self.requested: dict[ScoreRequest, Score] = {}
        self._crew = crew or WorkerPool(device)
        self._failures = Failures(store)
        self._codes: dict[tuple[str, ...], str] = {}
        self._digests: dict[tuple[str, str], str] = {}
        self._scores: dict[ScoreKey, Score] = {}
        self._others: dict[tuple[str, str], bool] = {}

    def score(self, request: ScoreRequest, plan: Iterable[ScoreRequest] = ()) -> Score:
        """The score wanted. If it is not stored, everything in `plan` that is missing is computed with it."""
        found = self.stored(request)
        if found is None:
            self._require_extras(request)
            self._raise_if(request)
            self.store.require_room(request)
            self._crew.score(self.work([request, *plan]))
            # If another checkpoint of the same content was scored in its place and failed, it fails by its own name.
            self._crew.score(self.work([request]))
            found = self.stored(request)
        if found is None:
            self._raise_if(request)
            raise UdsError(
                f"{request} was computed but not stored in {self.store.shelf}: "
                "if the package was edited meanwhile, run it again"
            )
        self.requested[request] = found
        return found

    @property
    def devices(self) -> tuple[str, ...]:
        """Whose scores are read: what a machine with a GPU has scored also where there is none, its own first. A model
        that it rounded to score it is another one."""
        return self.device, *(device for device in DEVICES if device != self.device)

    def stored(self, request: ScoreRequest) -> Score | None:
        """The score if it is stored already; nothing is computed."""
        for device in self.devices:
            try:
                cell = self.cell(request, device)
            except CheckpointError as error:
                self._failures.add(request.place, error)
                raise
            if cell not in self._scores and (stored := self.store.read(cell)) is not None:
                self._scores[cell] = stored
            if cell in self._scores and not self._is_another(request.checkpoint, device):
                return self._scores[cell].named(request.checkpoint)
        return None

    def _is_another(self, name: str, device: str) -> bool:
        """Whether another device computes with a model that is not in the files, as it rounds their weights. References
        are rounded alike for all who are held against them."""
        if device == self.device or name in self.first or self.spec(name).dtype is not None:
            return False
        if (name, device) not in self._others:
            try:
                require_as_stored(name, self.spec(name), device)
                self._others[name, device] = False
            except CheckpointError:
                self._others[name, device] = True
        return self._others[name, device]

    def cell(self, request: ScoreRequest, device: str | None = None) -> ScoreKey:
        """The address of a score as this machine's device, or another, computes it."""
        evaluator = self.evaluator_of(request)
        return ScoreKey(
            checkpoint=self.digest(request.checkpoint, device),
            attack=request.attack,
            attack_key=NONE if request.attack == NONE else self._attack_key(request.attack),
            metric=evaluator.measure.name,
            metric_version=evaluator.measure.version,
            variant=evaluator.variant,
            references=evaluator.references(self.spec(request.checkpoint), device or self.device),
            facts=evaluator.digest,
            device=device or self.device,
            batch_size=self._batch_size,
            code=self._code(evaluator),
            seed=SEED,
        )

    def spec(self, name: str) -> CheckpointSpec:
        """A checkpoint by its name."""
        if name not in self.specs:
            raise ConfigurationError(f"the manifest has no checkpoint {name!r}: it has {', '.join(self.specs)}")
        return self.specs[name]

    def digest(self, name: str, device: str | None = None) -> str:
        """What names a checkpoint's content."""
        place = (name, device or self.device)
        if place not in self._digests:
            try:
                self._digests[place] = digest(self.spec(name), place[1])
            except UdsError:
                raise
            except failures() as error:
                raise CheckpointError(f"{name}: cannot be read ({one_line(error)}): save it again") from error
        return self._digests[place]

    def attack(self, name: str) -> Attack:
        """An attack as it is set here."""
        if name not in self.attacks:
            near = did_you_mean(name, [NONE, *self.attacks])
            raise ConfigurationError(f"the manifest has no attack {name!r}: {near}, or add [attacks] {name}")
        return self.attacks[name]

    def failed(self) -> dict[str, UdsError]:
        """What could not be loaded or computed in this run, and why."""
        return self._failures.known

    def work(self, requests: Iterable[ScoreRequest]) -> Work:
        """What is missing, grouped by what is loaded for it, references first."""
        wanted = list(requests)
        missing: dict[ScoreKey, ScoreRequest] = {}
        every = dict.fromkeys([*self._read_by(wanted), *wanted])
        for request in sorted(every, key=lambda one: one.checkpoint not in self.first):
            try:
                if (
                    self.failed().keys().isdisjoint((STORE, request.place, str(request)))
                    and self.stored(request) is None
                ):
                    missing.setdefault(self.cell(request), request)  # checkpoints of one content have one score
            except CheckpointError:
                continue  # noted in failures; the claims about this checkpoint will say so
            except UdsError as error:
                self._failures.add(str(request), error)
        groups: dict[tuple[str, str], list[ScoreRequest]] = {}
        for request in missing.values():
            groups.setdefault((request.checkpoint, request.attack), []).append(request)
        order = list(self.specs)
        places = sorted(groups, key=lambda g: (g[1] != NONE, g[0] not in self.first, order.index(g[0])))
        # The references come first and here: what every other model is held against is then on disk.
        first = [place for place in places if place[1] == NONE and place[0] in self.first]
        rest = [groups[place] for place in places if place not in first]
        largest = self.specs.get("full") or next((self.specs[name] for name, _ in places), None)
        trains = any(name != NONE and self.attack(name).trains for _, name in places)
        return Work(self, self._like, rest, largest, [groups[place] for place in first], trains)

    @property
    def size(self) -> int:
        """How many units are asked about."""
        return len(self.evaluator.units)

    @property
    def least(self) -> float:
        """The smallest share of the units whose cost is worth measuring."""
        return min(1.0, FEW / self.size)

    def on_part(self, share: float, store: Store) -> ScoreRunner:
        """A runner like this one that asks a share of what it asks, with another store, in this process.

        Raises:
            ConfigurationError: What is asked has no parts.
        """
        part = getattr(self.evaluator, "part", None)  # an audit need not have parts
        if part is None or (own := part(share)) is None:
            raise ConfigurationError(f"{self.evaluator.measure.name} is measured whole or not at all")
        return self._asking(own, store)

    @property
    def _kind(self) -> type[ScoreRunner]:
        """The class of the runners that ask something else in this one's place."""
        return type(self)

    def _asking(self, evaluator: Any, store: Store) -> ScoreRunner:
        """A runner like this one that asks something else, in this process."""
        found = self._kind(self.specs, evaluator, store, self.device, self.attacks, taught=self._taught)
        found._digests, found._codes = self._digests, self._codes
        return found

    def loaded(self, name: str) -> Checkpoint:
        """The checkpoint in memory."""
        return self._whole(name)

    def pass_tokens(self, tokenizer: Any) -> int:
        """Tokens of one pass over all facts to be forgotten; 0 where no facts are."""
        return 0

    def take(self, outcome: ProcessReport) -> None:
        """See `Scorer`."""
        self.loads += outcome.loads
        for what, error in outcome.failed.items():
            self._failures.add(what, error)

    def group_key(self, request: ScoreRequest) -> str:
        """The key of a checkpoint under an attack, by content, and of what this runner measures."""
        attack = NONE if request.attack == NONE else self._attack_key(request.attack)
        measured = "" if self.evaluator is None else self.evaluator.measure.name
        return content_key([self.digest(request.checkpoint), attack, measured])

    def compute_group(self, group: Sequence[ScoreRequest]) -> bool:
        """Load one checkpoint, attacked if the requests say so, and store every score of theirs that can be computed.

        Returns False, and does nothing, if another process or machine is scoring it.
        """
        place = group[0].place
        try:
            self._failures.raise_if(STORE)
            self._failures.raise_if(place)
            with self.store.lease(self.group_key(group[0])) as is_ours:
                # What another one stored since it was found missing is not computed again.
                if is_ours and (missing := [request for request in group if self.stored(request) is None]):
                    self._compute(missing)
        except failures() as error:  # whatever its files made a library say: the others go on
            self._fail(place, error)
            return True
        return is_ours

    def lease_of(self, group: Sequence[ScoreRequest]) -> str:
        """See `Scorer`."""
        return self.store.shelf.lease_at(self.group_key(group[0]))

    def _compute(self, group: Sequence[ScoreRequest]) -> None:
        subject = self._subject(group[0])
        for request in group:
            try:
                self._failures.raise_if(STORE)
                self._measure(request, subject)
            except failures() as error:
                self._fail(str(request), error)

    def _fail(self, what: str, error: BaseException) -> None:
        told = as_uds_error(what, error)
        self._failures.add(STORE if isinstance(told, StoreError) else what, told)

    _batch_size = BATCH_SIZE

    def _batches(self, subject: Any) -> Mapping[str, Any]:
        """How facts were batched, where that is told."""
        return {}

    def _evaluate(self, request: ScoreRequest, evaluator: Evaluator, subject: Any) -> Measured:
        return evaluator.evaluate(subject)

    @property
    def _like(self) -> Any:
        """What makes the same runner in another process."""
        given = (self.specs, self.evaluator, self.store, self.device, self.attacks)
        return partial(type(self), *given, taught=self._taught)

    def _attack_key(self, name: str) -> str:
        """What names an attack and all that it depends on."""
        return self.attack(name).key_on(self._taught) if self._taught else self.attack(name).key

    def evaluator_of(self, request: ScoreRequest) -> Evaluator:
        """What scores a request: a measure and its variant."""
        found: Evaluator = self.evaluator
        return found

    def _read_by(self, requests: Sequence[ScoreRequest]) -> Iterable[ScoreRequest]:
        """Scores that others read."""
        return ()

    def _subject(self, request: ScoreRequest) -> Any:
        """What is evaluated, loaded and, where the request says so, attacked."""
        return self._attacked(request) if request.attack != NONE else self._load(request)

    def _load(self, request: ScoreRequest) -> Checkpoint:
        self.loads[request.place] += 1
        return self._whole(request.checkpoint)

    def _whole(self, name: str) -> Checkpoint:
        """A checkpoint in memory; if it has an adapter, that is known to act."""
        found = load(self.spec(name), self.device)
        if found.spec.adapter is not None:
            from uds_bench.checkpoints.adapter_effect import require_adapter  # PEFT takes seconds to import

            require_adapter(found)
        return found

    def _attacked(self, request: ScoreRequest, facts: FactSet | None = None) -> Checkpoint:
        self.loads[request.place] += 1
        spec, attack = self.spec(request.checkpoint), self.attack(request.attack)
        facts = self._taught if facts is None else facts
        if attack.proof is None:
            return attack.apply(spec, self.device, facts)
        nats = attack.proof(spec, self.device, facts)
        return replace(attack.apply(spec, self.device, facts), learned={"kept": "", "nats": {"": nats}})

    def _measure(self, request: ScoreRequest, subject: Any) -> None:
        started = time.perf_counter()
        evaluator, cell = self.evaluator_of(request), self.cell(request)
        # What several scores share is read once, and only the first of them says that it was halved.
        with halved() as few:
            measured, checkpoint = self._evaluate(request, evaluator, subject), getattr(subject, "checkpoint", subject)
        record = provenance(
            cell,
            checkpoint_name=request.checkpoint,
            dtype=str(checkpoint.model.dtype).removeprefix("torch."),
            quantization=checkpoint.spec.quantization,
            attack_settings={} if request.attack == NONE else self.attack(request.attack).settings,
            torch=torch.__version__,
            transformers=transformers.__version__,
            source=evaluator.measure.source,
            direction=evaluator.measure.direction_of(evaluator.variant),
            counts_choices=evaluator.measure.counts_choices,
            seconds=round(time.perf_counter() - started, 3),
            **({LEARNED: learned} if (learned := getattr(checkpoint, "learned", None)) else {}),
            **self._batches(subject),
            **({"halved": few} if few else {}),
            **{key: measured.notes[key] for key in TOLD if key in measured.notes},
        )
        score = summarise(
            evaluator.measure,
            measured,
            evaluator.units,
            checkpoint=request.checkpoint,
            attack=request.attack,
            variant=cell.variant,
            provenance=record,
        )
        self._scores[cell] = self.store.write(cell, score)

    def _require_extras(self, request: ScoreRequest) -> None:
        """Raises ExtraError here, in the process whose claim it leaves undecided, and before anything is loaded."""
        if request.attack != NONE:
            require(f"the attack {request.attack}", *self.attack(request.attack).needs)
        if quantization := self.spec(request.checkpoint).quantization:
            require(f"{request.checkpoint}, in {quantization},", "bitsandbytes")

    def _code(self, evaluator: Evaluator) -> str:
        """Digest of the code of an evaluator, and of a metric that it computes."""
        metric = getattr(evaluator.measure, "compute", None)
        modules = (type(evaluator).__module__, *([metric.__module__] if metric else []))
        if modules not in self._codes:
            self._codes[modules] = code_digest(*modules)
        return self._codes[modules]

    def _raise_if(self, request: ScoreRequest) -> None:
        """Raise an error that was met before: by the store, by loading the checkpoint, or by the request itself."""
        self._failures.raise_if(STORE)
        self._failures.raise_if(request.place)
        self._failures.raise_if(str(request))


def as_uds_error(what: str, error: BaseException) -> UdsError:
    """What went wrong, as an error whose message is a line."""
    if isinstance(error, UdsError):
        return error
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return unwritten(error.filename or "a file", error)
    if is_out_of_memory(error):
        return CheckpointError(f"{what}: the device has too little memory ({lacking(error)}): {MORE_ROOM}")
    return UdsError(f"{what}: scoring failed with {type(error).__name__}: {one_line(error)}")
