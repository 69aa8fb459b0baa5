"""Triplet databases: facts kept outside a model, as (subject, relation, object) rows that it looks up."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from uds_bench.errors import FactError, did_you_mean
from uds_bench.facts.name_matching import spelled
from uds_bench.facts.records import parse_json, read_text
from uds_bench.storage import content_key, write_atomic

LISTS = ("entities", "relationships", "return_values")
"""What the public form lists beside its rows: the distinct subjects, relations and objects."""


class Triplet(NamedTuple):
    """One row: `subject` has `object` under `relation`."""

    subject: str
    relation: str
    object: str

    @property
    def key(self) -> str:
        """What a retriever compares a lookup with; the object is no part of it (LMLM audit, section 4)."""
        return lookup_text(self.subject, self.relation)


def lookup_text(subject: str, relation: str) -> str:
    """A lookup or a row as the text that is embedded."""
    return f"{subject} {relation}"


class TripletDatabase(tuple[Triplet, ...]):
    """An immutable sequence of rows; the same row may occur more than once.

    Raises FactError for a row with an empty field, and for no row at all.
    """

    name: str

    def __new__(cls, triplets: Iterable[Triplet], name: str = "database") -> TripletDatabase:
        """Checked as it is made: see the class."""
        found = super().__new__(cls, triplets)
        found.name = name
        for at, row in enumerate(found):
            for field, text in zip(Triplet._fields, row, strict=True):
                if not isinstance(text, str) or not text.strip():
                    raise FactError(f"{name}: row {at} has an empty {field}; give it a text or take the row out")
        if not found:
            raise FactError(f"{name}: has no rows; an audit needs at least one")
        return found

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the rows in order: an edit that keeps their number is seen."""
        return content_key([list(row) for row in self])

    @cached_property
    def spelled(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Subjects, relations and objects of all rows in order, each as its spelling."""
        subjects, relations, objects = (
            tuple(map({text: spelled(text) for text in set(column)}.__getitem__, column))
            for column in zip(*self, strict=True)
        )
        return subjects, relations, objects


def read_database(path: str | Path) -> TripletDatabase:
    """A database in the public form: a JSON object with `triplets`, a list of [subject, relation, object], and
    optionally the lists `entities`, `relationships` and `return_values`, which must name what the rows hold.

    Raises FactError with file, row and key for the first thing that is wrong.
    """
    document = parse_json(read_text(Path(path)), str(path))
    if not isinstance(document, dict) or "triplets" not in document:
        raise FactError(f"{path}: must be a JSON object with the key 'triplets'; see the public databases")
    for key in document:
        if key not in ("triplets", *LISTS):
            raise FactError(f"{path}: key {key!r} is unknown: {did_you_mean(key, ('triplets', *LISTS))}")
    if not isinstance(document["triplets"], list):
        raise FactError(f"{path}: key 'triplets' must be a list of [subject, relation, object]")
    found = TripletDatabase((_row(item, at, path) for at, item in enumerate(document["triplets"])), str(path))
    for key, held in zip(LISTS, zip(*found, strict=True), strict=True):
        if key in document:
            _require_listed(document[key], set(held), key, path)
    return found


def write_database(path: str | Path, database: Iterable[Triplet]) -> None:
    """Write a database that `read_database` gives back unchanged."""
    rows = list(database)
    lists = {key: sorted({row[at] for row in rows}) for at, key in enumerate(LISTS)}
    body = ",\n  ".join(json.dumps(list(row), ensure_ascii=False) for row in rows)
    head = "".join(f' "{key}": {json.dumps(texts, ensure_ascii=False)},\n' for key, texts in lists.items())
    write_atomic(Path(path), f'{{\n{head} "triplets": [\n  {body}\n ]\n}}\n'.encode())


def _row(item: Any, at: int, path: str | Path) -> Triplet:
    if not isinstance(item, list) or len(item) != 3 or not all(isinstance(text, str) for text in item):
        raise FactError(f"{path}: row {at} must be a list of three strings: subject, relation, object")
    return Triplet(*item)


def _require_listed(listed: Any, held: set[str], key: str, path: str | Path) -> None:
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise FactError(f"{path}: key {key!r} must be a list of strings")
    if missing := sorted(held - set(listed)):
        raise FactError(f"{path}: {missing[0]!r} is in the rows and not in {key!r}; add it there")
