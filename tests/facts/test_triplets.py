"""Triplet databases: the public form, what is refused in one line, and content that names itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from file_rows import CAPITALS
from hypothesis import given
from hypothesis import strategies as st
from one_line import refusal

from uds_bench.errors import FactError
from uds_bench.facts.triplets import Triplet, TripletDatabase, read_database, write_database

ROWS = [*(Triplet(*row) for row in CAPITALS), Triplet("Peru", "Currency", "sol")]
TEXT = st.text(min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
TRIPLETS = st.lists(st.builds(Triplet, TEXT, TEXT, TEXT), min_size=1, max_size=6)


def written(folder: Path, document: Any) -> Path:
    path = folder / "db.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@given(TRIPLETS)
def test_a_database_reads_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, rows: list[Triplet]) -> None:
    path = tmp_path_factory.mktemp("db") / "db.json"
    write_database(path, rows)
    assert list(read_database(path)) == rows
    document = json.loads(path.read_text())
    assert set(document) == {"entities", "relationships", "return_values", "triplets"}


def test_the_lists_may_be_left_out(tmp_path: Path) -> None:
    assert list(read_database(written(tmp_path, {"triplets": [list(row) for row in ROWS]}))) == ROWS


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("{", "bad JSON"),
        ([], "must be a JSON object with the key 'triplets'"),
        ({"triplets": {}}, "must be a list of"),
        ({"triplets": [["a", "b"]]}, "row 0 must be a list of three strings"),
        ({"triplets": [["a", "b", "c"], ["a", "b", 3]]}, "row 1 must be a list of three strings"),
        ({"triplets": [["a", "b", " "]]}, "row 0 has an empty object"),
        ({"triplets": [["", "b", "c"]]}, "row 0 has an empty subject"),
        ({"triplets": []}, "has no rows"),
        ({"triplets": [["a", "b", "c"]], "entites": []}, "key 'entites' is unknown"),
        ({"triplets": [["a", "b", "c"]], "entities": ["z"]}, "'a' is in the rows and not in 'entities'"),
        ({"triplets": [["a", "b", "c"]], "return_values": "c"}, "key 'return_values' must be a list of strings"),
        ('{"triplets": [], "triplets": []}', "occurs twice"),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, document: Any, told: str) -> None:
    path = written(tmp_path, document)
    said = refusal(read_database, path)
    assert "db.json" in said
    assert told in said


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in refusal(read_database, tmp_path / "none.json")


def test_a_database_has_rows() -> None:
    with pytest.raises(FactError, match="has no rows"):
        TripletDatabase([])


def test_an_edit_that_keeps_the_number_of_rows_is_seen() -> None:
    edited = [*ROWS[:2], ROWS[2]._replace(object="Peruvian sol")]
    assert TripletDatabase(ROWS).digest != TripletDatabase(edited).digest
    assert TripletDatabase(ROWS).digest == TripletDatabase(list(ROWS), "another name").digest
    assert TripletDatabase(ROWS).digest != TripletDatabase(ROWS[::-1]).digest
