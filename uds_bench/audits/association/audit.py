"""The association audit of a run: its people, what each model holds of them, and the forget set that follows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from uds_bench.attacks import Attack, find_attacks
from uds_bench.attacks.few_bits import few_bits
from uds_bench.attacks.quantize import nf4
from uds_bench.audits.api import AuditRun, Session, plain, prepared
from uds_bench.audits.association import power, summary
from uds_bench.audits.association.asking import Asking
from uds_bench.audits.association.evaluator import AssociationEvaluator, held_of, shown
from uds_bench.audits.association.part import AssociationPart
from uds_bench.audits.association.people import held_out, people_of, require_unsaid
from uds_bench.audits.association.people_runner import PeopleRunner
from uds_bench.audits.association.probe_items import Embed, ProbeItem, ask_about
from uds_bench.audits.association.probe_set import ProbeSet, beside_context
from uds_bench.audits.association.rates import Memorization
from uds_bench.audits.association.section import Association
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet
from uds_bench.facts.exposed_people import NEVER_SEEN
from uds_bench.facts.own_wording import Worded
from uds_bench.facts.properties import Property
from uds_bench.facts.subjects import Person, stated
from uds_bench.retrieval.encoder import encoder_of
from uds_bench.retrieval.settings import MINILM
from uds_bench.scores import Score
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.scoring.store import Store
from uds_bench.scoring.workers import WorkerPool
from uds_bench.statistics import FEWEST

NAME = "association"
BITS = (2, 1)
"""Simulated quantization under which what is held is to be lost (WikiMem, section 6)."""


@dataclass(frozen=True)
class AssociationResult:
    """One model's score, and what it holds, by property of a person."""

    score: Score
    held: Mapping[str, Memorization]


@dataclass(frozen=True)
class Way:
    """One way of asking: whom and what, by which runner, and of which models, each under an attack.

    Everything planned is evaluated with the first that is asked for.
    """

    sides: ProbeSet
    runner: ScoreRunner
    plan: Sequence[ScoreRequest]
    _results: dict[ScoreRequest, AssociationResult] = field(default_factory=dict)

    def of(self, model: str = "model", attack: str | None = None) -> AssociationResult:
        """What a model holds, by its name in the section. `attack`: the one of the plan where there are several."""
        place = ScoreRequest(model, attack=attack or self.plan[0].attack)
        if place not in self._results:
            score = self.runner.score(place, self.plan)
            self._results[place] = AssociationResult(score, held_of(score, self.sides.items))
        return self._results[place]

    def stored(self) -> dict[str, AssociationResult]:
        """What was evaluated, here or in another process, by model and attack."""
        return {
            str(one): self.of(one.checkpoint, one.attack) for one in self.plan if self.runner.stored(one) is not None
        }


class AssociationAudit(AuditRun):
    """What the models of a manifest's [association] hold of its people, by way of asking.

    `asked`: of all models, everything. `held out`: in phrasings that no forget set is made of, of candidates and what
    they are held against, as under each attack of the section. `attacked`: of the model under attacks, of whom it may
    have heard; `context`: the same people behind other facts of theirs and without.
    """

    def __init__(self, section: Association, probe_set: ProbeSet, ways: Mapping[str, Way]) -> None:
        self.section, self.probe_set, self.ways = section, probe_set, ways

    def seen(self, model: str = "model") -> AssociationResult:
        """A model by its name in the section, as people are asked about."""
        return self.ways["asked"].of(model)

    def under(self, attack: str) -> AssociationResult:
        """The model under an attack."""
        return self.ways["attacked"].of(attack=attack)

    def scores(self) -> list[Score]:
        """Those that were asked for, with what was replied."""
        return [plain(one, shown(one, self._public)) for runner in self.runners() for one in runner.requested.values()]

    def wordings(self) -> dict[str, dict[str, str]]:
        """What is asked and looked for, by id of what the scores are of."""
        return {
            one.id: {
                "question": one.templates[0].fill(one.subject.name, "..."),
                "entity": ", ".join(one.candidates.truths),
            }
            for one in self._public
        }

    @cached_property
    def _public(self) -> list[ProbeItem]:
        """What a page may show: who asks to be forgotten by facts of their own is told of by id alone."""
        return [one for one in self.probe_set.items if not isinstance(one.topic, Worded)]

    def report(self) -> AssociationPart:
        """The run report's section, of everything that is stored."""
        stored = self.ways["asked"].stored() | self.ways["attacked"].stored()
        return summary.report(self.probe_set, {name: seen.held for name, seen in stored.items()}, self.section.judged())

    def runners(self) -> list[ScoreRunner]:
        """Everything that scores for the audit, each runner once."""
        return list({id(way.runner): way.runner for way in self.ways.values()}.values())

    def planned(self) -> list[tuple[ScoreRunner, list[ScoreRequest]]]:
        """What the claims ask for, by what scores it."""
        judged = bool(self.section.candidates)
        wanted = {
            "asked": True,
            "held out": judged and bool(self.probe_set.held_out),
            **dict.fromkeys(self.section.attacked(), judged),
        }
        return [(self.ways[name].runner, list(self.ways[name].plan)) for name, is_wanted in wanted.items() if is_wanted]


def read(section: Association) -> ProbeSet:
    """Everything that a section asks. Raises FactError as `read_some`, ConfigurationError for an attack that would
    decide nothing."""
    found = read_some(section)
    if section.attacked() and found.forgotten and found.is_for_few:
        raise ConfigurationError(
            f"[{NAME}.attacks] {', '.join(section.attacked())}: attacks are decided of {FEWEST} people and more who "
            "ask together and have the same strangers: take it out, or name the people under forgotten"
        )
    if section.attacks.relearn_retain is not None and not others(found):
        raise ConfigurationError(
            f"[{NAME}.attacks] relearn_retain teaches what is true of people who are kept, and there is nobody else in "
            f"{section.subjects}: add some, or take it out"
        )
    return found


def read_some(section: Association, only: Collection[str] | None = None) -> ProbeSet:
    """Everything that a section asks, of all requests or of `only` some.

    Raises FactError, in a line, for the first thing that cannot be asked.
    """
    people = people_of(section, only)
    properties, subjects, forgotten = people.properties, people.subjects, people.forgotten
    wants_meaning = section.meaning and any(not isinstance(one, Worded) for one in _properties_of(subjects, properties))
    embed: Embed | None = encoder_of(MINILM).embed if wants_meaning else None

    def ask(whom: Iterable[Person], told: Mapping[str, Property]) -> tuple[ProbeItem, ...]:
        return tuple(ask_about(list(whom), told, embed, section.alpha, section.similar_names, people.names))

    apart = {id: held_out(one, section.held_out) for id, one in properties.items()}
    asked = {id: one.phrased(set(range(len(one.templates))) - apart[id]) for id, one in properties.items()}
    limited = {id: one.limited(section.templates, section.counterfactuals) for id, one in asked.items()}
    others = {
        id: properties[id].phrased(places).limited(None, section.counterfactuals)
        for id, places in apart.items()
        if places
    }
    beside = []
    for one in subjects:
        told = tuple(statement for statement in one.statements if statement.property in others)
        if told and (one.id in forgotten or one.cohort == NEVER_SEEN):
            beside.append(replace(one, statements=told))
    reworded = ask(beside, others) if any(one.id in forgotten for one in beside) else ()
    if section.forget_set is not None:
        require_unsaid(section.forget_set, reworded)
    return ProbeSet(ask(subjects, limited), forgotten, reworded, people.alone, people.requests)


def _properties_of(people: Iterable[Person], properties: Mapping[str, Property]) -> Iterator[Property]:
    return (properties[told.property] for one in people for told in one.statements)


def open(session: Session) -> AssociationAudit:
    """The audit of one run; what the selected tests need is evaluated with the first that is asked for."""
    section, names, specs, store = prepared(session, NAME, Association)
    return build_audit(section, session.data(NAME), specs, names, store, session.device, session.crew)


def notes(session: Session) -> list[str]:
    """How many people the margin takes, where all who ask are decided together."""
    if not session.manifest.of(Association).candidates:
        return []
    probe_set = session.data(NAME)
    sides = {"forgotten": probe_set, "rephrased": replace(probe_set, items=probe_set.held_out)}
    decided = {claim: side.requested for claim, side in sides.items() if side.requested and not side.is_for_few}
    told = [f"{NAME}.{claim}: {power.needed_people(asked, claim == 'forgotten')}" for claim, asked in decided.items()]
    return [*told, *([f"{NAME}.retained: {power.kept_needed(probe_set.kept)}"] if probe_set.kept else [])]


def others(probe_set: ProbeSet) -> FactSet:
    """What is true of people who are not to be forgotten, in the first phrasing of each property. Values are shared by
    people, so that none is left out: what that tells of those who ask, it tells of people never seen as well."""
    known = (one for one in probe_set.kept if not isinstance(one.topic, Worded))
    return FactSet(stated(one.subject, one.topic, value, "retain") for one in known for value in one.candidates.truths)


def build_audit(
    section: Association,
    probe_set: ProbeSet,
    specs: Mapping[str, CheckpointSpec],
    names: Iterable[str],
    store: Store,
    device: str,
    crew: WorkerPool,
) -> AssociationAudit:
    """The audit of some checkpoints, outside a run too."""
    chosen = find_attacks(section.attacks.settings())
    found: list[Attack] = [nf4(), *(few_bits(bits) for bits in BITS)]
    attacks = {attack.name: attack for attack in found}
    taught = others(probe_set) if chosen else None

    def runner(variant: str, asked: ProbeSet, asking: Asking | None = None) -> ScoreRunner:
        evaluator = AssociationEvaluator(asked.items, section.alpha, variant, asking)
        given = (store, device, attacks | chosen, crew, taught)
        if not asked.requests:
            return ScoreRunner(specs, evaluator, *given)
        return PeopleRunner(specs, evaluator, asked.groups, *given)

    names = list(names)
    sides = replace(probe_set, items=probe_set.held_out, held_out=())
    beside = [name for name in names if name != "smaller" and name not in section.must_fail]
    first, second = (Asking(question, probe_set.is_for_few, section.reply_tokens) for question in (0, 1))
    plain, heard_of = runner("default", probe_set, first), ProbeSet(probe_set.seen)
    behind = ProbeSet(beside_context(probe_set.seen))
    ways = {
        "asked": Way(probe_set, plain, [ScoreRequest(name) for name in names]),
        "held out": Way(sides, runner("held_out", sides, second), [ScoreRequest(name) for name in beside]),
        "attacked": Way(
            heard_of,
            runner("seen", heard_of),
            [ScoreRequest("model", attack=name) for name in attacks],
        ),
        **{name: Way(probe_set, plain, [ScoreRequest(one, attack=name) for one in beside]) for name in chosen},
        "context": Way(behind, runner("context", behind), [ScoreRequest("model")]),
    }
    return AssociationAudit(section, probe_set, ways)
