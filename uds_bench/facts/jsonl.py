"""Facts files: one JSON object a line."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from uds_bench.errors import FactError
from uds_bench.facts.fact import Fact, FactSet
from uds_bench.facts.records import Record, read_records

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
