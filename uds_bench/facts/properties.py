"""Properties of people: how each is called and said, and what else could be said (WikiMem, section 4).

`properties.toml` holds fifteen, the five that the paper scores among them.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from uds_bench.errors import FactError, did_you_mean
from uds_bench.facts.records import Record, embedded_toml, parse_json, read_text, said_of
from uds_bench.facts.templates import Template

PUBLISHED = ("P106", "P1412", "P19", "P21", "P27")
"""The properties that the paper scores (section 6)."""
Datatype = Literal["wikibase-item", "string", "quantity", "time"]
DATATYPES: tuple[Datatype, ...] = get_args(Datatype)


@dataclass(frozen=True)
class Property:
    """`label`, `description`, `aliases`, `datatype`: as Wikidata has them; `templates`: the first is the baseline, the
    others say the same; `counterfactuals`: values that somebody else has.

    Raises FactError, naming the property and key, where one is missing or a value is there twice.
    """

    id: str
    label: str
    description: str
    aliases: tuple[str, ...]
    datatype: Datatype
    templates: tuple[Template, ...]
    counterfactuals: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.datatype not in DATATYPES:
            raise self._error("datatype", f"is {self.datatype!r}: {did_you_mean(self.datatype, DATATYPES)}")
        for key in ("label", "templates", "counterfactuals"):
            if not getattr(self, key):
                raise self._error(key, "is empty")
        for key in ("templates", "counterfactuals"):
            listed = getattr(self, key)
            if twice := [one for one in listed if listed.count(one) > 1]:
                raise self._error(key, f"has {getattr(twice[0], 'text', twice[0])!r} twice: keep one")
        if not all(value.strip() for value in self.counterfactuals):
            raise self._error("counterfactuals", "has an empty value: remove it")

    def questions(self, name: str) -> tuple[str, str]:
        """What is asked about a person, in two ways."""
        return f"What is {name}'s {self.label}?", f"What is the {self.label} of {name}?"

    def phrased(self, places: Collection[int]) -> Property:
        """With the templates at some places alone, in order."""
        return replace(self, templates=tuple(one for at, one in enumerate(self.templates) if at in places))

    def limited(self, templates: int | None = None, counterfactuals: int | None = None) -> Property:
        """With the first so many templates, and so many counterfactuals, drawn the same every time."""
        others = self.counterfactuals
        if counterfactuals is not None and counterfactuals < len(others):
            drawn = random.Random(f"counterfactuals {self.id}").sample(range(len(others)), counterfactuals)
            others = tuple(others[at] for at in sorted(drawn))
        return replace(self, templates=self.templates[:templates], counterfactuals=others)

    def _error(self, key: str, problem: str) -> FactError:
        return FactError(f"property {self.id}: key {key!r} {problem}")


@cache
def embedded() -> Mapping[str, Property]:
    """Fifteen properties by id, of all four data types."""
    found = embedded_toml("properties.toml")
    return {id: _property(id, *[Record(f"properties.toml, {id}", row)] * 3) for id, row in found.items()}


def read_properties(listing: str | Path, counterfactuals: str | Path, templates: str | Path) -> dict[str, Property]:
    """Properties by id from three JSON files: the published listings {id: {label, description, aliases}} and
    {id: {human_cfs, value_cfs}}, and {id: [sentence, ...]} with HUMAN_SUBJECT and PROTECTED_VALUE.

    A listing without `datatype` is of items; a value that is listed twice counts once. Raises FactError with file,
    property and key for the first thing that is wrong.
    """
    listed, others, said = (_by_id(path) for path in (listing, counterfactuals, templates))
    found = {}
    for id, row in listed.items():
        for path, there in ((counterfactuals, others), (templates, said)):
            if id not in there:
                raise FactError(f"{path}: property {id} of {listing} is not in it: add it, or remove it there")
        values = Record(f"{counterfactuals}, {id}", _object(others[id], f"{counterfactuals}, {id}"))
        found[id] = _property(
            id,
            Record(f"{listing}, {id}", {"datatype": DATATYPES[0], **_object(row, f"{listing}, {id}")}),
            Record(f"{templates}, {id}", {"templates": said[id]}),
            Record(values.where, {"counterfactuals": list(dict.fromkeys(values.texts("value_cfs")))}),
        )
    return found


def _property(id: str, named: Record, said: Record, others: Record) -> Property:
    with said_of(said.where):
        templates = tuple(map(Template, said.texts("templates")))
    label, description, datatype = (named.text(key) for key in ("label", "description", "datatype"))
    aliases, values = named.texts("aliases"), others.texts("counterfactuals")
    try:
        return Property(id, label, description, aliases, datatype, templates, values)  # type: ignore[arg-type]
    except FactError as error:
        to_mend = {"templates": said, "counterfactuals": others}
        raise next((to_mend[key] for key in to_mend if f"key {key!r}" in str(error)), named).error(str(error)) from None


def _by_id(path: str | Path) -> dict[str, Any]:
    return _object(parse_json(read_text(Path(path)), str(path)), str(path))


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FactError(f"{where}: is {type(value).__name__}, and must be an object")
    return value
