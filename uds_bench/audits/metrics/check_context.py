"""A check context: models whose standing is known, opened one at a time, on which a metric is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from uds_bench.attacks import NONE, Attack, find_attack
from uds_bench.audits.manifests import embedded_manifest
from uds_bench.audits.metrics.metric_rows import Models
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, digest, load
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet
from uds_bench.metrics import find_metric
from uds_bench.metrics.metric import FactValue, Measured, Metric, Reference
from uds_bench.metrics.subject import ReferenceModels, Subject
from uds_bench.scores import Score, summarise

BATCH_SIZE = 16
Opener = Callable[[str, str, int], Subject]


@dataclass(frozen=True)
class CheckedScore:
    """What a metric returned for one model, and the score that is made of it."""

    measured: Measured
    score: Score


class CheckContext:
    """`open(checkpoint, attack, batch_size)` gives a subject read from scratch; `facts` are those of all splits.

    What a metric found is kept by metric, model, attack and batch size, so that checks of one metric share it; and the
    last `keep` subjects, so that checks of several metrics share what was read of a model.
    """

    def __init__(
        self,
        models: Models,
        facts: FactSet,
        open: Opener,
        attacks: Iterable[str] = (),
        utility: Mapping[str, float] | None = None,
        keep: int = 1,
    ) -> None:
        self.models, self.facts, self.attacks, self.utility = models, facts, tuple(attacks), utility
        self._open, self._keep = open, keep
        self._subjects: dict[tuple[str, str, int], Subject] = {}
        self._tried: dict[tuple[int, str, str, int], tuple[Metric, CheckedScore]] = {}

    @classmethod
    def of(
        cls,
        facts: FactSet,
        *,
        full: str | Path,
        retain: str | Path,
        positive: Mapping[str, str | Path],
        negative: Mapping[str, str | Path],
        candidates: Mapping[str, str | Path],
        attacks: Mapping[str, Attack] | None = None,
        device: str = "cpu",
        utility: Mapping[str, float] | None = None,
        keep: int = 1,
    ) -> CheckContext:
        """A check context on checkpoints by folder or hub id, each by the name that messages use."""
        models = Models("full", "retain", tuple(positive), tuple(negative), tuple(candidates))
        places = {"full": full, "retain": retain, **positive, **negative, **candidates}
        specs = {name: CheckpointSpec(str(place)) for name, place in places.items()}
        return cls(models, facts, opener(specs, facts, attacks or {}, device), attacks or {}, utility, keep)

    def subject(self, name: str, attack: str = NONE, batch_size: int = BATCH_SIZE) -> Subject:
        """The model as a subject, kept for a while."""
        place = (name, attack, batch_size)
        if place not in self._subjects:
            while len(self._subjects) >= max(1, self._keep):
                del self._subjects[next(iter(self._subjects))]
            self._subjects[place] = self.open(*place)
        return self._subjects[place]

    def open(self, name: str, attack: str = NONE, batch_size: int = BATCH_SIZE) -> Subject:
        """The model as a subject read from scratch."""
        return self._open(name, attack, batch_size)

    def tried(self, metric: Metric, name: str, attack: str = NONE, batch_size: int = BATCH_SIZE) -> CheckedScore:
        """What the metric, in its default variant, finds; measured at most once."""
        # Two metrics may share a name, as a broken one and its repair do: the object itself is the key, and is kept.
        key = (id(metric), name, attack, batch_size)
        if key not in self._tried:
            self._tried[key] = metric, self.measure(metric, self.subject(name, attack, batch_size), name, attack)
        return self._tried[key][1]

    def measure(self, metric: Metric, subject: Subject, name: str, attack: str = NONE) -> CheckedScore:
        """What the metric finds on a subject, now. ConfigurationError where the facts lack a split that it needs."""
        for split in metric.splits:
            if not self.facts.split(split):
                raise ConfigurationError(f"metric {metric.name} needs facts of the split {split}, and there are none")
        own = metric.of or (lambda facts: facts.where(lambda fact: fact.split in metric.splits))
        planned = own(self.facts)
        variant = metric.variant(None)
        measured = metric.compute(subject, variant)
        score = summarise(metric, measured, planned, checkpoint=name, attack=attack, variant=variant, provenance={})
        return CheckedScore(measured, score)


def opener(
    specs: Mapping[str, CheckpointSpec], facts: FactSet, attacks: Mapping[str, Attack], device: str = "cpu"
) -> Opener:
    """Opens checkpoints by name; `specs` holds `full` and `retain`, which stay loaded, among the others."""
    loaded: dict[str, Checkpoint] = {}
    yardsticks: dict[int, ReferenceModels] = {}

    def reference(which: Reference) -> Checkpoint:
        if which not in loaded:
            loaded[which] = load(specs[which], device)
        return loaded[which]

    def yardstick(batch_size: int) -> ReferenceModels:
        recorded: dict[tuple[str, str], list[FactValue]] = {}

        def of_retain(name: str, variant: str | None) -> list[FactValue]:
            metric = find_metric(name)
            place = (name, metric.variant(variant))
            if place not in recorded:
                recorded[place] = metric.compute(fresh("retain", NONE, batch_size), place[1]).values
            return recorded[place]

        if batch_size not in yardsticks:
            names: tuple[Reference, ...] = ("full", "retain")
            digests: dict[Reference, str] = {name: digest(specs[name], device) for name in names}
            yardsticks[batch_size] = ReferenceModels(reference, digests, facts, None, batch_size, of_retain)
        return yardsticks[batch_size]

    def fresh(name: str, attack: str, batch_size: int) -> Subject:
        if attack != NONE:
            changed = attacks[attack].apply(specs[name], device, facts)
            return Subject(changed, yardstick(batch_size))
        role: Reference | None = "full" if name == "full" else None
        return Subject(load(specs[name], device), yardstick(batch_size), role)

    return fresh


KEPT = 64
"""Subjects kept in memory: embedded models take some MB each."""


def zoo_context(device: str = "cpu") -> CheckContext:
    """The shipped references, pools and candidates, under the attacks of the zoo."""
    from uds_bench.audits.depth.zoo import recipes  # recipes import what trains, which takes seconds
    from uds_bench.zoo import specimens

    shipped, zoo = (embedded_manifest(profile).document.values for profile in ("quick", "zoo"))
    pools, candidates = shipped["pools"], tuple(shipped["candidates"])
    models = Models("full", "retain", tuple(pools["positive"]), tuple(pools["negative"]), candidates)
    named = {name: shipped["references"][name] for name in ("full", "retain")}
    named |= {**pools["positive"], **pools["negative"], **shipped["candidates"]}
    specs = {name: CheckpointSpec(str(specimens.folder(model)), dtype="float32") for name, model in named.items()}
    attacks = {name: find_attack(name, **settings) for name, settings in zoo["attacks"].items()}
    facts = recipes.facts()
    return CheckContext(models, facts, opener(specs, facts, attacks, device), attacks, keep=KEPT)
