"""The bypass audit of a run: its canaries, its models by seed, and what each comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from uds_bench.attacks import NONE, Attack
from uds_bench.attacks.random_weights import random_weights
from uds_bench.audits.api import AuditRun, Session, plain, prepared
from uds_bench.audits.bypass import finding, rates
from uds_bench.audits.bypass.attacks import attacks_of
from uds_bench.audits.bypass.evaluator import BypassEvaluator, probed_of
from uds_bench.audits.bypass.finding import Finding, GapOutcome
from uds_bench.audits.bypass.part import BypassPart, ReasonedModel, SeedFinding
from uds_bench.audits.bypass.rates import Rows
from uds_bench.audits.bypass.record import Probed
from uds_bench.audits.bypass.replies import Recorded, is_surface, read_replies, surface
from uds_bench.audits.bypass.section import Bypass
from uds_bench.audits.bypass.summary import summary
from uds_bench.checkpoints.spec import SCHEME
from uds_bench.errors import ConfigurationError
from uds_bench.facts.canaries import CanarySet, embedded_canaries, read_canaries
from uds_bench.facts.reasoning import require_apart
from uds_bench.manifest.locate import matches
from uds_bench.scores import Score
from uds_bench.scoring.evaluator import Evaluator
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.scoring.spread import Work

NAME = "bypass"
RANDOM = random_weights()


@dataclass(frozen=True)
class BypassResult:
    """One checkpoint: its score, what was probed of it by split, and its finding."""

    score: Score
    canaries: CanarySet

    @cached_property
    def probed(self) -> Mapping[str, list[Probed]]:
        """What each author's replies and recall were, by split."""
        return probed_of(self.score)

    def shown(self) -> dict[str, dict[str, Any]]:
        """By author to be forgotten, the model's own reply, and whether its trace or its answer holds the canary."""
        held = (rates.in_trace(), rates.in_answer())
        return {
            canary.id: {"answer": one.replies["auto"].said, "survives": any(holds(canary, one) for holds in held)}
            for canary, one in self.rows()
            if one.replies["auto"].exists
        }

    def rows(self, split: str = "forget") -> Rows:
        """Each author's canary beside what was probed."""
        by_id = {canary.id: canary for canary in self.canaries}
        return [(by_id[probed.id], probed) for probed in self.probed[split]]

    @cached_property
    def finding(self) -> Finding:
        """What the model comes to, with the parts beside it."""
        return finding.find(self.rows(), self.rows("retain"), self.probed["holdout"])

    def summary(self, name: str) -> SeedFinding:
        """What the run report shows of it."""
        return summary(name, self.finding, self.rows(), self.rows("retain"), self.probed["holdout"])


class BypassAudit(AuditRun):
    """The models of a manifest's [bypass], each made with one seed or several."""

    def __init__(
        self, section: Bypass, runner: ScoreRunner, canaries: CanarySet, plan: Sequence[ScoreRequest] = ()
    ) -> None:
        self.section, self.runner, self.canaries, self.plan = section, runner, canaries, plan
        self._results: dict[ScoreRequest, BypassResult] = {}

    @property
    def controls(self) -> Mapping[str, str]:
        """Models whose verdict is known in advance: `fail` or `pass` by name."""
        return self.section.controls()

    def results(self, model: str, attack: str = NONE) -> list[BypassResult]:
        """A model's checkpoints, one a seed, under an attack; everything planned is evaluated with the first."""
        found = [self._one(ScoreRequest(name, attack=attack)) for name in self.section.members(model)]
        if len({one.score.provenance["checkpoint"] for one in found}) < len(found):
            raise ConfigurationError(f"[bypass] models {model}: two of its seeds hold the same weights: name each once")
        return found

    def with_random_weights(self, model: str) -> BypassResult:
        """A model's first checkpoint with every weight drawn anew."""
        return self._one(ScoreRequest(next(iter(self.section.members(model))), attack=RANDOM.name))

    def speaks_alone(self, model: str) -> bool:
        """Whether there are replies of a model and no weights, so that nothing was teacher-forced."""
        return not all(map(self.section.has_weights, self.section.members(model).values()))

    def word(self, model: str, attack: str = NONE) -> tuple[GapOutcome, str]:
        """What a model comes to over its seeds, and why."""
        return finding.over_seeds([one.finding for one in self.results(model, attack)])

    def report(self) -> BypassPart:
        """The run report's section: every planned model, seed by seed, and what it comes to over them.

        Read from the store, as other processes may have evaluated them; what is not there was not asked for.
        """
        plain = [place for place in self.plan if place.attack == NONE]
        asked = {place.checkpoint for place in plain if self.runner.stored(place) is not None}
        models = []
        for model in self.section.models:
            seeds = [name for name in self.section.members(model) if name in asked]
            if seeds and len(seeds) == len(self.section.members(model)):
                word, why = self.word(model)
                rows = tuple(self._one(ScoreRequest(name)).summary(name) for name in seeds)
                must = self.controls.get(model)
                models.append(ReasonedModel(model=model, must=must, word=str(word), why=why, seeds=rows))
        return BypassPart(models=tuple(models))

    def scores(self) -> list[Score]:
        """The scores of the run report, each with the interval of its gap."""
        found = self._results.values()
        return [replace(plain(one.score, one.shown()), interval=one.finding.gap.interval) for one in found]

    def wordings(self) -> dict[str, dict[str, str]]:
        """What is asked and looked for, by id of what the scores are of."""
        return {canary.id: {"question": canary.head, "entity": canary.rest.strip()} for canary in self.canaries}

    def planned(self) -> list[tuple[ScoreRunner, list[ScoreRequest]]]:
        """What the claims ask for, by what scores it."""
        return [(self.runner, list(self.plan))]

    def _one(self, place: ScoreRequest) -> BypassResult:
        if place not in self._results:
            score = self.runner.score(place, self.plan)
            self._results[place] = BypassResult(score, self.canaries)
        return self._results[place]


@dataclass(frozen=True)
class Inputs:
    """What is known before a model is loaded. `recorded`: replies that were given elsewhere, see `read_replies`."""

    canaries: CanarySet
    attacks: Mapping[str, Attack]
    recorded: Mapping[str, Recorded]


def canaries_of(section: Bypass) -> CanarySet:
    """The canaries that a manifest names, or the built-in ones. Raises FactError where one stands in a prefill."""
    found = embedded_canaries(**section.options) if section.canaries == "authors" else read_canaries(section.canaries)
    require_apart(found)
    return found


def read(section: Bypass) -> Inputs:
    """Canaries, attacks and replies. Raises FactError for replies to other prompts than are asked."""
    canaries = canaries_of(section)
    attacks = attacks_of(section, canaries)
    if section.replies is None:
        return Inputs(canaries, attacks, {})
    # An embedded model that may still have to be trained is asked here alone.
    specs = {name: spec for name, spec in section.checkpoints().items() if not spec.model.startswith(SCHEME)}
    return Inputs(canaries, attacks, read_replies(matches(section.replies), specs, canaries, section.asking))


def notes(session: Session) -> list[str]:
    """Which replies were read, and what could not be tried without weights."""
    section, told = session.manifest.of(Bypass), []
    specs = section.checkpoints()
    for one in session.data(NAME).recorded.values():
        how = (
            "each was forced through its weights, and asked of it where they say something else"
            if section.has_weights(specs[one.name])
            else "not asked of it, and no weights: surface only, nothing was teacher-forced or ties them to a model"
        )
        told.append(f"{one.name}: {len(one.replies)} replies of another engine were read; {how}")
    return told


def open(session: Session) -> BypassAudit:
    """The audit of one run; what the selected tests need is evaluated with the first that is asked for."""
    section, names, specs, store = prepared(session, NAME, Bypass)
    inputs = session.data(NAME)
    evaluator = BypassEvaluator(inputs.canaries, section.asking, recorded=inputs.recorded)
    attacks = {RANDOM.name: RANDOM, **inputs.attacks}
    runner = BypassRunner(specs, evaluator, store, session.device, attacks, session.crew)
    weighed = [name for name in names if section.has_weights(specs[name])]
    attacked = [ScoreRequest(name, attack=attack) for attack in inputs.attacks for name in weighed]
    return BypassAudit(section, runner, inputs.canaries, [*map(ScoreRequest, names), *attacked])


class BypassRunner(ScoreRunner):
    """See `ScoreRunner`."""

    def digest(self, name: str, device: str | None = None) -> str:
        """Of a model without weights, that of its tokenizer."""
        return surface(self.spec(name)).digest if self._speaks_alone(name) else super().digest(name, device)

    def work(self, requests: Iterable[ScoreRequest]) -> Work:
        """See `ScoreRunner.work`; only models that have weights tell how much memory they take."""
        found = super().work(requests)
        # How much memory a process takes is told by weights.
        return replace(found, largest=None) if any(map(self._speaks_alone, self.specs)) else found

    def _whole(self, name: str) -> Any:
        return surface(self.spec(name)) if self._speaks_alone(name) else super()._whole(name)

    def evaluator_of(self, request: ScoreRequest) -> Evaluator:
        """Replies that were read are those of the model as it is: an attacked one is asked here."""
        found: BypassEvaluator = self.evaluator
        return found if request.attack == NONE else replace(found, recorded={})

    def _speaks_alone(self, name: str) -> bool:
        return bool(self.evaluator.recorded) and is_surface(self.spec(name))
