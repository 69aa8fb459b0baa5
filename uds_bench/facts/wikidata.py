"""Wikidata's JSON dumps, read as a stream: people, properties and labels (WikiMem, section 4)."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from uds_bench.errors import FactError
from uds_bench.facts.properties import DATATYPES
from uds_bench.storage import load_json


class Value(NamedTuple):
    """`text`: what is known without other entities; `entity`: the Q-id of the item, or of the unit behind the text,
    whose label is still to be looked up; empty where there is none."""

    text: str
    entity: str = ""

    def said(self, labels: Mapping[str, str]) -> str | None:
        """The value in English; None where its item or unit has no label: a number without its unit is another."""
        if not self.entity:
            return self.text
        label = labels.get(self.entity)
        return label and f"{self.text} {label}".lstrip()


INSTANCE_OF, HUMAN = "P31", Value("", "Q5")
LANGUAGES = ("en", "mul")
"""`mul` is Wikidata's default for all languages: what a reader of English is shown where there is no `en`. Since 2024
labels that it repeats are taken away, names of people first."""
Tell = Callable[[int], None]
"""Takes how many bytes of the file have been read, every now and then."""
EVERY = 1000
LINE = 1 << 24
"""Bytes of a line; Wikidata keeps an entity below 3 MiB, and a few bytes of gzip could be any number of them."""
_HEAD = re.compile(rb'\{"type":"item","id":"(Q\d+)"')


@dataclass(frozen=True)
class Human:
    """`name`: the English label, if any; `values`: by property of one of the four datatypes, what is said; no P31."""

    name: str | None
    values: dict[str, list[Value]]


@dataclass(frozen=True)
class Listed:
    """A property as the published listing has it."""

    id: str
    label: str
    description: str
    aliases: list[str]
    datatype: str


@dataclass(frozen=True)
class Dump:
    """A dump as published: an array of entities, one a line, plain, gzip or bz2, told apart by how the file begins.

    Raises FactError where there is no such file (a pipe is none: it is read twice). Reading raises FactError, with file
    and line, where it is damaged or cut short, also between two lines, and for a line that is no entity.
    """

    path: Path

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise FactError(f"{self.path}: no such file; check the path")

    def read(self, tell: Tell) -> Iterator[Human | Listed]:
        """People, and the properties that have an English label and one of the four datatypes, as they come."""
        for where, line in self._lines(tell):
            entity = _entity(where, line)
            with _as_published(where):
                found = _listed(entity) if entity["type"] == "property" else _human(entity)
            if found is not None:
                yield found

    def labels(self, wanted: Set[str], tell: Tell) -> dict[str, str]:
        """English labels by Q-id, of those among `wanted` that have one; read no further than to the last of them."""
        missing, found = set(wanted), {}
        for where, line in self._lines(tell):
            if not missing:
                break
            # Lines begin like this in dumps as published; parsing all of them again would take hours.
            if (head := _HEAD.match(line)) and head[1].decode() not in missing:
                continue
            entity = _entity(where, line)
            with _as_published(where):
                if (id := entity["id"]) in missing:
                    missing.remove(id)
                    if label := _english(entity, "labels"):
                        found[id] = label
        return found

    def _lines(self, tell: Tell) -> Iterator[tuple[str, bytes]]:
        """The place and JSON of every entity."""
        number, expected = 0, b"["
        try:
            with self.path.open("rb") as raw, _decompressed(raw) as file:
                for number, line in enumerate(iter(lambda: file.readline(LINE + 1), b""), 1):
                    if len(line) > LINE:
                        told = f"is longer than {LINE >> 20} MiB, which no entity is: fetch the dump again"
                        raise FactError(f"{self.path}, line {number}: {told}")
                    if number % EVERY == 1:
                        tell(raw.tell())
                    text, where = line.strip(), f"{self.path}, line {number}"
                    if expected == b"]" and text not in (b"", b"]"):
                        yield where, text.removesuffix(b",")
                    elif text == expected:
                        expected = b"]" if text == b"[" else b""
                    elif text:
                        wrong = "the dump does not begin with a line of [" if expected else "there is more behind the ]"
                        raise FactError(f"{where}: {wrong}: give a JSON dump as Wikidata publishes them")
        except (EOFError, OSError, zlib.error) as error:
            problem = f"cannot be read ({error}): see that it is whole, or fetch it again"
            raise FactError(f"{self.path}, line {number + 1}: {problem}") from None
        if expected:
            # Cut between two lines, or two streams of bz2, nothing but this tells.
            raise FactError(
                f"{self.path}, line {number + 1}: ends without its closing ]: it is cut short, fetch it again"
            )


def _decompressed(raw: io.BufferedReader) -> io.BufferedReader:
    start = raw.peek(3)
    if start.startswith(b"\x1f\x8b"):
        return io.BufferedReader(gzip.GzipFile(fileobj=raw))
    if start.startswith(b"BZh"):
        return io.BufferedReader(bz2.BZ2File(raw))
    return raw


def _entity(where: str, line: bytes) -> dict[str, Any]:
    # Not `parse_json`: looking for keys that occur twice takes several times as long, and a program wrote these.
    try:
        entity = load_json(line)
    except ValueError as error:
        raise FactError(f"{where}: bad JSON ({error}): fetch the dump again") from None
    if not isinstance(entity, dict):
        raise FactError(f"{where}: is {type(entity).__name__}; it must be a JSON object")
    return entity


@contextmanager
def _as_published(where: str) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise FactError(f"{where}: is no entity as Wikidata writes them ({error!r}): fetch it again") from error


def _human(entity: Mapping[str, Any]) -> Human | None:
    claims = entity.get("claims") or {}
    if HUMAN not in stated(claims.get(INSTANCE_OF, [])):
        return None
    values = {id: said for id, those in claims.items() if id != INSTANCE_OF and (said := stated(those))}
    return Human(_english(entity, "labels"), values)


def _listed(entity: Mapping[str, Any]) -> Listed | None:
    label = _english(entity, "labels")
    if label is None or entity["datatype"] not in DATATYPES:
        return None
    aliases = [alias["value"] for alias in (entity.get("aliases") or {}).get("en", [])]
    return Listed(entity["id"], label, _english(entity, "descriptions") or "", aliases, entity["datatype"])


def _english(entity: Mapping[str, Any], kind: str) -> str | None:
    # An empty map is written as [], as PHP has it.
    terms = entity.get(kind) or {}
    return next((terms[one]["value"] for one in LANGUAGES if one in terms and terms[one]["value"].strip()), None)


TYPES = dict(zip(DATATYPES, ("wikibase-entityid", "string", "quantity", "time"), strict=True))
"""By datatype of a property, the type that its values are written in. A value that Wikidata itself finds bad has
another, and an external identifier is a string of another datatype."""
YEAR, MONTH, DAY = 9, 10, 11
"""Wikidata's precisions of time; a lower one is coarser than a year, a higher one finer than a day."""
# Not from `calendar`, whose months follow the locale.
_MONTHS = "January February March April May June July August September October November December"
MONTHS = tuple(_MONTHS.split())
NO_UNIT = "1"
_TIME = re.compile(r"([+-])(\d+)-(\d\d)-(\d\d)T")


def stated(statements: list[dict[str, Any]]) -> list[Value]:
    """The values of one property, each once; none of a deprecated statement, and none that cannot be said."""
    values = (_value(one["mainsnak"]) for one in statements if one["rank"] != "deprecated")
    return list(dict.fromkeys(value for value in values if value is not None))


def _value(snak: Mapping[str, Any]) -> Value | None:
    if snak["snaktype"] != "value" or TYPES.get(snak["datatype"]) != snak["datavalue"]["type"]:
        return None
    value = snak["datavalue"]["value"]
    match snak["datatype"]:
        case "wikibase-item":
            return Value("", value["id"])
        case "quantity":
            unit = value["unit"]
            return Value(value["amount"].removeprefix("+"), "" if unit == NO_UNIT else unit.rpartition("/")[2])
        case "time":
            text = date(value["time"], value["precision"])
            return None if text is None else Value(text)
    return Value(value) if value.strip() else None


def date(time: str, precision: int) -> str | None:
    """`1952`, `May 1952` or `11 March 1952`, with ` BCE` where the sign is minus, in the calendar that it is given in.

    None where it is coarser than a year (a decade, a century), and where a part that should be known is zero or absurd.
    """
    match = _TIME.match(time)
    if match is None or precision < YEAR:
        return None
    year, month, day = map(int, match.groups()[1:])
    if year == 0 or (precision >= MONTH and not 1 <= month <= 12) or (precision >= DAY and not 1 <= day <= 31):
        return None
    parts = [str(day)] * (precision >= DAY) + [MONTHS[month - 1]] * (precision >= MONTH) + [str(year)]
    return " ".join(parts + ["BCE"] * (match[1] == "-"))
