"""The association audit of a run: its people, what each model holds of them, and the forget set that follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from uds_bench.attacks.attack import Attack
from uds_bench.attacks.few_bits import few_bits
from uds_bench.attacks.nf4 import nf4
from uds_bench.audits.api import Opened, Session, prepared
from uds_bench.audits.association import summary
from uds_bench.audits.association.candidates import Embed
from uds_bench.audits.association.evaluator import AssociationEvaluator, held_of
from uds_bench.audits.association.probe_items import ProbeItem, ask_about
from uds_bench.audits.association.probe_set import ProbeSet, beside_context
from uds_bench.audits.association.rates import Memorization
from uds_bench.audits.association.section import Association
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


class AssociationAudit(Opened):
    """What the models of a manifest's [association] hold of its people."""

    def __init__(
        self,
        section: Association,
        inquiry: ProbeSet,
        plain: ScoreRunner,
        attacked: ScoreRunner,
        contextual: ScoreRunner,
        names: Sequence[str] = (),
    ) -> None:
        self.section, self.inquiry, self.names = section, inquiry, list(names)
        self.plain, self.attacked, self.contextual = plain, attacked, contextual
        self._seen: dict[Request, Result] = {}

    def seen(self, model: str = "model") -> Result:
        """A model by its name in the section; everything planned is examined with the first that is asked for."""
        place = Request(model)
        if place not in self._seen:
            score = self.plain.score(place, [Request(name) for name in self.names])
            self._seen[place] = Result(score, held_of(score, self.inquiry.asked))
        return self._seen[place]

    def under(self, attack: str) -> Result:
        """The model under an attack, as far as people are concerned of whom it may have heard."""
        place = Request("model", attack=attack)
        if place not in self._seen:
            plan = [Request("model", attack=name) for name in self.attacked.attacks]
            score = self.attacked.score(place, plan)
            self._seen[place] = Result(score, held_of(score, self.inquiry.seen))
        return self._seen[place]

    @property
    def behind(self) -> tuple[ProbeItem, ...]:
        """What is asked behind other facts of the person."""
        evaluator = self.contextual.evaluator
        assert isinstance(evaluator, AssociationEvaluator)
        return evaluator.asked

    @cached_property
    def in_context(self) -> Score:
        """The model, asked behind other facts of the person and without."""
        return self.contextual.score(Request("model"))

    def report(self) -> dict[str, Any]:
        """The run report's section, of everything that is stored: other processes may have examined it."""
        stored = {name: self.seen(name) for name in self.names if self.plain.stored(Request(name)) is not None}
        for attack in self.attacked.attacks:
            if self.attacked.stored(place := Request("model", attack=attack)) is not None:
                stored[str(place)] = self.under(attack)
        return summary.report(self.inquiry, {name: seen.held for name, seen in stored.items()}, self.section.judged())

    def runners(self) -> list[ScoreRunner]:
        return [self.plain, self.attacked, self.contextual]

    def planned(self) -> list[tuple[ScoreRunner, list[Request]]]:
        return [(self.plain, [Request(name) for name in self.names])]


def properties_of(section: Association) -> dict[str, Property]:
    """The properties that a section asks about, by id, whole."""
    folder = Path(section.properties)
    if section.properties == "embedded":
        return dict(embedded())
    return read_properties(folder / LISTING, folder / VALUES, folder / SENTENCES)


def people_of(section: Association, properties: Mapping[str, Property]) -> Subjects:
    """The people of a section in their cohorts, and invented ones where none of them is never seen."""
    if section.subjects == "people":
        return embedded_people()
    found = list(read_subjects(section.subjects, properties))
    if section.presence is not None:
        by = cohorts(read_presence(section.presence), section.cohort_size)
        found = [_moved(one, by, section.presence) for one in found if one.cohort == NEVER_SEEN or one.id in by]
        if all(one.cohort == NEVER_SEEN for one in found):
            raise FactError(f"{section.presence}: its cohorts have nobody of {section.subjects}: give their ids")
    if all(one.cohort != NEVER_SEEN for one in found):
        told = dict.fromkeys(statement.property for one in found for statement in one.statements)
        names = {one.name for one in found}
        found += [one for one in invented(STRANGERS, [properties[id] for id in told]) if one.name not in names]
    return Subjects(found)


def _moved(one: Subject, by: Mapping[str, str], table: str) -> Subject:
    if one.cohort == NEVER_SEEN and one.id in by:
        raise FactError(f"{table}: {one.id!r} is of the cohort {NEVER_SEEN}, and has no presence: remove the row")
    return replace(one, cohort=by.get(one.id, one.cohort))


def read(section: Association) -> ProbeSet:
    """Everything that a section asks. Raises FactError, in a line, for the first thing that cannot be asked."""
    properties = properties_of(section)
    people = people_of(section, properties)
    limited = {id: one.limited(section.templates, section.counterfactuals) for id, one in properties.items()}
    embed: Embed | None = encoder_of(MINILM).embed if section.meaning else None
    asked = ask_about(people, limited, embed, section.alpha, section.similar_names)
    return ProbeSet(tuple(asked), _forgotten(section, people))


def _forgotten(section: Association, people: Subjects) -> frozenset[str]:
    """The ids of those who are to be forgotten: all of them must be asked about, and none be never seen."""
    if section.forget_set is not None:
        where, ids = section.forget_set, list(read_facts(section.forget_set).split("forget").clusters)
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
    plain, attacked, contextual = (
        ScoreRunner(specs, AssociationEvaluator(asked, section.alpha), store, device, attacks, crew)
        for asked in (inquiry.asked, inquiry.seen, beside_context(inquiry.seen))
    )
    return AssociationAudit(section, inquiry, plain, attacked, contextual, list(names))
