"""Scores by any metric: what full and retain give is read once for all other checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from uds_bench.attacks import NONE, Attack
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.checkpoints.source import check_shapes
from uds_bench.device import at_a_time
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet, Split, encode, require_forget
from uds_bench.inference.batches import halving
from uds_bench.metrics import find_metric
from uds_bench.metrics.metric import FactValue, Measured, Metric, Reference
from uds_bench.metrics.subject import ReferenceModels, Subject
from uds_bench.scoring.part import least, part
from uds_bench.scoring.runner import BATCH_SIZE, ScoreRequest, ScoreRunner
from uds_bench.scoring.store import Store
from uds_bench.scoring.workers import WorkerPool
from uds_bench.storage import content_key

REFERENCES: tuple[Reference, ...] = get_args(Reference)


@dataclass(frozen=True)
class MetricEvaluator:
    """A metric in one variant; `units`: the facts that it has values of."""

    measure: Metric
    variant: str
    units: FactSet
    runner: MetricRunner

    @property
    def digest(self) -> str:
        """What is asked, by content."""
        beside = self.measure.texts.get(self.variant, ())
        return content_key([self.units.digest, *map(self.runner.text, beside)]) if beside else self.units.digest

    def references(self, checkpoint: CheckpointSpec, device: str) -> tuple[str, ...]:
        """Digests of the models that the metric reads beside the judged one."""
        used = [name for name in REFERENCES if name in self.measure.needs]
        for name in used:
            if name not in self.runner.specs:
                raise ConfigurationError(
                    f"metric {self.measure.name} needs a {name} model: add {name} under [references]"
                )
        return tuple(f"{name}:{self.runner.digest(name, device)}" for name in used)

    def part(self, share: float) -> None:
        """None: a runner of fewer facts is made, see `MetricRunner.on_part`."""

    def evaluate(self, subject: Subject) -> Measured:
        """The metric of a loaded checkpoint."""
        return self.measure.compute(subject, self.variant)


class MetricRunner(ScoreRunner):
    """Scores for the checkpoints of one manifest by metric, variant and attack."""

    first = REFERENCES

    def __init__(
        self,
        specs: Mapping[str, CheckpointSpec],
        facts: FactSet,
        store: Store,
        device: str = "cpu",
        batch_size: int = BATCH_SIZE,
        attacks: Mapping[str, Attack] | None = None,
        crew: WorkerPool | None = None,
    ) -> None:
        super().__init__(specs, None, store, device, attacks, crew)
        self.facts = require_forget(facts, "the manifest's facts")
        self._batch_size = batch_size
        self._units: dict[tuple[Split, ...], FactSet] = {}
        self._own: dict[Callable[[FactSet], FactSet], FactSet] = {}
        self._texts: dict[Split, str] = {}
        self._attack_keys: dict[str, str] = {}
        self._loaded: dict[str, Checkpoint] = {}
        self._references: ReferenceModels | None = None

    @property
    def size(self) -> int:
        """See `ScoreRunner`: facts."""
        return len(self.facts)

    @property
    def least(self) -> float:
        """See `ScoreRunner`."""
        return least(self.facts)

    def on_part(self, share: float, store: Store) -> MetricRunner:
        """See `ScoreRunner`."""
        facts = part(self.facts, share)
        found = MetricRunner(self.specs, facts, store, self.device, self._batch_size, self.attacks)
        found._digests = self._digests
        return found

    def pass_tokens(self, tokenizer: Any) -> int:
        """See `ScoreRunner`."""
        return sum(len(encode(fact, tokenizer).ids) for fact in self.facts.split("forget"))

    def loaded(self, name: str) -> Checkpoint:
        """The checkpoint in memory. The full model stays loaded, as every other is patched into it; of the others
        only the last one does."""
        place = self._same_as(name)
        if place not in self._loaded:
            self._keep_full_alone()
            check_shapes(name, self.specs)
            self.loads[name] += 1
            self._loaded[place] = self._whole(name)
        return self._loaded[place]

    def _keep_full_alone(self) -> None:
        for other in [name for name in self._loaded if name != "full"]:
            del self._loaded[other]

    def units(self, metric: Metric) -> FactSet:
        """The facts that a metric has values of, with every split that it needs there."""
        if metric.splits not in self._units:  # kept, as its digest is part of every score's address
            for split in metric.splits:
                if not self.facts.split(split):
                    raise ConfigurationError(
                        f"metric {metric.name} needs facts of the split {split}, and the manifest's facts have none: "
                        f"add some, or leave {metric.name} out"
                    )
            self._units[metric.splits] = self.facts.where(lambda fact: fact.split in metric.splits)
        if metric.of is not None:
            if metric.of not in self._own:
                self._own[metric.of] = metric.of(self.facts)
            if not self._own[metric.of]:
                raise ConfigurationError(f"metric {metric.name} can score none of the facts: mark their entities")
            return self._own[metric.of]
        return self._units[metric.splits]

    def text(self, split: Split) -> str:
        """Digest of the facts of a split."""
        if split not in self._texts:
            self._texts[split] = self.facts.split(split).digest
        return self._texts[split]

    @property
    def _like(self) -> Any:
        return partial(MetricRunner, self.specs, self.facts, self.store, self.device, self._batch_size, self.attacks)

    def evaluator_of(self, request: ScoreRequest) -> MetricEvaluator:
        """See `ScoreRunner`."""
        metric = find_metric(request.metric)
        variant = metric.variant(request.variant)
        if request.attack != NONE and self.attack(request.attack).asking is not None and variant not in metric.askable:
            raise ConfigurationError(
                f"{request.attack} asks facts in other words, which {metric.name}[{variant}] does not read: "
                "entity_accuracy[free] does"
            )
        return MetricEvaluator(metric, variant, self.units(metric), self)

    def _attack_key(self, name: str) -> str:
        if name not in self._attack_keys:  # what is taught is looked through for what is judged
            self._attack_keys[name] = self.attack(name).key_on(self.facts)
        return self._attack_keys[name]

    def _read_by(self, requests: Sequence[ScoreRequest]) -> Iterable[ScoreRequest]:
        return [ScoreRequest("retain", name) for r in requests for name in find_metric(r.metric).reads]

    def _batches(self, subject: Subject) -> Mapping[str, Any]:
        return {"batches": f"right padding, at most {subject.batch_size} facts of like length"}

    def _evaluate(self, request: ScoreRequest, evaluator: Any, subject: Subject) -> Measured:
        def run(size: int) -> Measured:
            if size != subject.batch_size:
                subject.references.batch(size)
            found: Measured = evaluator.evaluate(subject)
            return found

        return halving(run, subject.batch_size)

    def _subject(self, request: ScoreRequest) -> Subject:
        name = request.checkpoint
        if request.attack == NONE:
            # The full model as a source is read once for all. The retain model is read anew: its score is a check of
            # the stored reading that every candidate is held against.
            same = "full" in self.specs and self.digest("full") == self.digest(name)
            return Subject(self.loaded(name), self._yardstick(), "full" if same else None)
        if (asking := self.attack(request.attack).asking) is not None:
            return Subject(self.loaded(name), self._yardstick(), asking=asking)
        check_shapes(name, self.specs)
        self._keep_full_alone()
        return Subject(self._attacked(request, self.facts), self._yardstick())

    def _yardstick(self) -> ReferenceModels:
        if self._references is None:
            digests: dict[Reference, str] = {name: self.digest(name) for name in REFERENCES if name in self.specs}
            self._references = ReferenceModels(
                self.loaded, digests, self.facts, self.store.cache, at_a_time(self._batch_size), self._of_retain
            )
        return self._references

    def _of_retain(self, metric: str, variant: str | None) -> list[FactValue]:
        """What a metric found on the retain model: stored, as references are measured first."""
        request = ScoreRequest("retain", metric, variant)
        score = self.stored(request)
        if score is None:
            self._raise_if(request)
            self._measure(request, self._subject(request))
            score = self.stored(request)
        assert score is not None
        return [FactValue(f.id, f.value, f.reason, dict(f.detail), f.label) for f in score.per_fact]

    def _same_as(self, name: str) -> str:
        """The reference with the same spec as a checkpoint, else its own name: the same weights are not loaded
        twice."""
        spec = self.spec(name)
        return next((one for one in REFERENCES if one in self.specs and self.specs[one] == spec), name)
