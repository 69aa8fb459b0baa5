"""Scores fact by fact: a Parquet file beside the JSON of a run, which names it by its SHA-256."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uds_bench.claims.report_part import ReportPart
from uds_bench.claims.run_report import FactTable, RunReport
from uds_bench.errors import ConfigurationError
from uds_bench.extras import is_installed, require
from uds_bench.scores import ADDRESS
from uds_bench.storage import file_digest, write_atomic, write_json

if TYPE_CHECKING:
    import pyarrow as pa

FACT = ("id", "cluster", "kind", "label", "value", "reason")
TOLD = ("question", "entity")
PACKED = ("interval", "notes", "provenance")
"""What a score holds beside its numbers, as JSON: alike in each of its rows, so that a column of it takes little."""


def write_run(report: RunReport, path: Path) -> str:
    """Write a run as JSON, and its scores fact by fact beside it: `run.parquet` beside `run.json`.

    Args:
        report: The run; what of it goes into the table is left out of the JSON.
        path: Of the JSON.

    Returns:
        What to say of it: "", or that all stands in the JSON, as pyarrow is missing.
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
        ConfigurationError: The table is gone, is another one than the JSON names, or has rows of other scores.
        ExtraError: There is a table, and pyarrow is missing.
    """
    if values.get("table") is None:
        return dict(values)
    require(f"{path}: its table", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = require_table(values["table"], path)
    scores, wordings = [{**row, "per_fact": []} for row in values["scores"]], {}
    try:
        for row in pq.read_table(place).to_pylist():
            score = scores[row["score"]]
            score |= {key: json.loads(row[key]) for key in PACKED if key not in score}
            if row["id"] is not None:
                detail = {"detail": json.loads(row["detail"] or "{}")}
                score["per_fact"].append({key: row[key] for key in FACT} | detail)
                if row["question"] is not None:
                    wordings[row["id"]] = {key: row[key] for key in TOLD}
    except (pa.ArrowException, KeyError, IndexError, TypeError, ValueError) as error:
        told = " ".join(str(error).split())[:100]
        raise ConfigurationError(f"{place}: holds no rows of {path.name} ({told}): run again") from None
    return {**values, "scores": scores, "wordings": wordings, "table": None}


def require_table(named: Any, path: Path) -> Path:
    """The table of a run. Raises ConfigurationError where it is not the one that the JSON at `path` names."""
    if not isinstance(named, Mapping) or not all(isinstance(named.get(key), str) for key in ("file", "sha256")):
        raise ConfigurationError(f"{path}: names its table without file and sha256: write it again")
    place = path.with_name(Path(named["file"]).name)
    if not place.is_file():
        raise ConfigurationError(f"{place}: is not there, and {path.name} needs it: copy both files of the run")
    if file_digest(place) != named["sha256"]:
        raise ConfigurationError(f"{place}: is of another run than {path.name} (SHA-256): copy both files of one run")
    return place


def _table(values: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    coded = pa.dictionary(pa.int32(), pa.string())
    types = {"score": pa.int32(), "label": pa.int64(), "value": pa.float64(), "id": pa.string(), "detail": pa.string()}
    names = ("score", *ADDRESS, *FACT, "detail", *TOLD, *PACKED)
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for row in _rows(values):
        for name in names:
            columns[name].append(row.get(name))
    return pa.table({name: pa.array(columns[name], types.get(name, coded)) for name in names})


def _rows(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row a fact of a score, and one without a fact for a score that has none; `score`: its place in the JSON."""
    for at, score in enumerate(values["scores"]):
        packed = {key: json.dumps(score[key], allow_nan=False) for key in PACKED}
        common = {"score": at, **{key: score[key] for key in ADDRESS}, **packed}
        for fact in score["per_fact"] or [{}]:
            detail = json.dumps(fact["detail"], allow_nan=False) if fact.get("detail") else None
            yield {**common, **fact, "detail": detail, **values.get("wordings", {}).get(fact.get("id", ""), {})}
