"""Scores fact by fact: a Parquet file beside the JSON of a run, which names it by its SHA-256."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uds_bench.claims.report_part import ReportPart
from uds_bench.claims.run_report import FactTable, RunReport
from uds_bench.errors import ConfigurationError, one_line
from uds_bench.extras import is_installed, require
from uds_bench.scores import ADDRESS
from uds_bench.storage import file_digest, load_document, write_atomic, write_json

if TYPE_CHECKING:
    import pyarrow as pa

FACT = ("id", "cluster", "kind", "label", "value", "reason")
TOLD = ("question", "entity")
PACKED = ("interval", "notes", "provenance")
"""What a score holds beside its numbers, as JSON. It is the same in each row of a score, so that a column takes
little."""
NAMES = ("score", *ADDRESS, *FACT, "detail", *TOLD, *PACKED)

MOST_ROWS, MOST_BYTES = 10_000_000, 4 << 30
"""Limits of a table that is read, in rows and unpacked bytes: a small file may say the same a billion times."""


def write_run(report: RunReport, path: Path) -> str:
    """Write a run as JSON, and its scores fact by fact beside it: `run.parquet` beside `run.json`.

    Args:
        report: The run; what of it goes into the table is left out of the JSON.
        path: Of the JSON.

    Returns:
        A remark: "", or that everything stands in the JSON because pyarrow is missing.
    """
    values = report.to_json()
    if not is_installed("pyarrow"):
        write_json(path, values)
        return "scores fact by fact stand in the JSON: pip install 'uds-bench[parquet]' puts them in a table beside it"
    place = path.with_suffix(".parquet")
    rows = write_table(values, place)
    named = FactTable(file=place.name, sha256=file_digest(place), rows=rows)
    kept = [{k: v for k, v in row.items() if k not in ("per_fact", *PACKED)} for row in values["scores"]]
    write_json(path, values | {"scores": kept, "wordings": {}, "table": named.model_dump()}, indent=None)
    return ""


def write_table(values: Mapping[str, Any], path: Path) -> int:
    """Write scores fact by fact as a Parquet file, whole or not at all; pyarrow is there.

    Args:
        values: A run or scores as their JSON has them, rows fact by fact among them.
        path: Of the Parquet file.

    Returns:
        How many rows it has.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     write_table({"scores": []}, Path(folder) / "rows.parquet")
        0
    """
    import pyarrow.parquet as pq

    table, buffer = _table(values), BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    write_atomic(path, buffer.getvalue())
    return int(table.num_rows)


def read_report(values: Mapping[str, Any], path: Path, parts: Mapping[str, type[ReportPart]]) -> RunReport:
    """The run of a JSON and its table; `parts`: see `RunReport.read`.

    Raises ConfigurationError where `with_rows` does, and for what is no report.
    """
    return RunReport.read(with_rows(values, path), str(path), parts)


def with_rows(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The JSON of a run with what its table holds put back.

    Args:
        values: As the JSON has them; without a `table` they are whole.
        path: Of the JSON.

    Returns:
        What was written, with a `table` of None.

    Raises:
        ConfigurationError: The table is gone, is another one than the JSON names, has rows of other scores, or more
            than may be read.
        ExtraError: There is a table, and pyarrow is missing.
    """
    if values.get("table") is None:
        return dict(values)
    require(f"{path}: its table", "pyarrow")
    import pyarrow as pa

    place, spent = require_table(values["table"], path), 0
    wordings = {}
    try:
        scores = [{**row, "per_fact": []} for row in values["scores"]]
        for row in _read_rows(place, values["table"].get("rows")):
            score = scores[row["score"]]
            score |= {key: load_document(row[key]) for key in PACKED if key not in score}
            if row["id"] is not None:
                spent += len(text := row["detail"] or "{}")
                if spent > MOST_BYTES:
                    raise ValueError(f"its details have more than {MOST_BYTES:,} characters")
                detail = {"detail": load_document(text)}
                score["per_fact"].append({key: row[key] for key in FACT} | detail)
                if row["question"] is not None:
                    wordings[row["id"]] = {key: row[key] for key in TOLD}
    except (pa.ArrowException, KeyError, IndexError, TypeError, ValueError, OSError, RecursionError) as error:
        told = one_line(error, 100)
        raise ConfigurationError(f"{place}: holds no rows of {path.name} ({told}): run again") from None
    return {**values, "scores": scores, "wordings": wordings, "table": None}


def require_table(named: Any, path: Path) -> Path:
    """The table of a run. Raises ConfigurationError where it is not the one that the JSON at `path` names."""
    if not isinstance(named, Mapping) or not all(isinstance(named.get(key), str) for key in ("file", "sha256")):
        raise ConfigurationError(f"{path}: names its table without file and sha256: write it again")
    if not (name := Path(named["file"]).name):
        raise ConfigurationError(f"{path}: names its table without a file's name: write it again")
    place = path.with_name(name)
    if not place.is_file():
        raise ConfigurationError(f"{place}: is not there, and {path.name} needs it: copy both files of the run")
    if file_digest(place) != named["sha256"]:
        raise ConfigurationError(f"{place}: is of another run than {path.name} (SHA-256): copy both files of one run")
    return place


def _read_rows(place: Path, told: Any) -> Iterator[dict[str, Any]]:
    """The rows of a table, after a check of their number, size and types. Raises ValueError if one is not allowed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(place) as file:
        found, kinds = file.metadata, file.schema_arrow
    groups = map(found.row_group, range(found.num_row_groups))
    size = sum(group.column(at).total_uncompressed_size for group in groups for at in range(group.num_columns))
    if found.num_rows != told or found.num_rows > MOST_ROWS or size > MOST_BYTES:
        raise ValueError(
            f"{found.num_rows:,} rows, {size:,} bytes; told {told!r}, at most {MOST_ROWS:,}, {MOST_BYTES:,}"
        )
    plain = {one.name: one.type.value_type if pa.types.is_dictionary(one.type) else one.type for one in kinds}
    if len(plain) < len(kinds) or not {*plain.values()} <= {pa.string(), pa.int32(), pa.int64(), pa.float64()}:
        raise ValueError("columns of other kinds, or two of one name")
    # A text that many rows share is read once, whatever its length.
    texts = [name for name, kind in plain.items() if kind == pa.string()]
    with pq.ParquetFile(place, read_dictionary=texts) as file:
        for batch in file.iter_batches(columns=list(NAMES)):
            columns = [_values(column) for column in batch.columns]
            for row in zip(*columns, strict=True):
                yield dict(zip(batch.schema.names, row, strict=True))


def _values(column: pa.Array) -> list[Any]:
    if not hasattr(column, "dictionary"):
        found: list[Any] = column.to_pylist()
        return found
    known = column.dictionary.to_pylist()
    return [None if at is None else known[at] for at in column.indices.to_pylist()]


def _table(values: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    coded = pa.dictionary(pa.int32(), pa.string())
    types = {"score": pa.int32(), "label": pa.int64(), "value": pa.float64(), "id": pa.string(), "detail": pa.string()}
    columns: dict[str, list[Any]] = {name: [] for name in NAMES}
    for row in _rows(values):
        for name in NAMES:
            columns[name].append(row.get(name))
    return pa.table({name: pa.array(columns[name], types.get(name, coded)) for name in NAMES})


def _rows(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row a fact of a score, and one without a fact for a score that has none; `score`: its place in the JSON."""
    for at, score in enumerate(values["scores"]):
        packed = {key: json.dumps(score[key], allow_nan=False) for key in PACKED}
        common = {"score": at, **{key: score[key] for key in ADDRESS}, **packed}
        for fact in score["per_fact"] or [{}]:
            detail = json.dumps(fact["detail"], allow_nan=False) if fact.get("detail") else None
            yield {**common, **fact, "detail": detail, **values.get("wordings", {}).get(fact.get("id", ""), {})}
