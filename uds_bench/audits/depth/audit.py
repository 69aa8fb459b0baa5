"""The depth audit of a run: scores of its checkpoints by metric, variant and attack. Claims about depth and about
metrics read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from uds_bench.attacks import NONE
from uds_bench.audits.api import AuditRun, Session
from uds_bench.audits.depth.claims import LEAST_POOL
from uds_bench.audits.depth.section import Depth
from uds_bench.checkpoints import Checkpoint, resolve
from uds_bench.checkpoints.spec import EMBEDDED
from uds_bench.claims.run_report import CLUSTERS
from uds_bench.claims.spec import ClaimSpec
from uds_bench.errors import ConfigurationError, UdsError, counted, did_you_mean
from uds_bench.facts import FactSet, load_facts, training_pairs
from uds_bench.facts.clusters import clusters_by_name, split_people
from uds_bench.facts.fact import NO_SPAN
from uds_bench.metrics import find_metric
from uds_bench.metrics.retain_facts import kept_facts
from uds_bench.scores import Score
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner

NAME = "depth"
KEEPING = ("uds", "spared")
"""Metrics that also ask about facts to be kept."""


class DepthAudit(AuditRun):
    """`plan`: the scores that the selected tests declare; they are computed together."""

    def __init__(self, section: Depth, runner: MetricRunner, plan: Sequence[ScoreRequest] = ()) -> None:
        self.section, self.runner, self.plan = section, runner, list(plan)

    @property
    def facts(self) -> FactSet:
        """Every fact of the manifest, all splits; `facts.split("forget")` are the ones that are scored."""
        return self.runner.facts

    def score(self, checkpoint: str, metric: str, variant: str | None = None, attack: str = NONE) -> Score:
        """A score, with `.value`, `.interval` and `.per_fact`: read from the store, or computed and stored now."""
        return self.request(ScoreRequest(str(checkpoint), metric, variant, attack))

    def request(self, request: ScoreRequest) -> Score:
        """The same by its address."""
        return self.runner.score(request, self.plan)

    def loaded(self, checkpoint: str) -> Checkpoint:
        """A checkpoint of the manifest in memory, with `.model` and `.tokenizer`."""
        return self.runner.loaded(checkpoint)

    def wordings(self) -> dict[str, dict[str, str]]:
        """What is asked and looked for, by id of what the scores are of."""
        return {fact.id: {"question": fact.question, "entity": fact.entity} for fact in self.facts}

    def planned(self) -> list[tuple[ScoreRunner, list[ScoreRequest]]]:
        """The scores that the claims ask for, with the runner that scores them."""
        return [(self.runner, self.plan)]

    def scores(self) -> list[Score]:
        """The stored scores of the plan, and those that were asked for; default variants first."""
        found = {request: score for request in self.plan if (score := self._stored(request)) is not None}
        found |= self.runner.requested
        # One request may name the default variant and another leave it out: the score is the same.
        unique = {(s.checkpoint, s.attack, s.metric, s.variant): s for s in found.values()}
        # A metric's default variant comes before its others, for readers that take the first.
        return sorted(unique.values(), key=lambda s: find_metric(s.metric).variant(None) != s.variant)

    def _stored(self, request: ScoreRequest) -> Score | None:
        try:
            return self.runner.stored(request)
        except UdsError:
            return None


def read(section: Depth) -> FactSet:
    """Every fact of a manifest, all splits."""
    assert section.facts is not None
    return load_facts(section.facts.source, **section.facts.options)


def plan_of(session: Session) -> list[ScoreRequest]:
    """The scores that the selected tests declare."""
    if not (marks := session.marks("scores")):
        return []
    section = session.manifest.require(Depth, NAME)
    return plan_requests(section, session.data(NAME), marks, session.subjects(NAME))


def needed(session: Session) -> list[str]:
    """The checkpoints of planned scores, and the references: every metric's yardstick, whether or not a test asks for
    a score of theirs."""
    plan, section = plan_of(session), session.manifest.of(Depth)
    if any(request.metric in KEEPING and request.variant in (None, "aligned") for request in plan):
        facts = session.data(NAME)
        try:
            kept_facts(facts)
        except ConfigurationError as error:
            raise session.manifest.document.error(("facts", "source"), str(error)) from None
    if plan and section.attacked():
        try:
            section.chosen_attacks(session.data(NAME))
        except UdsError as error:
            raise session.manifest.document.error(("attacks",), str(error)) from None
    wanted = {"full", "retain", *(request.checkpoint for request in plan)} if plan else set()
    return [name for name in section.checkpoints() if name in wanted]


def open(session: Session) -> DepthAudit:
    """The audit of one run. Raises ConfigurationError where the manifest lacks what it judges by."""
    section = session.manifest.require(Depth, NAME)
    specs, plan = section.checkpoints(), plan_of(session)
    store = session.store(specs)
    specs = session.ready(specs, needed(session) or specs)
    attacks = section.chosen_attacks()
    runner = MetricRunner(specs, session.data(NAME), store, session.device, attacks=attacks, crew=session.crew)
    return DepthAudit(section, runner, plan)


def unit(session: Session, claim: ClaimSpec) -> str:
    """What intervals are over: authors, unless no two facts to be forgotten are of one."""
    forget = session.data(NAME).split("forget")
    return "rows" if claim.unit == "authors" and len(forget.clusters) == len(forget) else claim.unit


def notes(session: Session) -> list[str]:
    """Notes on models of another base, small pools, facts in no score, and whether each person is one cluster."""
    facts, pools, told = session.data(NAME), session.manifest.of(Depth).pools, of_another_base(session)
    forget = facts.split("forget")
    if len(forget.clusters) == len(forget) > 1:
        told.append(
            f"{CLUSTERS}each of {len(forget)} facts is one of its own, and intervals are over rows; {_by_name(forget)}"
        )
    elif split := split_people(training_pairs(forget), [fact.cluster for fact in forget]):
        person, (one, other, *_) = next(iter(split.items()))
        told.append(
            f"{CLUSTERS}{len(split)} people are in several, as names tell; {one!r} and {other!r} are about {person}. "
            "Give one person one cluster, or intervals are narrower than what is known"
        )
    if pools.positive and pools.negative and (small := too_small(len(pools.positive), len(pools.negative))):
        told.append(small)
    if lost := len(facts.unannotated):
        told.append(f"no sure entity, in no score: {counted(lost, 'item')}; mark it, or set keep_doubtful in [facts]")
    if answers := sum(fact.doubt == NO_SPAN for fact in facts):
        told.append(f"not in the annotations: {counted(answers, 'fact')}: answers are scored, entities are not")
    if doubtful := sum(fact.doubt not in (None, NO_SPAN) for fact in facts):
        told.append(f"scored by a doubtful entity (doubt): {counted(doubtful, 'fact')}; correct it, or leave it out")
    return told


def of_another_base(session: Session) -> list[str]:
    """A line for each checkpoint whose weights have nothing of the full model's, so that activations cannot be
    compared."""
    from uds_bench.checkpoints.likeness import OF_ONE_BASE, likeness

    specs = {
        name: spec
        for name, spec in session.manifest.of(Depth).checkpoints().items()
        if not spec.model.startswith(EMBEDDED) and spec.quantization is None
    }
    told = []
    for name, spec in specs.items() if "full" in specs else ():
        try:
            found = likeness(resolve(specs["full"]).model, resolve(spec).model)
        except UdsError:  # whoever loads it says why it cannot be
            continue
        if found is not None and not found[1] >= OF_ONE_BASE:  # a matrix of zeros has no cosine
            told.append(
                f"{name}: its {found[0]} is not full's (cosine {found[1]:.2f}): it was made from another base, or its "
                "basis was changed, and depth may stay undecided"
            )
    return told


def _by_name(facts: FactSet) -> str:
    """What the names in facts say of their clusters."""
    found = clusters_by_name(training_pairs(facts), {}, "nobody")
    people = len({found.of[row] for row in found.named})
    return f"{len(found.named)} of them name {people} people; if one has several, give these one cluster"


def too_small(knows: int, never_knew: int) -> str:
    """A note on pools that are too small to set the bound of depth.score and only serve as controls; "" for others."""
    if min(knows, never_knew) >= LEAST_POOL:
        return ""
    return (
        f"the pools are controls only: with {knows} and {never_knew} models they set no bound for depth.score, which "
        f"takes {LEAST_POOL} a side, and the default holds"
    )


USUAL = ("full", "retain", "nested", "pools", "candidates")
"""Groups that a marker without `of` means."""


def plan_requests(
    section: Depth, facts: FactSet, marks: Iterable[Any], candidates: Iterable[str]
) -> list[ScoreRequest]:
    """The scores that the selected tests ask for, as far as the manifest has the attacks and splits for them.

    A test declares them by `@pytest.mark.scores("metric[variant]", ..., of=(group, ...), under=(attack, ...))`. Groups
    are full, retain, nested, pools, knower and stranger (the first of each pool, else full and retain), candidates
    (those that selected tests speak of), every_candidate (with those of the sweep), and every_component: these too,
    where the manifest asks for the parts of a block.
    """
    groups = {
        "full": ["full"],
        "retain": ["retain"],
        "nested": list(section.nested),
        "knower": [section.knower],
        "stranger": [section.stranger],
        "pools": [*section.pools.positive, *section.pools.negative],
        "candidates": list(dict.fromkeys(candidates)),
        "every_candidate": list(section.unlearned),
        "every_component": list(section.unlearned) if section.wants_components else [],
    }
    attacks = {NONE, *section.attacked()}
    requests: dict[ScoreRequest, None] = {}
    for metric, of, under in _requested(marks):
        name, _, variant = metric.rstrip("]").partition("[")
        if not all(facts.split(split) for split in find_metric(name).splits):
            continue  # the claim that wants it says so
        for group in of:
            if group not in groups:
                raise ConfigurationError(f"marker scores: there is no group {group!r}: {did_you_mean(group, groups)}")
        places = [(checkpoint, attack) for group in of for checkpoint in groups[group] for attack in under]
        for checkpoint, attack in places:
            if attack in attacks:
                requests[ScoreRequest(checkpoint, name, variant or None, attack)] = None
    return list(requests)


def _requested(marks: Iterable[Any]) -> Iterator[tuple[str, Iterable[str], Iterable[str]]]:
    """Metrics, each with groups and attacks, as marks declare them."""
    for mark in marks:
        of, under = mark.kwargs.get("of", USUAL), mark.kwargs.get("under", (NONE,))
        yield from ((metric, of, under) for metric in mark.args)
