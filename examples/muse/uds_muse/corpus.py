"""A corpus of MUSE as items, read from a folder in the layout of the hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uds_bench.errors import FactError
from uds_bench.extras import require
from uds_bench.facts.records import Record, parse_json, read_text
from uds_bench.metrics.rouge import NO_WORD, counts


@dataclass(frozen=True)
class Item:
    """`shown`: the prompt, as MUSE writes it; `true`: the text that is held against what is said or, without a prompt,
    that is read. `label`: of texts that are read, 0 of the forget set and 1 of the holdout. Each is a cluster."""

    id: str
    shown: str
    true: str
    label: int | None = None
    kind: str | None = None

    @property
    def cluster(self) -> str:
        return self.id


Corpus = dict[str, tuple[Item, ...]]
"""By the name that MUSE has for a metric, what it is of."""


def read_corpus(folder: str | Path) -> Corpus:
    """What the four metrics ask, from a folder with verbmem, knowmem and privleak.

    Raises:
        FactError: A split is missing or empty, lacks a part, or has a row that cannot be used: with its place.
        ExtraError: The splits are parquet, and pyarrow is not installed.
    """
    place = Path(folder)
    passages = _rows(place, "verbmem", "forget")
    texts = [
        (label, one) for label, split in enumerate(("forget", "holdout")) for one in _rows(place, "privleak", split)
    ]
    return {
        "verbmem_f": tuple(_said(row, row.text("prompt"), "gt") for row in passages),
        "knowmem_f": _questions(place, "forget_qa"),
        "knowmem_r": _questions(place, "retain_qa"),
        "privleak_auc": tuple(Item(_id(row), "", _text(row, "text"), label) for label, row in texts),
    }


def _questions(place: Path, split: str) -> tuple[Item, ...]:
    """Questions below MUSE's examples of how they are answered."""
    shots = [
        f"Question: {_text(row, 'question')}\nAnswer: {_text(row, 'answer')}\n\n"
        for row in _rows(place, "knowmem", f"{split}_icl")
    ]
    rows = _rows(place, "knowmem", split)
    return tuple(_said(row, "".join(shots) + f"Question: {_text(row, 'question')}\nAnswer: ", "answer") for row in rows)


def _said(row: Record, shown: str, key: str) -> Item:
    if not counts(true := _text(row, key)):
        raise row.error(f"key {key!r}: {NO_WORD}; correct it")
    return Item(_id(row), shown, true)


def _text(row: Record, key: str) -> str:
    if not (text := row.text(key)).strip():
        raise row.error(f"key {key!r} is blank; write it")
    return text


def _id(row: Record) -> str:
    """The split and the row: knowmem/forget_qa/12."""
    file, _, at = row.where.rpartition(", item ")
    return f"{Path(file).parent.name}/{Path(file).stem.partition('-')[0]}/{at}"


def _rows(place: Path, config: str, split: str) -> list[Record]:
    """The rows of one split, of its parquet files or else of its .json; a bare text is a row with the key `text`."""
    file = place / config / f"{split}.json"
    parts = sorted((place / config).glob(f"{split}-[0-9]*-of-[0-9]*.parquet"))
    if parts:
        file, values = parts[0], _table(parts)
    elif file.is_file():
        values = parse_json(read_text(file), str(file))
    else:
        raise FactError(f"{file.parent}: has neither {split}-00000-of-00001.parquet nor {file.name}; download it again")
    if not isinstance(values, list) or not values:
        raise FactError(f"{file}: is no list with a row in it; download it again")
    rows = [
        Record(f"{file}, item {at}", {"text": one} if isinstance(one, str) else one) for at, one in enumerate(values)
    ]
    for row in rows:
        if not isinstance(row.values, dict):
            raise row.error(f"is {type(row.values).__name__}; it must be a text or a JSON object")
    return rows


def _table(parts: list[Path]) -> list[Any]:
    require(f"reading {parts[0].name}", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    announced = int(re.findall(r"\d+", parts[0].stem)[-1])
    if len(parts) != announced:
        raise FactError(f"{parts[0]}: is one of {announced} files, of which {len(parts)} are here; download the others")
    try:
        return [row for part in parts for row in pq.read_table(part).to_pylist()]
    except (pa.ArrowException, OSError) as error:
        told = str(error).partition("\n")[0]
        raise FactError(f"{parts[0].parent}: a parquet file cannot be read ({told}); download it again") from None
