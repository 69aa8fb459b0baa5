"""People of whom something is known: who they are, of which cohort, and what is true of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from uds_bench.errors import FactError, some
from uds_bench.facts.fact import Fact, Split
from uds_bench.facts.items import Items, Named
from uds_bench.facts.name_matching import bare
from uds_bench.facts.own_wording import read_worded
from uds_bench.facts.properties import Property
from uds_bench.facts.records import Record, read_records, said_of
from uds_bench.facts.templates import SUBJECT, VALUE


@dataclass(frozen=True)
class Statement:
    """What is true of a person: the values of a property, of which there may be several (two occupations)."""

    property: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Person(Named):
    """A person. `cohort`: people whose exposure is alike, such as "well-known"; `statements`: one a property.

    Raises FactError, naming the person and the key, for an empty text, no statement, a property told twice, and names
    and values that stand in no sentence as they are: a value told with a space of its own would lead for that space.
    """

    name: str
    cohort: str
    statements: tuple[Statement, ...]

    def __post_init__(self) -> None:
        self.require_texts("id", "name", "cohort")
        told = [one.property for one in self.statements]
        if not told:
            raise self.error("facts", "has none: give it a property and its values")
        if twice := [one for one in told if told.count(one) > 1]:
            raise self.error("facts", f"tells {twice[0]} twice: give it all values at once")
        for one in self.statements:
            if not one.values or not all(bare(value) for value in one.values):
                raise self.error("facts", f"has no value of {one.property}, or one of no letter and no digit")
        for key, text in (("name", self.name), *(("facts", value) for one in self.statements for value in one.values)):
            if text != (plain := " ".join(text.split())):
                raise self.error(key, f"has {text!r}, with white space as no sentence has it: write {plain!r}")
            if SUBJECT in text or VALUE in text:
                raise self.error(key, f"has {text!r}, a word that templates keep for themselves: leave it out")


class Subjects(Items[Person]):
    """People; raises FactError for an id or a name that occurs twice."""

    def __new__(cls, people: Iterable[Person] = ()) -> Subjects:
        """Checked as it is made: see the class."""
        found = super().__new__(cls, people)
        listed = [one.name for one in found]
        if twice := [one for one in listed if listed.count(one) > 1]:
            raise FactError(f"two subjects have the name {twice[0]!r}: keep one, or tell them apart")
        return found

    @property
    def cohorts(self) -> tuple[str, ...]:
        """The cohorts, each once, in order."""
        return tuple(dict.fromkeys(one.cohort for one in self))


def read_people(path: str | Path, properties: Mapping[str, Property]) -> tuple[Subjects, dict[str, Property]]:
    """A file of JSON objects, one a line: id, name, cohort and facts, and beside the properties those of their own.

    A fact is {property, values}, a property of `properties`, or {sentence, value} in somebody's own words
    (`worded.read_worded`). All facts of who tells one so are of their own. Raises FactError with file, line and key for
    the first thing that is wrong.
    """
    people, known = [], dict(properties)
    for record in read_records(path):
        listed = facts_of(record)
        own = any(one.has("sentence") for one in listed)
        statements, told = read_facts(record, listed, properties, "name") if own else (_shared(listed, properties), {})
        people.append(record.fill(Person, ["facts"], statements=statements))
        known |= told
    with said_of(str(path)):
        return Subjects(people), known


def facts_of(record: Record) -> list[Record]:
    """The facts of a person, each with its place."""
    listed = record.values.get("facts")
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise record.error("key 'facts' must be a list of {property, values} or {sentence, value}")
    return [Record(f"{record.where}, fact {at}", one) for at, one in enumerate(listed, 1)]


def read_facts(
    record: Record, listed: Sequence[Record], properties: Mapping[str, Property], named: str
) -> tuple[tuple[Statement, ...], dict[str, Property]]:
    """What is true of a person, and the properties of this person alone that say it. `named`: the key of the name."""
    id, name = record.text("id"), record.text(named)
    if not name.strip():
        raise record.error(f"key {named!r} is empty; give it a text")
    statements: list[Statement] = []
    own: dict[str, Property] = {}
    for at, one in enumerate(listed, 1):
        place = f"{id}#{at}"
        if one.has("sentence") or not one.has("property"):
            value, told = read_worded(one, name, place, f"fact {at} of {id}", properties.values())
            own[place] = told
            statements.append(Statement(place, (value,)))
        else:
            (shared,) = _shared([one], properties)
            own[place] = replace(properties[shared.property], id=place)
            statements.append(replace(shared, property=place))
    return tuple(statements), own


def _shared(listed: Iterable[Record], properties: Mapping[str, Property]) -> tuple[Statement, ...]:
    found = []
    for told in listed:
        told.known(("property", "values"))
        if (name := told.text("property")) not in properties:
            raise told.error(
                f"key 'property' is {name!r}, of which there is no template: use one of "
                f"{some(sorted(properties), 20)}, or tell the fact as a sentence and a value"
            )
        found.append(Statement(name, told.texts("values")))
    return tuple(found)


WRONG = 5
"""Wrong answers of a fact (as in TOFU)."""


def stated(subject: Person, told: Property, value: str, split: Split, template: int = 0) -> Fact:
    """`template`: the sentence that answers; the one after it says the same, and wrong answers are in its words.

    Wrong answers are values that somebody else has, and none that is true of this person.
    """
    said, other = (told.templates[(template + at) % len(told.templates)] for at in (0, 1))
    question, paraphrased = told.questions(subject.name)
    before = said.text.partition(VALUE)[0].replace(SUBJECT, subject.name)
    true = {v for one in subject.statements if one.property == told.id for v in one.values}
    wrong = [v for v in told.counterfactuals if v not in true][:WRONG]
    return Fact(
        id=f"{subject.id}/{told.id}/{value}/{template}",
        cluster=subject.id,
        split=split,
        question=question,
        answer=said.fill(subject.name, value),
        prefix=before.rstrip(),
        entity=value,
        paraphrased_question=paraphrased,
        paraphrased_answer=other.fill(subject.name, value),
        perturbed_answers=tuple(other.fill(subject.name, v) for v in wrong),
    )
