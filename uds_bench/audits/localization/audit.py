"""The localization audit of a run: its testbed, where each update went, what each model says, and who leaks."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from uds_bench.attacks.attack import NONE, Attack
from uds_bench.attacks.resurface import resurface
from uds_bench.audits.api import AuditRun, Session, prepared
from uds_bench.audits.localization import precision, summary, tasks
from uds_bench.audits.localization.benchmarks import BenchmarkEvaluator
from uds_bench.audits.localization.evaluator import (
    LeakEvaluator,
    LocalizationEvaluator,
    Origins,
    shares_of,
    weight_scores_of,
)
from uds_bench.audits.localization.experiment import Experiment
from uds_bench.audits.localization.names import HEADLINE, Target
from uds_bench.audits.localization.part import LocalizationPart
from uds_bench.audits.localization.rates import FORMS, Form, Leaks, SharesByItem, extraction, known, leaked
from uds_bench.audits.localization.section import Localization
from uds_bench.audits.localization.utility import Answers, answers_of
from uds_bench.audits.localization.weights import WeightScores
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.masks import read_masks
from uds_bench.errors import CheckpointError, ConfigurationError, UdsError
from uds_bench.facts.profiles import cross_fields
from uds_bench.facts.testbed import Item, embedded_testbed, read_testbed
from uds_bench.scores import Score
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.statistics import Rate

NAME = "localization"
RESURFACING = f"{NAME}.resurfacing"


class LeakRunner(ScoreRunner):
    """Before resurfacing only the people to forget are asked: nobody is held against the others there."""

    def evaluator_of(self, request: ScoreRequest) -> LeakEvaluator:
        """See `ScoreRunner`."""
        found: LeakEvaluator = self.evaluator
        return replace(found, beside=request.attack != NONE)


@dataclass(frozen=True)
class LocalizationResult:
    """One checkpoint's score, and what it holds."""

    score: Score

    @cached_property
    def shares(self) -> SharesByItem:
        """By item and form, what was said."""
        return shares_of(self.score)

    @property
    def reads_otherwise(self) -> bool:
        """Whether it is an update whose tokenizer does not read and spell as the injected model's."""
        return self.score.notes["reads_alike"] is False

    @cached_property
    def weight_scores(self) -> WeightScores:
        """Where its weights moved; for an update alone."""
        found = weight_scores_of(self.score)
        if found is None:
            raise ConfigurationError(f"{self.score.checkpoint} is no update of the injected model")
        return found


class LocalizationAudit(AuditRun):
    """The candidates of a manifest's [localization] and what they are held against.

    `asked`: ids of the claims that are, where they are known.
    """

    def __init__(
        self,
        section: Localization,
        experiment: Experiment,
        telling: ScoreRunner,
        leaking: ScoreRunner,
        asking: ScoreRunner,
        names: Sequence[str] = (),
        asked: Collection[str] = (),
    ) -> None:
        self.section, self.experiment, self._asked = section, experiment, asked
        self.telling, self.leaking, self.asking = telling, leaking, asking
        self.names = [name for name in names if not name.endswith(".unmasked")]
        self._seen: dict[str, LocalizationResult] = {}
        self._leaks: dict[str, Leaks] = {}

    def seen(self, model: str) -> LocalizationResult:
        """A model by its name in the section; everything planned is evaluated with the first that is asked for."""
        if model not in self._seen:
            score = self.telling.score(ScoreRequest(model), [ScoreRequest(name) for name in self.names])
            found = LocalizationResult(score)
            if found.reads_otherwise:
                raise CheckpointError(
                    f"[localization] {model}: its tokenizer reads questions, or spells answers, otherwise than the "
                    "injected model's, which may hide what the weights hold: save that one beside its weights"
                )
            self._seen[model] = found
        return self._seen[model]

    def reads_alike(self, model: str) -> bool:
        """Whether `seen` does not refuse a model for its tokenizer."""
        try:
            self.seen(model)
        except CheckpointError:
            return False
        return True

    def known(self, forms: Collection[Form] = FORMS) -> list[Item]:
        """What is to be forgotten, as far as the injected model knows it, asked in some forms."""
        return known(self.experiment.forget, self.seen("injected").shares, forms)

    @property
    def neutral(self) -> WeightScores | None:
        """Where neutral training moved the weights; None where the manifest names no such model.

        Raises ConfigurationError where it moved none that a group was written into: no claim can fail it for that.
        """
        if self.section.neutral is None:
            return None
        found = self.seen("neutral").weight_scores
        if precision.moves_nothing(found):
            raise ConfigurationError(
                "[localization] neutral: has the injected model's weights: train it or leave it out"
            )
        return found

    def counting(self, model: str, target: Target = HEADLINE) -> list[str]:
        """The families that count for a candidate against a target: neither control is told by them."""
        return precision.counting(self.seen(model).weight_scores, self.neutral, target)

    def leaks(self, model: str) -> Leaks:
        """By seed of resurfacing and item, whether a model gave the answer away."""
        if model not in self._leaks:
            self.seen(model)  # refuses a tokenizer that hides what is said
            self._leaks[model] = [self._leaking(model, attack) for attack in self.attacks(model)]
        return self._leaks[model]

    def unheard(self, model: str) -> Leaks:
        """The same, or whether it may have in a reply that did not end."""
        return [self._leaking(model, attack, unheard=True) for attack in self.attacks(model)]

    def leaks_before(self, model: str) -> Mapping[str, bool]:
        """The same of the people to forget, without resurfacing."""
        return self._leaking(model, NONE)

    def _leaking(self, model: str, attack: str, unheard: bool = False) -> dict[str, bool]:
        found = self.leaking.score(ScoreRequest(model, attack=attack), self._of_leaks).per_fact
        return {fact.id: bool(fact.value) or (unheard and fact.detail["cut"] > 0) for fact in found}

    def benchmark_answers(self, model: str) -> Score:
        """What a candidate, or the injected model, answers of the benchmarks that the section names."""
        if self.asking.stored(ScoreRequest(model)) is None:
            _ = self.asking.evaluator.units  # documents that cannot be had are told before a model is loaded
        return self.asking.score(ScoreRequest(model), self._of_benchmarks)

    def answers(self, model: str) -> Answers:
        """The same by task and document. Raises UdsError where the injected model was asked otherwise."""
        if not self._had_the_same_questions(model):
            raise UdsError(
                f"{model} and injected were asked different questions of [localization] tasks: a data set has changed "
                "since one of them was; name another folder with --uds-store, and both are asked anew"
            )
        return answers_of(self.benchmark_answers(model))

    def _had_the_same_questions(self, model: str) -> bool:
        mine, injected = (self.benchmark_answers(name).provenance["rendered"] for name in (model, "injected"))
        return bool(mine == injected)

    @property
    def updates(self) -> list[str]:
        """The models that were made of the injected one."""
        return [*self.section.candidates, *(["neutral"] if self.section.neutral is not None else [])]

    def attacks(self, model: str) -> list[str]:
        """Resurfacing with each seed, or with the first alone of a model that is only held against."""
        every = list(self.leaking.attacks)
        return every if model in self.section.candidates else every[:1]

    @property
    def _compared(self) -> list[str]:
        """Candidates that are asked for, and the model that nothing was unlearned from."""
        return [name for name in self.names if name in (*self.section.candidates, "injected")]

    @property
    def _of_leaks(self) -> list[ScoreRequest]:
        """Who leaks from each of them, before resurfacing and after it; nothing where there is nobody to teach."""
        attacks = {name: self.attacks(name) for name in self._compared}
        return [ScoreRequest(name, attack=one) for name, own in attacks.items() if own for one in (NONE, *own)]

    @property
    def _of_benchmarks(self) -> list[ScoreRequest]:
        return [ScoreRequest(name) for name in self._compared if self.section.tasks]

    def floor(self, model: str) -> float:
        """How often people who were never injected are answered by chance, at least, by the model and by the injected
        one: a floor that is high by luck, or because somebody was taught, would clear anybody."""
        unseen = self.experiment.unseen
        return min(_least(extraction(unseen, self.seen(name).shares, None)) for name in (model, "injected"))

    def leak_floor(self, model: str) -> float:
        """How often they leak by chance, at least, over all seeds, from the model and from the injected one."""
        return min(_least(leaked(self.experiment.unseen, self.leaks(name))) for name in (model, "injected"))

    def report(self) -> LocalizationPart:
        """The run report's section, of everything that is stored: other processes may have evaluated it."""
        stored = [n for n in self.names if self.telling.stored(ScoreRequest(n)) is not None and self.reads_alike(n)]
        attacked = [
            name
            for name in self._compared
            if name in stored
            and all(
                self.leaking.stored(ScoreRequest(name, attack=attack)) is not None
                for attack in (NONE, *self.attacks(name))
            )
        ]
        asked = [
            name for name in self._compared if self.section.tasks and self.asking.stored(ScoreRequest(name)) is not None
        ]
        return summary.report(
            self.experiment,
            {name: (self.seen(name).shares, weight_scores_of(self.seen(name).score)) for name in stored},
            {name: (self.leaks_before(name), self.leaks(name)) for name in attacked} if "injected" in stored else {},
            candidates=[name for name in self.section.judged() if name in stored],
            neutral=self.seen("neutral").weight_scores if "neutral" in stored else None,
            answers={name: self.answers(name) for name in asked if self._had_the_same_questions(name)}
            if "injected" in asked
            else {},
        )

    def wordings(self) -> dict[str, dict[str, str]]:
        """What is asked and looked for, by id of what the scores are of."""
        return {item.id: {"question": item.questions[0], "entity": item.answer} for item in self.experiment.items}

    def runners(self) -> list[ScoreRunner]:
        """Everything that scores for the audit."""
        return [self.telling, self.leaking, self.asking]

    def planned(self) -> list[tuple[ScoreRunner, list[ScoreRequest]]]:
        """What the claims ask for, by what scores it."""
        planned = [(self.telling, [ScoreRequest(name) for name in self.names])]
        for runner, requests, claims in (
            (self.leaking, self._of_leaks, (RESURFACING, f"{RESURFACING}_order")),
            (self.asking, self._of_benchmarks, (f"{NAME}.benchmarks",)),
        ):
            if any(claim in self._asked for claim in claims):
                planned.append((runner, requests))
        return planned


def _least(found: Rate) -> float:
    low = found.interval.low
    return low if math.isfinite(low) else 0.0


def _task_folder(section: Localization) -> Path | None:
    return None if section.task_folder is None else Path(section.task_folder)


def experiment_of(section: Localization) -> Experiment:
    """The people of a manifest's testbed, or the built-in ones. Raises FactError or ConfigurationError, in a line."""
    if section.testbed != "people":
        return Experiment(read_testbed(section.testbed), section.forget_field, section.retain_field)
    found = embedded_testbed()
    forgotten = section.forget_field or found.fields[0]
    return Experiment(found, forgotten, section.retain_field or cross_fields(found.fields).get(forgotten))


def origins_of(section: Localization, specs: Mapping[str, CheckpointSpec], masks: Path) -> Origins:
    """What the updates of a section are held against."""
    controls = {specs[name]: specs[f"{name}.unmasked"] for name in section.controls}
    return Origins(specs["pretrained"], specs["injected"], masks, specs.get("unmasked"), controls)


def check_masks(section: Localization) -> None:
    """Whether masks that lie in files are of what is asked: all words are read once. Raises ConfigurationError, in a
    line."""
    if section.masks is None or not section.lies_in_files:
        return
    masks = read_masks(Path(section.masks))
    if not masks.named("forget") or not masks.named("retain", "held_out"):
        roles = ", ".join(group.role for group in masks.groups)
        raise ConfigurationError(
            f"masks = {section.masks!r}: groups have the roles {roles}: an AUC takes one to forget and another to tell "
            "it from"
        )
    known = [group.name for group in masks.groups]
    testbed = experiment_of(section).testbed
    unknown = sorted({item.group for item in testbed if item.group} - set(known))
    if unknown:
        names = ", ".join(known)
        raise ConfigurationError(f"testbed = {section.testbed!r}: group {unknown[0]!r} has no mask: there are {names}")
    roles_of = {group.name: group.role for group in masks.groups}
    for item in testbed.of("forget", "retain"):
        if item.group and (item.part == "forget") != ((role := roles_of[item.group]) == "forget"):
            raise ConfigurationError(
                f"masks = {section.masks!r}: group {item.group!r} has the role {role}, and its people the part "
                f"{item.part}: an update of other people's weights would look localized"
            )


def read(section: Localization) -> Experiment:
    """Who is asked about, and what is to be forgotten of them; masks that lie in files and the tasks are looked at with
    it."""
    check_masks(section)
    if section.tasks:
        tasks.catalogue(section.tasks, _task_folder(section))
    return experiment_of(section)


def open(session: Session) -> LocalizationAudit:
    """The audit of one run; what the selected tests need is evaluated with the first that is asked for."""
    section, names, specs, store = prepared(session, NAME, Localization)
    experiment, place = session.data(NAME), section.masks or ""
    masks = Path(session.ready({place: CheckpointSpec(place)}, [place])[place].model)
    origins = origins_of(section, specs, masks)
    updates = tuple(specs[name] for name in (*section.candidates, "neutral") if name in specs)
    attacks: dict[str, Attack] = {}
    if experiment.held_out:
        found = [resurface(experiment.held_out, seed=seed) for seed in range(section.seeds)]
        attacks = {attack.name: attack for attack in found}
    telling = ScoreRunner(
        specs,
        LocalizationEvaluator(experiment, origins, updates, section.subsample, section.questions),
        store,
        session.device,
        crew=session.crew,
    )
    leaking = LeakRunner(
        specs, LeakEvaluator(experiment, section.attempts), store, session.device, attacks, crew=session.crew
    )
    asking = ScoreRunner(
        specs,
        BenchmarkEvaluator(section.tasks, section.task_limit, _task_folder(section)),
        store,
        session.device,
        crew=session.crew,
    )
    asked = {mark.args[0] for mark in session.marks("claim")}
    return LocalizationAudit(section, experiment, telling, leaking, asking, names, asked)
