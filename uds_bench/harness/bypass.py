"""The bypass audit of a run: its canaries, its models by seed, and what each comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from uds_bench.attacks.random_weights import random_weights
from uds_bench.audits.bypass import finding
from uds_bench.audits.bypass.examiner import LIMIT, BypassExaminer, probed_of
from uds_bench.audits.bypass.finding import Finding, Word
from uds_bench.audits.bypass.rates import Rows
from uds_bench.audits.bypass.record import Probed
from uds_bench.audits.bypass.summary import summary
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import ConfigurationError
from uds_bench.facts.canaries import CanarySet, read_canaries
from uds_bench.facts.canary_authors import embedded_canaries
from uds_bench.facts.reasoning import require_apart
from uds_bench.harness.audit_sections import Bypass
from uds_bench.harness.examinations import Examinations, Place
from uds_bench.harness.record import Control
from uds_bench.harness.store import Store
from uds_bench.harness.workers import Crew, Work
from uds_bench.scores import Score
from uds_bench.verdicts import Decision, Verdict

RANDOM = random_weights()


@dataclass(frozen=True)
class Examined:
    """One checkpoint: its score, what was probed of it by split, and its finding."""

    score: Score
    canaries: CanarySet

    @cached_property
    def probed(self) -> Mapping[str, list[Probed]]:
        return probed_of(self.score)

    def rows(self, split: str = "forget") -> Rows:
        """Each author's canary beside what was probed."""
        by_id = {canary.id: canary for canary in self.canaries}
        return [(by_id[probed.id], probed) for probed in self.probed[split]]

    @cached_property
    def finding(self) -> Finding:
        return finding.find(self.rows(), self.rows("retain"), self.probed["holdout"])

    def summary(self) -> dict[str, Any]:
        """What the run report shows of it."""
        return summary(self.finding, self.rows(), self.rows("retain"), self.probed["holdout"])


class BypassAudit:
    """The models of a manifest's [bypass], each made with one seed or several."""

    def __init__(
        self, section: Bypass, examinations: Examinations, canaries: CanarySet, plan: Sequence[Place] = ()
    ) -> None:
        self.section, self.examinations, self.canaries, self.plan = section, examinations, canaries, plan
        self._examined: dict[Place, Examined] = {}

    @property
    def controls(self) -> Mapping[str, str]:
        """Models whose verdict is known in advance: `fail` or `pass` by name."""
        return self.section.controls()

    def examined(self, model: str) -> list[Examined]:
        """A model's checkpoints, one a seed; everything planned is examined with the first."""
        found = [self._one(Place(name)) for name in self.section.seeds(model)]
        if len({one.score.provenance["checkpoint"] for one in found}) < len(found):
            raise ConfigurationError(f"[bypass] models {model}: two of its seeds hold the same weights: name each once")
        return found

    def with_random_weights(self, model: str) -> Examined:
        """A model's first checkpoint with every weight drawn anew."""
        return self._one(Place(next(iter(self.section.seeds(model))), RANDOM.name))

    def word(self, model: str) -> tuple[Word, str]:
        """What a model comes to over its seeds, and why."""
        return finding.over_seeds([one.finding for one in self.examined(model)])

    def report(self) -> dict[str, Any]:
        """The run report's section: every planned model, seed by seed, and what it comes to over them.

        Read from the store, as other processes may have examined them; what is not there was not asked for.
        """
        asked = {place.checkpoint for place in self.plan if self.examinations.stored(place) is not None}
        models = []
        for model in self.section.models:
            seeds = [name for name in self.section.seeds(model) if name in asked]
            if seeds and len(seeds) == len(self.section.seeds(model)):
                word, why = self.word(model)
                rows = [{"name": name, **self._one(Place(name)).summary()} for name in seeds]
                models.append(
                    {"model": model, "must": self.controls.get(model), "word": word, "why": why, "seeds": rows}
                )
        return {"models": models}

    def scores(self) -> list[Score]:
        """Every score that was asked for, without the records behind it: `report` tells what a reader needs of them."""
        told = ("rendered", "template", "opened", "max_new_tokens")
        return [
            replace(
                one.score,
                interval=one.finding.gap.interval,
                per_fact=tuple(replace(fact, detail={}) for fact in one.score.per_fact),
                notes={key: one.score.notes[key] for key in told},
            )
            for one in self._examined.values()
        ]

    def work(self) -> list[Work]:
        """What most claims ask for."""
        return [self.examinations.work(self.plan)]

    @property
    def loads(self) -> dict[str, int]:
        return dict(self.examinations.loads)

    def _one(self, place: Place) -> Examined:
        if place not in self._examined:
            score = self.examinations.score(place.checkpoint, place.attack, self.plan)
            self._examined[place] = Examined(score, self.canaries)
        return self._examined[place]


def canaries_of(section: Bypass) -> CanarySet:
    """The canaries that a manifest names, or the built-in ones. Raises FactError where one stands in a prefill."""
    found = embedded_canaries(**section.options) if section.canaries == "authors" else read_canaries(section.canaries)
    require_apart(found)
    return found


def audit_of(
    section: Bypass,
    canaries: CanarySet,
    specs: Mapping[str, CheckpointSpec],
    names: Iterable[str],
    store: Store,
    device: str,
    crew: Crew,
) -> BypassAudit:
    """The audit; checkpoints called `names` are examined with the first that is asked for."""
    examiner = BypassExaminer(canaries, section.max_new_tokens or LIMIT)
    examinations = Examinations(specs, examiner, store, device, {RANDOM.name: RANDOM}, crew)
    return BypassAudit(section, examinations, canaries, [Place(name) for name in names])


DECIDED = {
    Word.NO_BYPASS: Verdict.PASS,
    Word.NON_IDENTIFYING: Verdict.WARNING,
    Word.OPEN: Verdict.INCONCLUSIVE,
}
"""What a word means for a release; every other one is a fail. A gap that identifies nothing clears nobody: it is a
warning, and whether the weights answer under another trace is the claim about invariance."""


def decide(word: Word, why: str, findings: Sequence[Finding]) -> Decision:
    """The word as a verdict, with the gap of the first seed as its number."""
    first = findings[0]
    return Decision(DECIDED.get(word, Verdict.FAIL), first.gap.value, first.gap.interval, f"{word}: {why}")


def known(name: str, must: str, word: Word, why: str, findings: Sequence[Finding]) -> Control:
    """A model whose verdict is known in advance, as it came out."""
    found = decide(word, why, findings)
    told = f"{found.verdict} ({word})"
    return Control(name, must, told, found.observed, found.interval, found.verdict.value == must)
