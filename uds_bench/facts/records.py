"""JSON objects from a file, each knowing where it stands, so that complaints name file, line and key."""

import csv
import io
import json
import re
import tomllib
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

from uds_bench import storage
from uds_bench.errors import FactError, did_you_mean

_Default = TypeVar("_Default")
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Record:
    """One JSON object and its place, as in `facts.jsonl, line 3`."""

    where: str
    values: dict[str, Any]

    def error(self, problem: str) -> FactError:
        """A FactError about this object."""
        return FactError(f"{self.where}: {problem}")

    def has(self, key: str) -> bool:
        """Whether the record holds a key."""
        return key in self.values

    def text(self, key: str) -> str:
        """The string under `key`."""
        value = self._get(key)
        if not isinstance(value, str):
            raise self.error(f"key {key!r} is {type(value).__name__}; it must be a string")
        return value

    def text_or(self, key: str, default: _Default) -> str | _Default:
        """The string under `key`, or `default` where there is no such key."""
        return self.text(key) if self.has(key) else default

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of strings under `key`."""
        value = self._get(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(f"key {key!r} must be a list of strings")
        return tuple(value)

    def row(self, key: str) -> int:
        """The row number (0 or more) under `key`."""
        value = self._get(key)
        if type(value) is not int or value < 0:
            raise self.error(f"key {key!r} must be a row number, 0 or more")
        return value

    def known(self, keys: Iterable[str]) -> None:
        """Raise FactError where the object has a key that is not in `keys`."""
        allowed = tuple(keys)
        for key in self.values:
            if key not in allowed:
                raise self.error(f"key {key!r} is unknown: {did_you_mean(key, allowed)}")

    def fill(self, kind: type[_Kind], more: Iterable[str] = (), **given: Any) -> _Kind:
        """The object's keys as fields of a dataclass of texts and lists of texts; those with a default may be missing.

        `given`: fields that are read otherwise, out of the keys `more`, which are known beside those of the others.
        """
        shape = {name: how for name, how in _shape(kind).items() if name not in given}  # type: ignore[arg-type]
        self.known((*shape, *more))
        for name, (is_list, required) in shape.items():
            if required or self.has(name):
                given[name] = self.texts(name) if is_list else self.text(name)
        with said_of(self.where):
            return kind(**given)

    def _get(self, key: str) -> Any:
        if key not in self.values:
            raise self.error(f"key {key!r} is missing; add it")
        return self.values[key]


@cache
def _shape(kind: Hashable) -> dict[str, tuple[bool, bool]]:
    """By field of a dataclass, whether it is a list, and whether it has to be given."""
    hints, known = get_type_hints(kind), fields(kind)  # type: ignore[arg-type]  # a dataclass
    return {one.name: (get_origin(hints[one.name]) is tuple, one.default is MISSING) for one in known}


@contextmanager
def said_of(where: str) -> Iterator[None]:
    """What is wrong with what is made meanwhile is told with its place."""
    try:
        yield
    except FactError as error:
        raise FactError(f"{where}: {error}") from None


def read_records(path: str | Path) -> list[Record]:
    """The objects of a UTF-8 file: one a line (blank lines are skipped), or one JSON list of objects.

    Raises FactError where the file is missing, unreadable or empty, and for the first line that is no object.
    """
    text = read_text(Path(path))
    if text.lstrip().startswith("["):
        items = parse_json(text, str(path))
        places = [(f"{path}, item {at}", item) for at, item in enumerate(items)]
    else:
        lines = ((f"{path}, line {at}", line) for at, line in enumerate(text.split("\n"), 1) if line.strip())
        places = [(where, parse_json(line, where)) for where, line in lines]
    if not places:
        raise FactError(f"{path}: is empty; it needs at least one JSON object")
    for where, item in places:
        if not isinstance(item, dict):
            raise FactError(f"{where}: is {type(item).__name__}; it must be a JSON object")
    return [Record(where, item) for where, item in places]


def read_table(path: str | Path) -> list[Record]:
    """The rows of a UTF-8 .csv file whose first line names the columns, or the objects of any other file."""
    if Path(path).suffix.lower() != ".csv":
        return read_records(path)
    rows = csv.DictReader(io.StringIO(read_text(Path(path)), newline=""), strict=True)
    found: list[Record] = []
    try:
        for row in rows:
            found.append(Record(f"{path}, line {rows.line_num}", dict(row)))
            if None in row or None in row.values():
                raise found[-1].error("has more or fewer cells than the first line; mend it")
    except csv.Error as error:
        raise FactError(f"{path}, line {rows.line_num}: bad CSV ({error}); mend it") from None
    if not found:
        raise FactError(f"{path}: is empty; it needs a line of column names and at least one row")
    return found


@cache
def embedded_toml(name: str) -> dict[str, Any]:
    """A file of facts that comes with the package."""
    return tomllib.loads((resources.files("uds_bench.facts") / name).read_text(encoding="utf-8"))


def read_text(path: Path) -> str:
    """A UTF-8 file as text, or one clear line why not."""
    try:
        return storage.read_text(path)
    except FileNotFoundError:
        raise FactError(f"{path}: no such file; check the path") from None
    except UnicodeDecodeError as error:
        raise FactError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except ValueError as error:
        raise FactError(f"{path}: {error}; split the file, or leave out what is not asked") from None
    except OSError as error:
        raise FactError(f"{path}: cannot be read ({error.strerror}); check the path") from None


def parse_json(text: str, where: str) -> Any:
    """A JSON value in which no key occurs twice, or one clear line why not."""
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        raise FactError(f"{where}: bad JSON ({error.msg}, column {error.colno}); mend it") from None
    except _TwiceError as error:
        raise FactError(f"{where}: key {error.args[0]!r} occurs twice; keep one") from None
    except UnicodeEncodeError as error:
        lone = ascii(error.object[error.start])
        raise FactError(f"{where}: half a character ({lone}), which no tokenizer reads; mend it") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists without end
        raise FactError(f"{where}: bad JSON ({str(error).partition(';')[0]}); mend it") from None


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _TwiceError(Exception):
    """A JSON object that has the same key twice."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise _TwiceError(key)
        values[key] = value
    return values
