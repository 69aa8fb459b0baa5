"""Requests to be forgotten: who asked when, and what is to be forgotten, as the person states it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from uds_bench.errors import FactError
from uds_bench.facts.items import Items, Named
from uds_bench.facts.name_matching import says
from uds_bench.facts.properties import Property
from uds_bench.facts.records import Record, read_records, read_text
from uds_bench.facts.subjects import Person, facts_of, read_facts
from uds_bench.storage import write_atomic

ASKED = "requests"
"""The cohort of those who asked."""
KEYS = ("id", "date", "person", "facts")


@dataclass(frozen=True)
class DeletionRequest(Named):
    """`date`: the day of it, as 2026-01-31; `own`: the properties of its facts, by id."""

    date: str
    subject: Person
    own: Mapping[str, Property]

    def __post_init__(self) -> None:
        try:
            day = date.fromisoformat(self.date)
        except ValueError:
            raise self.error("date", f"is {self.date!r}: write a day as 2026-01-31") from None
        # Somewhere it is tomorrow already.
        if day > date.today() + timedelta(1):
            raise self.error("date", f"is {self.date}, which is still to come: write the day of the request")
        if says(self.id, self.subject.name):
            raise self.error("id", f"{self.id!r} holds the person's name, and outputs print it: give one that does not")


def read_requests(path: str | Path, properties: Mapping[str, Property]) -> Items[DeletionRequest]:
    """A file of JSON objects, one a line: id, date, person and facts, see `subjects.read_people`; nothing is shared.

    One person may ask twice. Raises FactError with file, line and key for the first thing that is wrong.
    """
    return _distinct(read_records(path), properties)


def add_request(path: Path, row: Mapping[str, Any], properties: Mapping[str, Property]) -> None:
    """Write a request behind those of a file, which is made where there is none; the whole file is checked first."""
    text = read_text(path) if path.exists() else ""
    if text.lstrip().startswith("["):
        raise FactError(f"{path}: is one list; write its requests one a line, so that one can be added")
    known = read_records(path) if text.strip() else []
    _distinct([*known, Record("the new request", dict(row))], properties)
    lines = text if not text or text.endswith("\n") else f"{text}\n"
    write_atomic(path, f"{lines}{json.dumps(row, ensure_ascii=False)}\n".encode())


def _distinct(records: Sequence[Record], properties: Mapping[str, Property]) -> Items[DeletionRequest]:
    places: dict[str, str] = {}
    found = []
    for record in records:
        if (other := places.setdefault(record.text("id"), record.where)) != record.where:
            raise record.error(f"key 'id' is {record.text('id')!r} as in {other}: give every request an id of its own")
        found.append(_request(record, properties))
    return Items(found)


def _request(record: Record, properties: Mapping[str, Property]) -> DeletionRequest:
    record.known(KEYS)
    id, statements_of = record.text("id"), facts_of(record)
    statements, own = read_facts(record, statements_of, properties, "person")
    subject = Record(record.where, {"id": id, "name": record.text("person"), "cohort": ASKED})
    return record.fill(DeletionRequest, KEYS, subject=subject.fill(Person, statements=statements), own=own)
