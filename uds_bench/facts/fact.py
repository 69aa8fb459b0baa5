"""A fact: one question and answer with the entity that is scored, and the cluster that it belongs to."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from uds_bench.errors import FactError, did_you_mean
from uds_bench.facts.chat import DATE, require_date
from uds_bench.facts.items import Items, Named
from uds_bench.facts.records import read_records
from uds_bench.storage import write_rows

Split = Literal["forget", "retain", "holdout", "real_authors", "world_facts"]
SPLITS: tuple[Split, ...] = ("forget", "retain", "holdout")
WORLD: tuple[Split, ...] = ("real_authors", "world_facts")
"""What any model may know, forgotten or not: TOFU asks it beside the retained, to see what else broke."""
EVERY_SPLIT = (*SPLITS, *WORLD)


NO_SPAN = "not in the annotations"
"""The doubt about an entity that nobody marked while others are: the fact is scored by its answer alone."""


@dataclass(frozen=True)
class Fact(Named):
    """One question and answer; `answer` starts with `prefix`, and `entity` occurs at or after its end.

    `cluster` is the unit that intervals resample (the author). `prefix` may be empty. The optional fields
    serve single metrics: `paraphrased_question` asks the same, `paraphrased_answer` says the same, and
    `perturbed_answers` say something wrong in the words of the paraphrase. `kind` is the prefix type (UDS
    paper, appendix I), known for the embedded authors only. `doubt` is why an entity that was found by itself may be
    another; it is kept only where that was asked for.

    Raises FactError, naming fact and key, where this does not hold.
    """

    cluster: str
    split: Split
    question: str
    answer: str
    prefix: str
    entity: str
    paraphrased_question: str | None = None
    paraphrased_answer: str | None = None
    perturbed_answers: tuple[str, ...] = ()
    kind: str | None = None
    doubt: str | None = None

    def __post_init__(self) -> None:
        self.require_texts("id", "cluster", "question", "answer", "entity")
        if self.split not in EVERY_SPLIT:
            raise self.error("split", f"is {self.split!r}: {did_you_mean(self.split, EVERY_SPLIT)}")
        if not self.answer.startswith(self.prefix):
            raise self.error("prefix", "does not start the answer; copy it from the answer's beginning")
        if self.answer.find(self.entity, len(self.prefix)) < 0:
            raise self.error("entity", "does not occur in the answer after the prefix; copy it from there")

    @property
    def entity_start(self) -> int:
        """Character of the answer at which the scored occurrence starts: the first at or after the prefix."""
        return self.answer.index(self.entity, len(self.prefix))

    def to_json(self) -> dict[str, Any]:
        """The keys of one line of a facts file; optional ones only where they are set."""
        record = dataclasses.asdict(self)
        return {key: value for key, value in record.items() if value not in (None, ())}


@dataclass(frozen=True)
class Unannotated:
    """A question and answer without an entity that is sure, and why; it is reported, never scored.

    `proposed` is the likeliest entity, where there is one.
    """

    id: str
    question: str
    answer: str
    reason: str
    proposed: str = ""


class FactSet(Items[Fact]):
    """Facts; `unannotated` lists the items of the source that could not become facts. It is not part of the digest.

    `date_string`: the day that chat templates print as today's where these facts are asked.
    """

    unannotated: tuple[Unannotated, ...]
    date_string: str

    def __new__(
        cls, facts: Iterable[Fact] = (), unannotated: Iterable[Unannotated] = (), date_string: str = DATE
    ) -> FactSet:
        """Checked as it is made: see the class."""
        found = super().__new__(cls, facts)
        found.unannotated, found.date_string = tuple(unannotated), require_date(date_string)
        return found

    def __repr__(self) -> str:
        sizes = {name: len(self.split(name)) for name in EVERY_SPLIT}
        counts = ", ".join(f"{size} {name}" for name, size in sizes.items() if size or name in SPLITS)
        return f"FactSet({counts})"

    def split(self, name: Split) -> FactSet:
        """The facts of one split, in order; empty where there are none."""
        if name not in EVERY_SPLIT:
            raise FactError(f"split {name!r} is unknown: {did_you_mean(name, EVERY_SPLIT)}")
        return self.where(lambda fact: fact.split == name)

    def where(self, kept: Callable[[Fact], bool]) -> FactSet:
        """Some of the facts, in order, asked as all are."""
        return FactSet(filter(kept, self), date_string=self.date_string)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The distinct clusters, in order of first appearance."""
        return tuple(dict.fromkeys(fact.cluster for fact in self))

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the canonical JSON of all facts, in order, and of the date where it is not the usual one."""
        records: list[Any] = [fact.to_json() for fact in self]
        if self.date_string != DATE:
            records.append({"date_string": self.date_string})
        text = json.dumps(records, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def require_forget(facts: FactSet, source: str) -> FactSet:
    """`facts` itself, or FactError where nothing in it is to be forgotten."""
    if not any(fact.split == "forget" for fact in facts):
        raise FactError(f"{source}: no fact with split 'forget'; an audit needs at least one")
    return facts


def spanned(facts: FactSet) -> FactSet:
    """The facts to be forgotten that are scored by their entity: all but those with `NO_SPAN`."""
    return facts.where(lambda fact: fact.split == "forget" and fact.doubt != NO_SPAN)


EVIDENCE = "evidence"
"""Why the fact is in the file: an object for readers, which no audit reads."""


def read_facts(path: str | Path) -> FactSet:
    """Read a facts file. Raises FactError with file, line and key for the first thing that is wrong."""
    facts: list[Fact] = []
    places: dict[str, str] = {}
    for record in read_records(path):
        fact = record.fill(Fact, [EVIDENCE])
        if fact.id in places:
            raise record.error(f"key 'id' is {fact.id!r} as in {places[fact.id]}; make every id unique")
        places[fact.id] = record.where
        facts.append(fact)
    return FactSet(facts)


def write_facts(path: str | Path, facts: Iterable[Fact]) -> None:
    """Write a facts file that `read_facts` gives back unchanged."""
    write_rows(Path(path), (fact.to_json() for fact in facts))
