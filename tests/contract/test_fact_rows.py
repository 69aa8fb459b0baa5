"""Scores fact by fact, in a table beside the JSON of a run: nothing is lost, and no other table is taken for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError
from made_reports import claim, report_of, run_of

from uds_bench import extras
from uds_bench.claims import fact_rows
from uds_bench.claims.fact_rows import with_rows, write_run
from uds_bench.cli.documents import read_run
from uds_bench.errors import ConfigurationError, ExtraError
from uds_bench.storage import file_digest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE, SCHEMA = REFERENCE / "commands.md", REFERENCE / "run_report.schema.json"
FACTS = [
    {"id": "a/1", "cluster": "a", "kind": "award", "label": None, "value": 0.1 + 0.2, "reason": None}
    | {"detail": {"answer": "\u202eא, <b>", "drops": [0.0, 1e-300]}},
    {"id": "a/2", "cluster": "a", "kind": None, "label": 1, "value": None, "reason": "no layer", "detail": {}},
]
SCORE = {
    "checkpoint": "npo",
    "attack": "none",
    "metric": "uds",
    "variant": "block",
    "value": 0.3,
    "ci": None,
    "interval": None,
}
ROWS: list[dict[str, Any]] = [
    SCORE | {"per_fact": FACTS, "notes": {"tau": 0.05}, "provenance": {"cell": "c", "references": ["r"]}},
    SCORE | {"metric": "em", "per_fact": [], "notes": {}, "provenance": {}},
    SCORE | {"attack": "nf4", "per_fact": FACTS[1:], "notes": {}, "provenance": {"cell": "d"}},
]
WORDINGS = {"a/1": {"question": "Which?", "entity": "the Rose"}}
REPORT = run_of(claim("depth.score[npo]"), scores=ROWS, wordings=WORDINGS)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    pytest.importorskip("pyarrow")
    assert write_run(REPORT, tmp_path / "run.json") == ""
    return tmp_path / "run.json"


def test_a_run_is_read_back_as_it_was(written: Path) -> None:
    assert read_run(written) == REPORT
    values = json.loads(written.read_text())
    assert "Rose" not in written.read_text(), "the JSON holds no question, entity or reply of a score"
    assert [row.keys() & {"per_fact", "provenance"} for row in values["scores"]] == [set()] * 3
    assert values["table"]["rows"] == 4


def test_what_is_written_is_as_the_published_schema_says(written: Path) -> None:
    schema = json.loads(SCHEMA.read_text())
    whole, beside_a_table = REPORT.to_json(), json.loads(written.read_text())
    for values in (whole, beside_a_table):
        Draft202012Validator(schema).validate(values)
    whole["scores"][0]["per_fact"][0]["value"] = "0.3"
    with pytest.raises(ValidationError):
        Draft202012Validator(schema).validate(whole)


@pytest.mark.parametrize("reader", ["pandas", "polars", "duckdb"])
def test_other_programs_read_the_table(written: Path, reader: str) -> None:
    library = pytest.importorskip(reader)
    place = str(written.with_suffix(".parquet"))
    if reader == "duckdb":
        found = library.sql(f"select question, value from '{place}' where metric = 'uds' and value > 0").fetchall()
    else:
        table = library.read_parquet(place)
        kept = table[table["value"] > 0] if reader == "pandas" else table.filter(library.col("value") > 0)
        found = list(zip(kept["question"], kept["value"], strict=True))
    assert found == [("Which?", 0.1 + 0.2)]


def test_the_query_of_the_page_is_answered(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("duckdb")
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    monkeypatch.chdir(written.parent)
    rows = library.sql(query).fetchall()
    assert ("npo", "Which?", 0.1 + 0.2) in rows
    assert len(rows) == 3


def test_without_pyarrow_all_stands_in_the_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uds_bench.claims.fact_rows.is_installed", lambda _: False)
    told = write_run(REPORT, tmp_path / "run.json")
    assert "pip install 'uds-bench[parquet]'" in told
    assert read_run(tmp_path / "run.json") == REPORT
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]


def test_a_table_is_not_read_without_pyarrow(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda _: False)
    with pytest.raises(ExtraError, match=r"run.json: its table needs pyarrow.*pip install 'uds-bench\[parquet\]'"):
        read_run(written)


def altered(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def renamed(values: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return values | {"table": values["table"] | changed}


def test_a_table_of_another_run_is_refused_in_a_line(written: Path) -> None:
    place, values = written.with_suffix(".parquet"), json.loads(written.read_text())
    cases: list[tuple[Any, str]] = [
        (renamed(values, file="../../etc/passwd"), "passwd: is not there, and run.json needs it: copy both files"),
        (renamed(values, sha256="0"), "run.parquet: is of another run than run.json"),
        (values | {"table": "x"}, "run.json: names its table without file and sha256"),
        (renamed(values, file="."), "run.json: names its table without a file's name"),
        (renamed(values, file="a\0"), "is not there"),
        (values | {"scores": values["scores"][:1]}, "run.parquet: holds no rows of run.json"),
    ]
    for changed, told in cases:
        with pytest.raises(ConfigurationError) as raised:
            with_rows(changed, written)
        assert told in str(raised.value)
        assert len(str(raised.value).splitlines()) == 1
    altered(place)
    with pytest.raises(ConfigurationError, match="another run"):
        read_run(written)


def bombed(columns: dict[str, Any], written: Path) -> dict[str, Any]:
    """The JSON of a run beside another table, which it names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = written.with_suffix(".parquet")
    pq.write_table(pa.table(columns), place)
    return renamed(json.loads(written.read_text()), sha256=file_digest(place))


@pytest.mark.parametrize("told", [1, None, "4", 100_000])
def test_a_table_of_more_rows_than_are_told_or_may_be_is_not_read(
    told: Any, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of 2 MB may hold 40 million rows."""
    values = renamed(bombed({"score": [0] * 100_000}, written), rows=told)
    monkeypatch.setattr(fact_rows, "MOST_ROWS", 99_999)
    monkeypatch.setattr(fact_rows, "_values", lambda column: pytest.fail("a column is read"))
    with pytest.raises(ConfigurationError, match=r"run.parquet: holds no rows of run.json \(100,000 rows"):
        with_rows(values, written)


def test_a_table_that_unpacks_to_more_than_may_be_is_not_read(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = json.loads(written.read_text())
    monkeypatch.setattr(fact_rows, "MOST_BYTES", 60)
    with pytest.raises(ConfigurationError, match="at most 10,000,000, 60"):
        with_rows(values, written)
    monkeypatch.setattr(fact_rows, "MOST_BYTES", 1 << 20)
    shared = {"score": [0] * 9, "id": ["a"] * 9, "detail": ['"' + "x" * (1 << 18) + '"'] * 9}
    shared |= {key: ["{}"] * 9 for key in fact_rows.NAMES if key not in (*shared, "label", "value")}
    numbers: dict[str, Any] = {"label": [1] * 9, "value": [0.5] * 9}
    with pytest.raises(ConfigurationError, match="its details have more than 1,048,576 characters"):
        with_rows(renamed(bombed(shared | numbers, written), rows=9), written)


@pytest.mark.parametrize("column", [[[1] * 9] * 4, [b"x"] * 4, [{"a": 1}] * 4])
def test_a_table_of_other_columns_is_not_read(column: Any, written: Path) -> None:
    with pytest.raises(ConfigurationError, match="columns of other kinds"):
        with_rows(bombed({"score": [0] * 4, "detail": column}, written), written)


def test_a_report_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    old = {key: value for key, value in REPORT.to_json().items() if key not in ("table", "wordings")}
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert read_run(tmp_path / "old.json") == report_of(old, "old")
