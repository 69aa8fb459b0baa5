"""The localization audit of a run: its testbed, where each update went, what each model says, and who leaks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from uds_bench.attacks.attack import Attack
from uds_bench.attacks.resurface import resurface
from uds_bench.audits.localization import precision, summary
from uds_bench.audits.localization.examiner import LeakExaminer, LocalizationExaminer, Origins, told_of, weighed_of
from uds_bench.audits.localization.experiment import Experiment
from uds_bench.audits.localization.rates import Leaks, Tellings, extraction, known, leaked
from uds_bench.audits.localization.targets import Target
from uds_bench.audits.localization.weights import HEADLINE, Weighed
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import ConfigurationError
from uds_bench.facts.profiles import cross_fields
from uds_bench.facts.testbed import Item, read_testbed
from uds_bench.facts.testbed_people import embedded_testbed
from uds_bench.harness.audit_sections import Localization
from uds_bench.harness.examinations import Examinations, Place
from uds_bench.harness.store import Store
from uds_bench.harness.workers import OpenConsole
from uds_bench.scores import Score
from uds_bench.statistics import Rate


@dataclass(frozen=True)
class Seen:
    """One checkpoint's score, and what it holds."""

    score: Score

    @cached_property
    def told(self) -> Tellings:
        """By item and form, what was said."""
        return told_of(self.score)

    @cached_property
    def weighed(self) -> Weighed:
        """Where its weights moved; for an update alone."""
        found = weighed_of(self.score)
        if found is None:
            raise ConfigurationError(f"{self.score.checkpoint} is no update of the injected model")
        return found


class LocalizationAudit:
    """The candidates of a manifest's [localization] and what they are held against."""

    def __init__(
        self,
        section: Localization,
        experiment: Experiment,
        telling: Examinations,
        leaking: Examinations,
        planned: Sequence[str] = (),
    ) -> None:
        self.section, self.experiment, self.telling, self.leaking = section, experiment, telling, leaking
        self.planned = [name for name in planned if not name.endswith(".unmasked")]
        self._seen: dict[str, Seen] = {}
        self._leaks: dict[str, Leaks] = {}

    def seen(self, model: str) -> Seen:
        """A model by its name in the section; everything planned is examined with the first that is asked for."""
        if model not in self._seen:
            self._seen[model] = Seen(self.telling.score(model, plan=[Place(name) for name in self.planned]))
        return self._seen[model]

    def known(self) -> list[Item]:
        """What is to be forgotten, as far as the injected model knows it."""
        return known(self.experiment.forget, self.seen("injected").told)

    @property
    def neutral(self) -> Weighed | None:
        """Where neutral training moved the weights; None where the manifest names no such model."""
        return self.seen("neutral").weighed if self.section.neutral is not None else None

    def counting(self, model: str, target: Target = HEADLINE) -> list[str]:
        """The families that count for a candidate against a target: neither control is told by them."""
        return precision.counting(self.seen(model).weighed, self.neutral, target)

    def leaks(self, model: str) -> Leaks:
        """By seed of resurfacing and item, whether a model gave the answer away."""
        if model not in self._leaks:
            plan = [Place(name, attack) for name in self._attacked for attack in self.attacks(name)]
            scores = [self.leaking.score(model, attack, plan) for attack in self.attacks(model)]
            self._leaks[model] = [{fact.id: bool(fact.value) for fact in score.per_fact} for score in scores]
        return self._leaks[model]

    @property
    def updates(self) -> list[str]:
        """The models that were made of the injected one."""
        return [*self.section.candidates, *(["neutral"] if self.section.neutral is not None else [])]

    def attacks(self, model: str) -> list[str]:
        """Resurfacing with each seed, or with the first alone of a model that is only held against."""
        every = list(self.leaking.attacks)
        return every if model in self.section.candidates else every[:1]

    @property
    def _attacked(self) -> list[str]:
        """Candidates that are asked for, and the model that nothing was unlearned from."""
        return [name for name in self.planned if name in (*self.section.candidates, "injected")]

    def floor(self, model: str) -> float:
        """How often people who were never injected are answered by chance, at least: a floor that is high by luck would
        clear anybody."""
        return _least(extraction(self.experiment.unseen, self.seen(model).told))

    def leak_floor(self, model: str) -> float:
        """How often they leak by chance, at least, over all seeds."""
        return _least(leaked(self.experiment.unseen, self.leaks(model)))

    def report(self) -> dict[str, Any]:
        """The run report's section, of everything that is stored: other processes may have examined it."""
        stored = [name for name in self.planned if self.telling.stored(Place(name)) is not None]
        attacked = [
            name
            for name in self._attacked
            if all(self.leaking.stored(Place(name, attack)) is not None for attack in self.attacks(name))
        ]
        return summary.report(
            self.experiment,
            {name: (self.seen(name).told, weighed_of(self.seen(name).score)) for name in stored},
            {name: self.leaks(name) for name in attacked} if "injected" in stored else {},
            candidates=[name for name in self.section.judged() if name in stored],
            neutral=self.neutral if "neutral" in stored else None,
        )

    def scores(self) -> list[Score]:
        """Every score that was asked for, without the records behind it."""
        return [
            replace(seen.score, notes={}, per_fact=tuple(replace(fact, detail={}) for fact in seen.score.per_fact))
            for seen in self._seen.values()
        ]

    @property
    def loads(self) -> dict[str, int]:
        return dict(self.telling.loads + self.leaking.loads)


def _least(found: Rate) -> float:
    low = found.interval.low
    return low if math.isfinite(low) else 0.0


def experiment_of(section: Localization) -> Experiment:
    """The people of a manifest's testbed, or the built-in ones. Raises FactError or ConfigurationError, in a line."""
    if section.testbed != "people":
        return Experiment(read_testbed(section.testbed), section.forget_field, section.retain_field)
    found = embedded_testbed()
    forgotten = section.forget_field or found.fields[0]
    return Experiment(found, forgotten, section.retain_field or cross_fields(found.fields).get(forgotten))


def audit_of(
    section: Localization,
    experiment: Experiment,
    specs: Mapping[str, CheckpointSpec],
    names: Iterable[str],
    masks: Path,
    store: Store,
    device: str,
    open_console: OpenConsole | None,
) -> LocalizationAudit:
    """The audit; checkpoints called `names` are examined with the first that is asked for."""
    origins = Origins(
        specs["pretrained"],
        specs["injected"],
        masks,
        specs.get("unmasked"),
        {specs[name]: specs[f"{name}.unmasked"] for name in section.controls},
    )
    updates = tuple(specs[name] for name in (*section.candidates, "neutral") if name in specs)
    attacks: dict[str, Attack] = {}
    if experiment.held_out:
        found = [resurface(experiment.held_out, seed=seed) for seed in range(section.seeds)]
        attacks = {attack.name: attack for attack in found}
    telling = Examinations(
        specs,
        LocalizationExaminer(experiment, origins, updates, section.subsample),
        store,
        device,
        open_console=open_console,
    )
    leaking = Examinations(
        specs, LeakExaminer(experiment, section.attempts), store, device, attacks, open_console=open_console
    )
    return LocalizationAudit(section, experiment, telling, leaking, list(names))
