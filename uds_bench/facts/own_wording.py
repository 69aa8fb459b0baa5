"""Facts in somebody's own words: sentences of any language with a place for the value, and values like the true one."""

from __future__ import annotations

from collections.abc import Iterable

from uds_bench.facts.name_matching import alike, bare
from uds_bench.facts.properties import Property
from uds_bench.facts.records import Record, said_of
from uds_bench.facts.scripts import values_like
from uds_bench.facts.templates import SUBJECT, VALUE, Template

PLACE = "PROTECTED"
"""Where the value stands in a sentence."""
DRAWN = 100
"""Values that are drawn where a fact has none to be told from, as many as the properties that are built in have."""
KEYS = ("sentence", "phrasings", "value", "counterfactuals")


class Worded(Property):
    """One fact of one person. Its templates are the person's sentences, and its label names nobody."""

    def questions(self, name: str) -> tuple[str, str]:
        """The sentence as far as the value, in whatever language it is; of several the first two."""
        first, *more = (f"{one.opening(name)} …" for one in self.templates)
        return first, (more or [first])[0]


def read_worded(
    record: Record, person: str, id: str, label: str, properties: Iterable[Property] = ()
) -> tuple[str, Worded]:
    """Value and fact of {sentence, value} with `phrasings`, sentences that say the same, and `counterfactuals`.

    Where it has none, those of the first of `properties` that lists the value, else values of its shape.

    Raises FactError with the place of the fact for the first thing that is wrong.
    """
    record.known(KEYS)
    sentences = (record.text("sentence"), *(record.texts("phrasings") if record.has("phrasings") else ()))
    if not bare(value := record.text("value")):
        raise record.error("key 'value' has no letter and no digit: give what is to be forgotten")
    others = record.texts("counterfactuals") if record.has("counterfactuals") else _others(value, properties)
    if not others:
        raise record.error("nothing to tell the value from: give counterfactuals, values that it could be and is not")
    if same := next((one for one in others if alike(one) == alike(value)), None):
        raise record.error(f"counterfactual {same!r} spells what is true: give one that the value could be and is not")
    templates = tuple(_template(record, sentence, person, value) for sentence in sentences)
    with said_of(record.where):
        return value, Worded(id, label, "", (), "string", templates, others)


def _others(value: str, properties: Iterable[Property]) -> tuple[str, ...]:
    """Letters for letters make words that no language has: what is listed beside a value is more like it."""
    listed = next((one.counterfactuals for one in properties if value in one.counterfactuals), None)
    return tuple(one for one in listed if one != value) if listed else values_like(value, DRAWN)


def _template(record: Record, sentence: str, person: str, value: str) -> Template:
    for what, text in (("the person's name", person), (f"the place of the value, {PLACE},", PLACE)):
        if (count := sentence.count(text)) != 1:
            raise record.error(f"a sentence has {what} {count} times: have it once, as it is written under its key")
    if value in sentence.replace(person, "").replace(PLACE, ""):
        raise record.error(f"a sentence tells the value beside {PLACE}: leave it out")
    with said_of(record.where):
        return Template(sentence.replace(person, SUBJECT).replace(PLACE, VALUE))
