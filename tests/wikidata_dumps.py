"""Wikidata dumps in small: entities as Wikidata writes them, and the files that hold them."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Entity = dict[str, Any]
TYPES = {"wikibase-item": "wikibase-entityid", "quantity": "quantity", "time": "time"}


def terms(text: str | None, language: str = "en") -> Any:
    # As PHP writes an empty map.
    return [] if text is None else {language: {"language": language, "value": text}}


def item(id: str, label: str | None, **claims: Iterable[Entity]) -> Entity:
    return {
        "type": "item",
        "id": id,
        "labels": terms(label),
        "claims": {key: [*those] for key, those in claims.items()},
    }


def human(number: int, label: str | None, **claims: Iterable[Entity]) -> Entity:
    return item(f"Q{100_000 + number}", label, P31=[of_item("Q5")], **claims)


def described(id: str, label: str | None, datatype: str = "wikibase-item", aliases: tuple[str, ...] = ()) -> Entity:
    listed = {"en": [{"language": "en", "value": alias} for alias in aliases]} if aliases else []
    texts = {"labels": terms(label), "descriptions": terms(label and f"what {label} is"), "aliases": listed}
    return {"type": "property", "datatype": datatype, "id": id, **texts, "claims": []}


def claim(datatype: str, value: Any, rank: str = "normal") -> Entity:
    datavalue = {"value": value, "type": TYPES.get(datatype, "string")}
    return {"mainsnak": {"snaktype": "value", "datavalue": datavalue, "datatype": datatype}, "rank": rank}


def of_item(id: str, rank: str = "normal") -> Entity:
    return claim("wikibase-item", {"entity-type": "item", "numeric-id": int(id[1:]), "id": id}, rank)


def of_time(time: str, precision: int) -> Entity:
    return claim("time", {"time": time, "precision": precision, "calendarmodel": "http://x/entity/Q1985727"})


def of_quantity(amount: str, unit: str = "1") -> Entity:
    return claim("quantity", {"amount": amount, "unit": unit if unit == "1" else f"http://x/entity/{unit}"})


def without(kind: str, datatype: str = "wikibase-item") -> Entity:
    return {"mainsnak": {"snaktype": kind, "datatype": datatype}, "rank": "normal"}


def dump_bytes(entities: Iterable[Entity]) -> bytes:
    return b"[\n" + b",\n".join(json.dumps(one, separators=(",", ":")).encode() for one in entities) + b"\n]\n"


def write_dump(folder: Path, entities: Iterable[Entity], suffix: str = "") -> Path:
    """`suffix`: nothing, `.gz` or `.bz2`, the latter in streams of a kilobyte each."""
    content, path = dump_bytes(entities), folder / f"dump.json{suffix}"
    parts = [content[at : at + 1000] for at in range(0, len(content), 1000)]
    packed = {
        "": lambda: content,
        ".gz": lambda: gzip.compress(content),
        ".bz2": lambda: b"".join(map(bz2.compress, parts)),
    }
    path.write_bytes(packed[suffix]())
    return path
