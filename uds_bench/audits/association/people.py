"""The people that an [association] asks about: known people, those who ask to be forgotten, and strangers beside
them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from uds_bench.audits.association.exact_rank import strangers_needed
from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.probe_set import OF_REQUEST
from uds_bench.audits.association.section import Association
from uds_bench.errors import FactError
from uds_bench.facts import read_facts
from uds_bench.facts.exposed_people import NEVER_SEEN, embedded_people, invented, requests
from uds_bench.facts.items import Items
from uds_bench.facts.own_wording import Worded
from uds_bench.facts.properties import Property, embedded, read_properties
from uds_bench.facts.requests import read_requests
from uds_bench.facts.scripts import script_of
from uds_bench.facts.stock_names import names_like, read_names
from uds_bench.facts.subjects import Person, read_people
from uds_bench.facts.web_presence import cohorts, read_presence
from uds_bench.statistics import FEWEST

STRANGERS = 48
"""Number of invented people if the file names no strangers: so many without a hit show a rate below 0.08."""
HELD_OUT = 3
"""Number of phrasings of a property that no forget set uses, if the section does not name them. The luck of a single
one would make a fact all or nothing."""
LISTING, VALUES, SENTENCES = "listing.json", "counterfactuals.json", "templates.json"
"""Files of a folder of properties."""


@dataclass(frozen=True)
class People:
    """`properties`: by id, also those of one person alone. `forgotten`: the ids of those who are to be forgotten.
    `alone`: those of them who have strangers of their own. `requests`: those who asked by a request. `names`:
    strangers' names that the section lists."""

    subjects: Items[Person]
    properties: Mapping[str, Property]
    forgotten: frozenset[str]
    alone: frozenset[str]
    requests: frozenset[str]
    names: tuple[str, ...] = ()


def properties_of(section: Association) -> dict[str, Property]:
    """The properties that a section asks about, by id, whole."""
    folder = Path(section.properties)
    if section.properties == "embedded":
        return dict(embedded())
    return read_properties(folder / LISTING, folder / VALUES, folder / SENTENCES)


def people_of(section: Association, only: Collection[str] | None = None) -> People:
    """The people of a section in their cohorts, and strangers. Strangers are invented if too few people were never
    seen. Each person to be forgotten who has facts of their own gets strangers with the same facts. `only`: the ids of
    the requests to read.

    Raises FactError, in one line, for the first thing that is wrong.
    """
    shared = properties_of(section)
    found, known = _listed(section, shared)
    asked = read_requests(section.requests, shared) if section.requests is not None else ()
    asked = Items(one for one in asked if only is None or one.id in only)
    own = {id: one for request in asked for id, one in request.own.items()}
    known = {**known, **own}
    listed = {one.name: one.id for one in found}
    for one in asked:
        if one.subject.name in listed:
            known_as = listed[one.subject.name]
            raise FactError(
                f"{section.requests}: {one.id!r} has the name of {known_as!r} of {section.subjects}: keep one"
            )
    people = Items([*found, *(one.subject for one in asked)])
    names = read_names(section.names) if section.names is not None else ()
    unknown = _invented(section, people, shared)
    forgotten = _forgotten(section, [*people, *unknown]) | {one.id for one in asked}
    alone = [one for one in people if one.id in forgotten and one.statements[0].property not in shared]
    taken = {one.name for one in people}
    strangers = [other for one in alone for other in _matched(one, section.strangers, known, taken, names)]
    everybody = Items([*people, *unknown, *strangers])
    _require_matched(everybody, forgotten)
    ids, requests = (frozenset(one.id for one in some) for some in (alone, asked))
    return People(everybody, known, forgotten, ids, requests, names)


def held_out(one: Property, places: tuple[int, ...] | None) -> frozenset[int]:
    """The places of a property's templates that no forget set uses.

    A property with a single template has none: it is asked as it is, and other properties in other words. A fact in own
    words has one, the last: each more would add rank tests of the person.

    Args:
        one: The property, or a fact in own words.
        places: From 0, as the manifest names them. Where it names none: the last `HELD_OUT`, and half of few. They
            speak of properties alone.

    Returns:
        Places, each below the number of templates.

    Raises:
        FactError: A place has no template, or none would be left to ask.

    Example:
        >>> from types import SimpleNamespace
        >>> job = SimpleNamespace(id="P106", templates=("a", "b", "c", "d"))
        >>> sorted(held_out(job, None)), sorted(held_out(job, (0, 1)))
        ([2, 3], [0, 1])
    """
    count = len(one.templates)
    if places is None or isinstance(one, Worded):
        most = 1 if isinstance(one, Worded) else HELD_OUT
        return frozenset(range(count)[count - min(most, count // 2) :])
    if wrong := [place for place in places if place >= count]:
        raise FactError(f"held_out: property {one.id} has no template {wrong[0]}, it has {count}: correct it")
    if len(set(places)) == count:
        raise FactError(f"held_out: names every template of property {one.id}: leave one to ask")
    return frozenset(places)


def require_unsaid(forget_set: str | Path, held_out: Sequence[ProbeItem]) -> None:
    """Raises FactError for a fact of a forget set that is told in a phrasing held out: unlearning has seen that one."""
    said = {
        text: fact.id
        for fact in read_facts(forget_set).split("forget")
        for text in (fact.answer, fact.paraphrased_answer)
    }
    for one in held_out:
        for at, template in enumerate(one.templates):
            for value in one.candidates.truths:
                if id := said.get(template.fill(one.subject.name, value)):
                    raise FactError(
                        f"{forget_set}: fact {id!r} says {one.topic.id} in phrasing {at} of those held out, "
                        f"{template.text!r}: make the forget set anew, or hold others out under [association] held_out"
                    )


def _listed(section: Association, shared: Mapping[str, Property]) -> tuple[list[Person], Mapping[str, Property]]:
    """Those of the section's file, or built in, and the properties that they are told."""
    if section.subjects == "people":
        return ([] if section.requests is not None else list(embedded_people())), shared
    people, known = read_people(section.subjects, shared)
    found = list(people)
    if section.presence is not None:
        by = cohorts(read_presence(section.presence), section.cohort_size)
        found = [_moved(one, by, section.presence) for one in found if one.cohort == NEVER_SEEN or one.id in by]
        if all(one.cohort == NEVER_SEEN for one in found):
            raise FactError(f"{section.presence}: its cohorts have nobody of {section.subjects}: give their ids")
    return found, known


def _moved(one: Person, by: Mapping[str, str], table: str) -> Person:
    if one.cohort == NEVER_SEEN and one.id in by:
        raise FactError(f"{table}: {one.id!r} is of the cohort {NEVER_SEEN}, and has no presence: remove the row")
    return replace(one, cohort=by.get(one.id, one.cohort))


def _invented(section: Association, people: Sequence[Person], shared: Mapping[str, Property]) -> list[Person]:
    """Invented strangers with the properties that people share, as many as the file lacks."""
    told = dict.fromkeys(one.property for person in people for one in person.statements if one.property in shared)
    names, own = {one.name for one in people}, sum(one.cohort == NEVER_SEEN for one in people)
    if section.strangers is not None and section.strangers < own:
        raise FactError(
            f"strangers = {section.strangers}: {section.subjects} has {own} people of the cohort {NEVER_SEEN}: "
            "ask for as many, or leave some out there"
        )
    missing = (section.strangers or (0 if own else _enough(section))) - own
    if missing <= 0 or not told:
        return []
    # Some names may be taken already.
    more = invented(missing + len(names), [shared[id] for id in told])
    return [one for one in more if one.name not in names][:missing]


def _enough(section: Association) -> int:
    """How many strangers are invented. If so few people ask that no interval decides, there are enough to tell each of
    them by four tests."""
    asking = len(section.forgotten) if section.forget_set is None else len(_named(section.forget_set))
    return max(STRANGERS, strangers_needed(4 * asking) if 0 < asking < FEWEST else 0)


def _matched(
    one: Person, count: int | None, known: Mapping[str, Property], taken: Collection[str], names: Sequence[str]
) -> list[Person]:
    """Strangers to one person: names of the same script, with the same facts.

    To a model that never heard of the person, the name is one among theirs. So a rank test of it is exact, whatever the
    value and the language are. `count`: how many; None means as many as tell one person from them.
    """
    ways = 1 + any(held_out(known[told.property], None) for told in one.statements)
    needed = count or strangers_needed(2 * ways)
    found = [name for name in names_like(one.name, needed + len(taken), names) if name not in taken][:needed]
    if len(found) < needed:
        script = script_of(one.name).lower() or "no script"
        raise FactError(
            f"{one.id!r}: {len(found)} strangers' names of the shape of this one in {script} are known, and the test "
            f"takes {needed}: list more, one a line, in a file under [association] names"
        )
    ids = (f"{one.id}{OF_REQUEST}{at:03}" for at in range(needed))
    return [replace(one, id=id, name=name, cohort=NEVER_SEEN) for id, name in zip(ids, found, strict=True)]


def _require_matched(people: Sequence[Person], forgotten: Collection[str]) -> None:
    """Raises FactError if a person to be forgotten has a property that nobody never seen has: it has no floor."""
    told = {one.property for person in people if person.cohort == NEVER_SEEN for one in person.statements}
    for person in people:
        for one in person.statements if person.id in forgotten else ():
            if one.property not in told:
                raise FactError(
                    f"subject {person.id!r}: nobody of the cohort {NEVER_SEEN} is told {one.property}: "
                    "add somebody, or leave that cohort out, and people are invented"
                )


def _named(forget_set: str | Path) -> tuple[str, ...]:
    return tuple(read_facts(forget_set).split("forget").clusters)


def _forgotten(section: Association, people: Sequence[Person]) -> frozenset[str]:
    """The ids of those who are to be forgotten: all of them must be asked about, and none be never seen."""
    if section.forget_set is not None:
        where, ids = str(section.forget_set), list(_named(section.forget_set))
    elif section.subjects == "people" and section.requests is None and not section.forgotten:
        return frozenset(requests(people))
    else:
        where, ids = "forgotten", list(section.forgotten)
    by_id = {one.id: one for one in people}
    places = section.subjects + (f" that a cohort of {section.presence} has" if section.presence else "")
    places += f" or {section.requests}" if section.requests else ""
    for id in ids:
        if id not in by_id:
            raise FactError(f"{where}: {id!r} is no id of {places}: correct it, or add the person there")
        if by_id[id].cohort == NEVER_SEEN:
            raise FactError(f"{where}: {id!r} is of the cohort {NEVER_SEEN}: who was never seen is not forgotten")
    return frozenset(ids)
