"""Properties of people drawn from a Wikidata dump, with pairs of a person and a value (WikiMem, section 4)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random

from uds_bench.errors import FactError
from uds_bench.facts.templates import SUBJECT, VALUE
from uds_bench.facts.wikidata import Dump, Listed, Value
from uds_bench.storage import write_atomic

SPARE = 3
"""How many times as many values are kept as are asked for: an item may lack an English label, or share it."""
NAMES = 4
"""People kept with each value: the name of one may be taken by another value."""
NO_LABEL = "no value of it has an English label"
NOT_DESCRIBED = "the dump does not describe it in English, or gives it another datatype than its values"
Stage = Callable[[str, int], None]
"""Takes what is being read, and how many bytes of the file have been."""


@dataclass(frozen=True)
class WikidataSample:
    """`people`: humans in the dump; `pairs`: by property, name -> value; `left_out`: why properties of enough humans
    are not among them."""

    people: int
    listed: dict[str, Listed]
    pairs: dict[str, dict[str, str]]
    left_out: dict[str, str]

    def write(self, folder: Path) -> None:
        """Write listing.json, counterfactuals.json and templates.json, which `read_properties` reads, each whole."""
        rows = {id: asdict(one) for id, one in self.listed.items()}
        files = {
            "listing": {id: {key: row[key] for key in row if key != "id"} for id, row in rows.items()},
            "counterfactuals": {
                id: {"human_cfs": [*pairs], "value_cfs": [*pairs.values()]} for id, pairs in self.pairs.items()
            },
            "templates": {id: templates(one.label) for id, one in self.listed.items()},
        }
        for name, content in files.items():
            write_atomic(folder / f"{name}.json", json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n")


def templates(label: str) -> list[str]:
    """The two sentences that any label goes into, the baseline first. The ten paraphrases that the paper has besides,
    written by a model, are the user's to add."""
    return [f"{SUBJECT}'s {label} is {VALUE}.", f"The {label} of {SUBJECT} is {VALUE}."]


class PropertyReservoir:
    """What one property holds while people pass by: how many have it, and a reservoir of pairs.

    Every pair gets a random key. Sorted by it they would be shuffled, and the smallest key of a value is where it would
    first come up; so the `size` values with the smallest keys are the first distinct ones of that shuffle, frequent
    values likelier than rare ones, as in the paper. A value that is thrown out never returns by an old pair, as the
    bound only sinks: nothing else has to be remembered.
    """

    def __init__(self, size: int) -> None:
        self.people = 0
        self._size = size
        self._kept: dict[Value, dict[str, float]] = {}
        self._last: Value | None = None

    def add(self, name: str | None, values: Iterable[Value], random: Random) -> None:
        """One more human, with all that is said of them; without a name they count, and are in no pair."""
        # A dump has each entity once, so that nobody need be remembered to be counted once.
        self.people += 1
        if name is not None:
            for value in values:
                self._offer(value, name, random.random())

    def _offer(self, value: Value, name: str, key: float) -> None:
        names = self._kept.get(value)
        if names is None:
            if len(self._kept) == self._size and self._last is not None:
                if key >= self._first(self._last):
                    return
                del self._kept[self._last]
            self._kept[value] = {name: key}
        else:
            names[name] = min(key, names.get(name, key))
            if len(names) > NAMES:
                del names[max(names, key=names.__getitem__)]
        if names is None or value == self._last:
            self._last = max(self._kept, key=self._first) if len(self._kept) == self._size else None

    def _first(self, value: Value) -> float:
        return min(self._kept[value].values())

    @property
    def entities(self) -> set[str]:
        """The Q-ids whose labels are needed."""
        return {value.entity for value in self._kept if value.entity}

    def pairs(self, count: int, labels: Mapping[str, str]) -> dict[str, str]:
        """Name -> value, both there once, `count` of them where there are so many, in the order of the shuffle.

        Names are told apart among what was kept only: who shares theirs with somebody met before is passed over for the
        next who has the value, and the value itself where all of the few that were kept with it do.
        """
        found: dict[str, str] = {}
        taken: set[str | None] = {None}
        for value, name in self._shuffled():
            text = value.said(labels)
            if text is not None and text not in taken and name not in found and len(found) < count:
                found[name] = text
                taken.add(text)
        return found

    def _shuffled(self) -> Iterator[tuple[Value, str]]:
        keyed = [(key, value, name) for value, names in self._kept.items() for name, key in names.items()]
        return ((value, name) for _, value, name in sorted(keyed))


def draw(dump: Dump, least: int, count: int, seed: int, stage: Stage) -> WikidataSample:
    """The properties that at least `least` humans have, and `count` pairs of each: two passes over the dump.

    A human is whoever has P31 = Q5; statements of deprecated rank, and those without a value or with one that cannot
    be said, do not count. Raises FactError where no human is found or no property is left.
    """
    draws: defaultdict[str, PropertyReservoir] = defaultdict(lambda: PropertyReservoir(SPARE * count))
    described: dict[str, Listed] = {}
    people, random = 0, Random(seed)
    for found in dump.read(partial(stage, "people and properties")):
        if isinstance(found, Listed):
            described[found.id] = found
            continue
        people += 1
        for id, values in found.values.items():
            draws[id].add(found.name, values, random)
    frequent = {id: draws[id] for id in sorted(draws, key=lambda id: (len(id), id)) if draws[id].people >= least}
    if not people:
        raise FactError(f"{dump.path}: no human in it (P31 = Q5): give a dump of all entities")
    if not frequent:
        most = max((one.people for one in draws.values()), default=0)
        raise FactError(
            f"{dump.path}: too few humans: of {people} in it {most} have the most frequent property, and {least} must: "
            "take a larger dump, or ask for fewer (--least)"
        )
    wanted = {id: one for id, one in frequent.items() if id in described}
    needed = {entity for one in wanted.values() for entity in one.entities}
    labels = dump.labels(needed, partial(stage, "labels of values"))
    pairs = {id: got for id, one in wanted.items() if (got := one.pairs(count, labels))}
    left_out = {id: NO_LABEL if id in wanted else NOT_DESCRIBED for id in frequent if id not in pairs}
    if not pairs:
        id, why = next(iter(left_out.items()))
        raise FactError(
            f"{dump.path}: no property is left of {len(frequent)}: {id}: {why}: give a dump of all entities"
        )
    return WikidataSample(people, {id: described[id] for id in pairs}, pairs, left_out)
