"""How present people are on the web, and cohorts of the most and the least present (WikiMem, section 6)."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from uds_bench.errors import FactError
from uds_bench.facts.records import Record, read_records, read_text

WELL_KNOWN = "well-known"
LESSER_KNOWN = "lesser-known"
COUNTS = ("page_views", "article_length", "language_editions")
COLUMNS = ("id", *COUNTS)


def read_presence(path: str | Path) -> dict[str, float]:
    r"""How well known the people of a table are.

    Args:
        path: A .csv file with the columns `id`, `page_views`, `article_length` and `language_editions` in its first
            line, in any order, or a .jsonl file with these keys.

    Returns:
        By person, in the order of the table, the score of `presence_scores`.

    Raises:
        FactError: File, line and key of the first thing that is wrong, or a table of fewer than two people.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     table = Path(folder) / "presence.csv"
        ...     rows = ["id,page_views,article_length,language_editions", "Ada,99,5000,9", "Finn,0,40,1"]
        ...     _ = table.write_text("\n".join(rows))
        ...     read_presence(table)
        {'Ada': 1.0, 'Finn': -1.0}
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".jsonl"):
        raise FactError(f"{path}: a table of web presence is a .csv or a .jsonl file; rename or convert it")
    places: dict[str, str] = {}
    table: dict[str, list[float]] = {}
    for record in _csv_records(Path(path)) if suffix == ".csv" else read_records(path):
        _check_columns(record)
        person = record.text("id")
        if not person or person != person.strip():
            raise record.error(f"key 'id' is {person!r}; it must be a text without space around it")
        if person in places:
            raise record.error(f"key 'id' is {person!r} as in {places[person]}; keep one row a person")
        places[person] = record.where
        table[person] = [_count(record, column) for column in COUNTS]
    if len(table) < 2:
        raise FactError(f"{path}: holds fewer than two people; scores are relative and need two or more")
    return presence_scores(table)


def presence_scores(table: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """How well known people are: the mean over columns of z-scored log(1 + count).

    WikiMem combines page views, article length and language editions by weights that it does not state; equal ones,
    logarithms and z-scores (population standard deviation, over the people of the table) are ours, so that scores of
    different tables do not compare. A column that is the same for everybody adds 0.

    Args:
        table: By person, counts of 0 or more, [columns].

    Returns:
        By person, in standard deviations; 0 is the average of the table, higher is better known.

    Source: WikiMem, section 6.

    Example:
        >>> presence_scores({"Ada": [99, 7], "Finn": [0, 7]})  # the second column is the same for both
        {'Ada': 0.5, 'Finn': -0.5}
    """
    columns = [_standardised([math.log1p(one) for one in column]) for column in zip(*table.values(), strict=True)]
    return {
        person: math.fsum(values) / len(values)
        for person, values in zip(table, zip(*columns, strict=True), strict=True)
    }


def cohorts(scores: Mapping[str, float], size: int | None = None) -> dict[str, str]:
    """Person -> WELL_KNOWN for the `size` highest scores, LESSER_KNOWN for the `size` lowest; the others are left out.

    Without a size, the halves: of an odd number the middle one is left out. Equal scores go by id, the first in the
    alphabet as the higher. The paper draws 100 of each at random from people with high and with low scores; these are
    the extremes. Raises FactError for fewer than two people, a size that is below 1 or above half of them, and a score
    that is no finite number.
    """
    half = len(scores) // 2
    size = half if size is None else size
    if half < 1:
        raise FactError("web presence: fewer than two people make no two cohorts; score two or more")
    if not 1 <= size <= half:
        raise FactError(
            f"web presence: cohorts of {size} out of {len(scores)} people; choose a size from 1 to {half}, half of them"
        )
    for person, score in scores.items():
        if not math.isfinite(score):
            raise FactError(f"web presence: the score of {person!r} is {score}; it must be a finite number")
    ranked = sorted(scores, key=lambda person: (-scores[person], person))
    return dict.fromkeys(ranked[:size], WELL_KNOWN) | dict.fromkeys(ranked[-size:], LESSER_KNOWN)


def _standardised(values: Sequence[float]) -> list[float]:
    # Exact sums, so that the order of rows cannot move a score and with it a tie.
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    # Equal values may leave a deviation by rounding, and tiny differences none by underflow.
    if min(values) == max(values) or deviation == 0:
        return [0.0] * len(values)
    return [(value - mean) / deviation for value in values]


def _csv_records(path: Path) -> list[Record]:
    """The rows of a table whose first line names the columns; what reads as a number is one."""
    reader = csv.reader(io.StringIO(read_text(path)), strict=True)
    rows: list[tuple[str, list[str]]] = []
    start = 1
    try:
        for row in reader:
            if row:
                rows.append((f"{path}, line {start}", row))
            start = reader.line_num + 1
    except csv.Error as error:
        raise FactError(f"{path}, line {start}: bad CSV ({error}); mend it") from None
    if not rows:
        raise FactError(f"{path}: is empty; its first line must be {','.join(COLUMNS)}")
    (where, names), *people = rows
    header = Record(where, dict.fromkeys(names))
    for name in names:
        if names.count(name) > 1:
            raise header.error(f"key {name!r} occurs twice; keep one")
    _check_columns(header)
    for where, row in people:
        if len(row) != len(names):
            raise FactError(f"{where}: has {len(row)} fields, but the first line names {len(names)}; mend it")
    cells = [(where, dict(zip(names, row, strict=True))) for where, row in people]
    return [Record(where, row | {column: _read(row[column]) for column in COUNTS}) for where, row in cells]


def _read(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _check_columns(record: Record) -> None:
    record.known(COLUMNS)
    for column in COLUMNS:
        if not record.has(column):
            raise record.error(f"key {column!r} is missing; add it")


def _count(record: Record, key: str) -> float:
    value = record.values[key]
    if type(value) not in (int, float) or not 0 <= value <= sys.float_info.max:
        raise record.error(f"key {key!r} is {value!r}; it must be a number, 0 or more")
    return float(value)
