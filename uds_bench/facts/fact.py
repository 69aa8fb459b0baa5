"""A fact: one question and answer with the entity that is scored, and the cluster that it belongs to."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args, overload

from uds_bench.errors import FactError
from uds_bench.facts.records import Record, read_records

Split = Literal["forget", "retain", "holdout"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True)
class Fact:
    """One question and answer; `answer` starts with `prefix`, and `entity` occurs at or after its end.

    `cluster` is the unit that intervals resample (the author). `prefix` may be empty. The optional fields
    serve single metrics: `paraphrased_question` asks the same, `paraphrased_answer` says the same, and
    `perturbed_answers` say something wrong in the words of the paraphrase. `kind` is the prefix type (UDS
    paper, appendix I), known for the embedded authors only.

    Raises FactError, naming fact and key, where this does not hold.
    """

    id: str
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

    def __post_init__(self) -> None:
        for key in ("id", "cluster", "question", "answer", "entity"):
            if not getattr(self, key).strip():
                raise self._error(key, "is empty; give it a text")
        if self.split not in SPLITS:
            raise self._error("split", f"is {self.split!r}; use one of {', '.join(SPLITS)}")
        if not self.answer.startswith(self.prefix):
            raise self._error("prefix", "does not start the answer; copy it from the answer's beginning")
        if self.answer.find(self.entity, len(self.prefix)) < 0:
            raise self._error("entity", "does not occur in the answer after the prefix; copy it from there")

    def _error(self, key: str, problem: str) -> FactError:
        return FactError(f"fact {self.id!r}: key {key!r} {problem}")

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
    """A question and answer in which no entity was found, and why; it is reported, never scored."""

    id: str
    question: str
    answer: str
    reason: str


class FactSet(Sequence[Fact]):
    """An immutable sequence of facts with unique ids, in the order of their source.

    `unannotated` lists the items of the source that could not become facts. It is not part of the digest.
    """

    def __init__(self, facts: Iterable[Fact], unannotated: Iterable[Unannotated] = ()) -> None:
        self._facts = tuple(facts)
        self.unannotated = tuple(unannotated)
        seen: set[str] = set()
        for fact in self._facts:
            if fact.id in seen:
                raise FactError(f"fact {fact.id!r}: key 'id' occurs twice; make every id unique")
            seen.add(fact.id)

    @overload
    def __getitem__(self, index: int) -> Fact: ...
    @overload
    def __getitem__(self, index: slice) -> FactSet: ...
    def __getitem__(self, index: int | slice) -> Fact | FactSet:
        return FactSet(self._facts[index]) if isinstance(index, slice) else self._facts[index]

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FactSet) and self._facts == other._facts

    def __hash__(self) -> int:
        return hash(self._facts)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self.split(name))} {name}" for name in SPLITS)
        return f"FactSet({counts})"

    def split(self, name: Split) -> FactSet:
        """The facts of one split, in order; empty where there are none."""
        if name not in SPLITS:
            raise FactError(f"split {name!r} is unknown; use one of {', '.join(SPLITS)}")
        return FactSet(fact for fact in self._facts if fact.split == name)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The distinct clusters, in order of first appearance."""
        return tuple(dict.fromkeys(fact.cluster for fact in self._facts))

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the canonical JSON of all facts, in order."""
        records = [fact.to_json() for fact in self._facts]
        text = json.dumps(records, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def require_forget(facts: FactSet, source: str) -> FactSet:
    """`facts` itself, or FactError where nothing in it is to be forgotten."""
    if not any(fact.split == "forget" for fact in facts):
        raise FactError(f"{source}: no fact with split 'forget'; an audit needs at least one")
    return facts


REQUIRED = ("id", "cluster", "split", "question", "answer", "prefix", "entity")
OPTIONAL = ("paraphrased_question", "paraphrased_answer", "kind")
PERTURBED = "perturbed_answers"
EVIDENCE = "evidence"
"""Why the fact is in the file: an object for readers, which no audit reads."""


def read_facts(path: str | Path) -> FactSet:
    """Read a facts file. Raises FactError with file, line and key for the first thing that is wrong."""
    facts: list[Fact] = []
    places: dict[str, str] = {}
    for record in read_records(path):
        fact = _fact(record)
        if fact.id in places:
            raise record.error(f"key 'id' is {fact.id!r} as in {places[fact.id]}; make every id unique")
        places[fact.id] = record.where
        facts.append(fact)
    return FactSet(facts)


def write_facts(path: str | Path, facts: Iterable[Fact]) -> None:
    """Write a facts file that `read_facts` gives back unchanged."""
    lines = [json.dumps(fact.to_json(), ensure_ascii=False) + "\n" for fact in facts]
    Path(path).write_text("".join(lines), encoding="utf-8")


def _fact(record: Record) -> Fact:
    record.known((*REQUIRED, *OPTIONAL, PERTURBED, EVIDENCE))
    fields: dict[str, Any] = {key: record.text(key) for key in REQUIRED}
    fields |= {key: record.text(key) for key in OPTIONAL if record.has(key)}
    if record.has(PERTURBED):
        fields[PERTURBED] = record.texts(PERTURBED)
    try:
        return Fact(**fields)
    except FactError as error:
        raise record.error(str(error)) from None
