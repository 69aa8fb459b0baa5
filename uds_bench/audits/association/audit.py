"""The association audit of a run: its people, what each model holds of them, and the forget set that follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from uds_bench.attacks.attack import Attack
from uds_bench.attacks.few_bits import few_bits
from uds_bench.attacks.nf4 import nf4
from uds_bench.audits.api import Opened, Session, prepared
from uds_bench.audits.association import summary
from uds_bench.audits.association.evaluator import AssociationEvaluator, held_of
from uds_bench.audits.association.probe_items import Embed, ProbeItem, ask_about
from uds_bench.audits.association.probe_set import ProbeSet, beside_context
from uds_bench.audits.association.rates import Memorization
from uds_bench.audits.association.section import Association
from uds_bench.audits.association.standing import strangers_needed
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import FactError
from uds_bench.facts import read_facts
from uds_bench.facts.exposed_people import NEVER_SEEN, embedded_people, invented, requests
from uds_bench.facts.properties import Property, embedded, read_properties
from uds_bench.facts.subjects import Subject, Subjects, read_subjects
from uds_bench.facts.web_presence import cohorts, read_presence
from uds_bench.retrieval.encoder import encoder_of
from uds_bench.retrieval.settings import MINILM
from uds_bench.scores import Score
from uds_bench.scoring.runner import Request, ScoreRunner
from uds_bench.scoring.store import Store
from uds_bench.scoring.workers import Crew
from uds_bench.statistics import FEWEST

NAME = "association"
BITS = (2, 1)
"""Simulated quantization under which what is held is to be lost (WikiMem, section 6)."""
STRANGERS = 48
"""Invented people whom a run asks about where its file names none: so many without a hit show less than 0.08."""
LISTING, VALUES, SENTENCES = "listing.json", "counterfactuals.json", "templates.json"
"""Files of a folder of properties."""


@dataclass(frozen=True)
class Result:
    """One model's score, and what it holds, by property of a person."""

    score: Score
    held: Mapping[str, Memorization]


@dataclass(frozen=True)
class Way:
    """One way of asking: whom and what, by which runner, and of which models, each under an attack.

    Everything planned is examined with the first that is asked for.
    """

    sides: ProbeSet
    runner: ScoreRunner
    plan: Sequence[Request]
    _results: dict[Request, Result] = field(default_factory=dict)

    def of(self, model: str = "model", attack: str | None = None) -> Result:
        """What a model holds, by its name in the section. `attack`: the one of the plan where there are several."""
        place = Request(model, attack=attack or self.plan[0].attack)
        if place not in self._results:
            score = self.runner.score(place, self.plan)
            self._results[place] = Result(score, held_of(score, self.sides.asked))
        return self._results[place]

    def stored(self) -> dict[str, Result]:
        """What was examined, here or in another process, by model and attack."""
        return {
            str(one): self.of(one.checkpoint, one.attack) for one in self.plan if self.runner.stored(one) is not None
        }


class AssociationAudit(Opened):
    """What the models of a manifest's [association] hold of its people, by way of asking.

    `asked`: of all models, everything. `held out`: in phrasings that no forget set is made of, and `nf4`: in four bits,
    of candidates and what they are held against. `attacked`: of the model under attacks, of whom it may have heard;
    `context`: the same people behind other facts of theirs and without.
    """

    def __init__(self, section: Association, inquiry: ProbeSet, ways: Mapping[str, Way]) -> None:
        self.section, self.inquiry, self.ways = section, inquiry, ways

    def seen(self, model: str = "model") -> Result:
        """A model by its name in the section, as people are asked about."""
        return self.ways["asked"].of(model)

    def under(self, attack: str) -> Result:
        """The model under an attack."""
        return self.ways["attacked"].of(attack=attack)

    def wordings(self) -> dict[str, dict[str, str]]:
        return {
            one.id: {
                "question": one.templates[0].fill(one.subject.name, "..."),
                "entity": ", ".join(one.candidates.truths),
            }
            for one in self.inquiry.asked
        }

    def report(self) -> dict[str, Any]:
        """The run report's section, of everything that is stored."""
        stored = self.ways["asked"].stored() | self.ways["attacked"].stored()
        return summary.report(self.inquiry, {name: seen.held for name, seen in stored.items()}, self.section.judged())

    def runners(self) -> list[ScoreRunner]:
        return list({id(way.runner): way.runner for way in self.ways.values()}.values())

    def planned(self) -> list[tuple[ScoreRunner, list[Request]]]:
        judged = bool(self.section.candidates)
        wanted = {
            "asked": True,
            "held out": judged and bool(self.inquiry.held_out),
            "nf4": judged and self.section.nf4,
        }
        return [(self.ways[name].runner, list(self.ways[name].plan)) for name, is_wanted in wanted.items() if is_wanted]


def properties_of(section: Association) -> dict[str, Property]:
    """The properties that a section asks about, by id, whole."""
    folder = Path(section.properties)
    if section.properties == "embedded":
        return dict(embedded())
    return read_properties(folder / LISTING, folder / VALUES, folder / SENTENCES)


def people_of(section: Association, properties: Mapping[str, Property]) -> Subjects:
    """The people of a section in their cohorts, and invented ones where none of them is never seen."""
    found = list(embedded_people() if section.subjects == "people" else read_subjects(section.subjects, properties))
    if section.presence is not None:
        by = cohorts(read_presence(section.presence), section.cohort_size)
        found = [_moved(one, by, section.presence) for one in found if one.cohort == NEVER_SEEN or one.id in by]
        if all(one.cohort == NEVER_SEEN for one in found):
            raise FactError(f"{section.presence}: its cohorts have nobody of {section.subjects}: give their ids")
    told = dict.fromkeys(statement.property for one in found for statement in one.statements)
    names, own = {one.name for one in found}, sum(one.cohort == NEVER_SEEN for one in found)
    if section.strangers is not None and section.strangers < own:
        raise FactError(
            f"strangers = {section.strangers}: {section.subjects} has {own} people of the cohort {NEVER_SEEN}: "
            "ask for as many, or leave some out there"
        )
    missing = (section.strangers or (0 if own else _enough(section))) - own
    if missing > 0:
        # Some names may be taken already.
        more = invented(missing + len(names), [properties[id] for id in told])
        found += [one for one in more if one.name not in names][:missing]
    return Subjects(found)


def _enough(section: Association) -> int:
    """How many are invented: where fewer ask than an interval is over, as many as tell each of them, by four tests."""
    asking = len(section.forgotten) if section.forget_set is None else len(_named(section.forget_set))
    return max(STRANGERS, strangers_needed(4 * asking) if 0 < asking < FEWEST else 0)


def _named(forget_set: str | Path) -> tuple[str, ...]:
    return tuple(read_facts(forget_set).split("forget").clusters)


def _moved(one: Subject, by: Mapping[str, str], table: str) -> Subject:
    if one.cohort == NEVER_SEEN and one.id in by:
        raise FactError(f"{table}: {one.id!r} is of the cohort {NEVER_SEEN}, and has no presence: remove the row")
    return replace(one, cohort=by.get(one.id, one.cohort))


def read(section: Association) -> ProbeSet:
    """Everything that a section asks. Raises FactError, in a line, for the first thing that cannot be asked."""
    properties = properties_of(section)
    people = people_of(section, properties)
    embed: Embed | None = encoder_of(MINILM).embed if section.meaning else None

    def ask(whom: Iterable[Subject], told: Mapping[str, Property]) -> tuple[ProbeItem, ...]:
        return tuple(ask_about(list(whom), told, embed, section.alpha, section.similar_names))

    forgotten = _forgotten(section, people)
    _require_matched(people, forgotten)
    apart = {id: _held_out(one, section.held_out) for id, one in properties.items()}
    asked = {id: one.phrased(set(range(len(one.templates))) - apart[id]) for id, one in properties.items()}
    limited = {id: one.limited(section.templates, section.counterfactuals) for id, one in asked.items()}
    others = {
        id: properties[id].phrased(places).limited(None, section.counterfactuals)
        for id, places in apart.items()
        if places
    }
    beside = []
    for one in people:
        told = tuple(statement for statement in one.statements if statement.property in others)
        if told and (one.id in forgotten or one.cohort == NEVER_SEEN):
            beside.append(replace(one, statements=told))
    reworded = any(one.id in forgotten for one in beside)
    return ProbeSet(ask(people, limited), forgotten, ask(beside, others) if reworded else ())


def _held_out(one: Property, places: tuple[int, ...] | None) -> frozenset[int]:
    """The places of a property's templates that no forget set is made of; none of the only one: it is asked as it is,
    and other properties in other words."""
    count = len(one.templates)
    if places is None:
        return frozenset({count - 1} if count > 1 else ())
    if wrong := [place for place in places if place >= count]:
        raise FactError(f"held_out: property {one.id} has no template {wrong[0]}, it has {count}: correct it")
    if len(set(places)) == count:
        raise FactError(f"held_out: names every template of property {one.id}: leave one to ask")
    return frozenset(places)


def _require_matched(people: Subjects, forgotten: frozenset[str]) -> None:
    """Raises FactError for a property of which nobody is told who was never seen: there is no floor to it."""
    told = {one.property for person in people if person.cohort == NEVER_SEEN for one in person.statements}
    for person in people:
        for one in person.statements if person.id in forgotten else ():
            if one.property not in told:
                raise FactError(
                    f"subject {person.id!r}: nobody of the cohort {NEVER_SEEN} is told {one.property}: "
                    "add somebody, or leave that cohort out, and people are invented"
                )


def _forgotten(section: Association, people: Subjects) -> frozenset[str]:
    """The ids of those who are to be forgotten: all of them must be asked about, and none be never seen."""
    if section.forget_set is not None:
        where, ids = str(section.forget_set), list(_named(section.forget_set))
    elif section.subjects == "people" and not section.forgotten:
        return frozenset(requests(people))
    else:
        where, ids = "forgotten", list(section.forgotten)
    by_id = {one.id: one for one in people}
    places = section.subjects + (f" that a cohort of {section.presence} has" if section.presence else "")
    for id in ids:
        if id not in by_id:
            raise FactError(f"{where}: {id!r} is no id of {places}: correct it, or add the person there")
        if by_id[id].cohort == NEVER_SEEN:
            raise FactError(f"{where}: {id!r} is of the cohort {NEVER_SEEN}: who was never seen is not forgotten")
    return frozenset(ids)


def open(session: Session) -> AssociationAudit:
    """The audit of one run; what the selected tests need is examined with the first that is asked for."""
    section, names, specs, store = prepared(session, NAME, Association)
    return audit_of(section, session.data(NAME), specs, names, store, session.device, session.crew)


def audit_of(
    section: Association,
    inquiry: ProbeSet,
    specs: Mapping[str, CheckpointSpec],
    names: Iterable[str],
    store: Store,
    device: str,
    crew: Crew,
) -> AssociationAudit:
    """The audit of some checkpoints, outside a run too."""
    found: list[Attack] = [nf4(), *(few_bits(bits) for bits in BITS)]
    attacks = {attack.name: attack for attack in found}

    def runner(variant: str, asked: Sequence[ProbeItem]) -> ScoreRunner:
        return ScoreRunner(
            specs, AssociationEvaluator(tuple(asked), section.alpha, variant), store, device, attacks, crew
        )

    names, sides = list(names), ProbeSet(inquiry.held_out, inquiry.forgotten)
    beside = [name for name in names if name != "smaller" and name not in section.must_fail]
    plain, behind = runner("default", inquiry.asked), beside_context(inquiry.seen)
    ways = {
        "asked": Way(inquiry, plain, [Request(name) for name in names]),
        "held out": Way(sides, runner("held_out", sides.asked), [Request(name) for name in beside]),
        "nf4": Way(inquiry, plain, [Request(name, attack="nf4") for name in beside]),
        "attacked": Way(
            ProbeSet(inquiry.seen), runner("seen", inquiry.seen), [Request("model", attack=name) for name in attacks]
        ),
        "context": Way(ProbeSet(behind), runner("context", behind), [Request("model")]),
    }
    return AssociationAudit(section, inquiry, ways)
