"""People of the association audit, and their cohorts by web presence."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_line import refusal
from references.presence import slow_cohorts, slow_score

from uds_bench.errors import FactError
from uds_bench.facts.properties import embedded
from uds_bench.facts.subjects import Person, Statement, Subjects, read_people
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN, cohorts, presence_scores, read_presence

JANE: dict[str, Any] = {
    "id": "q1",
    "name": "Jane Doe",
    "cohort": "well-known",
    "facts": [{"property": "P106", "values": ["biologist", "zookeeper"]}, {"property": "P19", "values": ["Oslo"]}],
}

PROPERTIES = {id: embedded()[id] for id in ("P106", "P19")}


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "subjects.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_people_are_read_in_order(tmp_path: Path) -> None:
    other = {**JANE, "id": "q2", "name": "Zoë Müller", "cohort": "lesser-known"}
    found, known = read_people(write(tmp_path, JANE, other), PROPERTIES)
    assert known == PROPERTIES
    assert [one.name for one in found] == ["Jane Doe", "Zoë Müller"]
    assert found.cohorts == ("well-known", "lesser-known")
    assert found[0].statements == (Statement("P106", ("biologist", "zookeeper")), Statement("P19", ("Oslo",)))
    assert found.digest == Subjects(found).digest != Subjects(found[:1]).digest
    moved = replace(found[0], statements=(Statement("P106", ("biologist",)), Statement("P19", ("zookeeper", "Oslo"))))
    assert Subjects([moved]).digest != Subjects(found[:1]).digest


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"name": " "}, "line 1: person 'q1': key 'name' is empty"),
        ({"facts": []}, "line 1: person 'q1': key 'facts' has none"),
        ({"facts": "P106"}, "line 1: key 'facts' must be a list"),
        (
            {"facts": [{"property": "P9", "values": ["x"]}]},
            "line 1, fact 1: key 'property' is 'P9'.*use one of P106, P19",
        ),
        ({"facts": [{"property": "P19", "values": "x"}]}, "line 1, fact 1: key 'values' must be a list"),
        ({"facts": [{"property": "P19", "value": ["x"]}]}, "line 1, fact 1: key 'value' is unknown"),
        ({"facts": [{"property": "P19", "values": []}]}, "has no value of P19"),
        ({"name": "Jane  Doe"}, "line 1: person 'q1': key 'name' has 'Jane  Doe', with white space.*write 'Jane Doe'"),
        ({"name": "Jane\nDoe"}, "key 'name' has .*write 'Jane Doe'"),
        ({"name": "Jane HUMAN_SUBJECT"}, "key 'name' has 'Jane HUMAN_SUBJECT', a word that templates keep"),
        ({"facts": [{"property": "P19", "values": ["Oslo "]}]}, "key 'facts' has 'Oslo ', with white space"),
        ({"facts": [{"property": "P19", "values": ["PROTECTED_VALUE"]}]}, "a word that templates keep"),
        ({"facts": [{"property": "P19", "values": ["?!"]}]}, "has no value of P19"),
        ({"facts": [*JANE["facts"], JANE["facts"][0]]}, "tells P106 twice"),
        ({"shoe": 43}, "line 1: key 'shoe' is unknown"),
        ({"cohort": 3}, "line 1: key 'cohort' is int"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    assert re.search(told, refusal(read_people, write(tmp_path, {**JANE, **changed}), PROPERTIES))


@pytest.mark.parametrize(
    ("key", "told"),
    [("id", "person .*: key 'id' occurs twice"), ("name", f"two subjects have the name '{JANE['name']}'")],
)
def test_nobody_is_there_twice(tmp_path: Path, key: str, told: str) -> None:
    other = {**JANE, "id": "q2", "name": "Other", key: JANE[key]}
    with pytest.raises(FactError, match=f"subjects.jsonl: {told}"):
        read_people(write(tmp_path, JANE, other), PROPERTIES)


def test_a_person_has_an_id() -> None:
    with pytest.raises(FactError, match="key 'id' is empty"):
        Person("", "Jane", "known", (Statement("P19", ("Oslo",)),))


HEADER = "id,page_views,article_length,language_editions"
counts = st.one_of(st.integers(0, 5), st.integers(0, 10**7)).map(float)
tables = st.dictionaries(st.text(min_size=1, max_size=3), st.tuples(counts, counts, counts), min_size=2, max_size=9)
score_tables = st.dictionaries(
    st.text(min_size=1, max_size=3),
    st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-9, 9)),
    min_size=2,
    max_size=9,
)


def table_file(folder: Path, *lines: str, kind: str = "csv") -> Path:
    path = folder / f"presence.{kind}"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_by_hand(tmp_path: Path) -> None:
    e = math.e
    path = table_file(tmp_path, HEADER, f"Q1,{e - 1},7,0", f"Q2,{e**3 - 1},7,{e**2 - 1}", f"Q3,{e**2 - 1},7,{e - 1}")
    found = read_presence(path)
    assert list(found) == ["Q1", "Q2", "Q3"]
    deviation = math.sqrt(2 / 3)
    assert found == pytest.approx({"Q1": -2 / deviation / 3, "Q2": 2 / deviation / 3, "Q3": 0.0})
    assert cohorts(found) == {"Q2": WELL_KNOWN, "Q1": LESSER_KNOWN}


@given(tables)
def test_scores_as_defined(table: dict[str, tuple[float, float, float]]) -> None:
    found = presence_scores(table)
    people = list(table.values())
    for at, person in enumerate(table):
        assert found[person] == pytest.approx(slow_score(people, at), abs=1e-6)
    assert math.fsum(found.values()) == pytest.approx(0, abs=1e-6)


@given(tables, st.randoms())
def test_the_order_of_rows_does_not_matter(table: dict[str, tuple[float, float, float]], order: random.Random) -> None:
    people = list(table)
    order.shuffle(people)
    shuffled = presence_scores({person: table[person] for person in people})
    assert shuffled == presence_scores(table)
    assert cohorts(shuffled) == cohorts(presence_scores(table))


@given(score_tables, st.data())
def test_cohorts_as_defined(scores: dict[str, float], data: st.DataObject) -> None:
    size = data.draw(st.none() | st.integers(1, len(scores) // 2))
    found = cohorts(scores, size)
    count = size or len(scores) // 2
    high, low = (
        {person for person, cohort in found.items() if cohort == which} for which in (WELL_KNOWN, LESSER_KNOWN)
    )
    assert (high, low) == slow_cohorts(scores, count)
    assert len(high) == len(low) == count
    assert not high & low
    assert set(found) == high | low <= set(scores)
    assert min(scores[person] for person in high) >= max(scores[person] for person in low)


@pytest.mark.parametrize("column", [[3.3] * 7, [0.0, 1e-200, 0.0]])
def test_a_column_that_tells_nobody_apart_adds_nothing(column: list[float]) -> None:
    table = {str(at): (one, 5.0, float(at)) for at, one in enumerate(column)}
    alone = presence_scores({person: (0.0, 0.0, last) for person, (_, _, last) in table.items()})
    assert presence_scores(table) == alone


def test_jsonl_and_csv_say_the_same(tmp_path: Path) -> None:
    people = [("Q1", 12, 3.5, 1), ("Q, 2", 0, 0, 0), ("Ås", 1e6, 2000, 90)]
    lines = [json.dumps(dict(zip(HEADER.split(","), one, strict=True))) for one in people]
    jsonl = table_file(tmp_path, *lines, "", kind="jsonl")
    moved = [f'{views},"{person}",{editions},{length}' for person, views, length, editions in people]
    path = table_file(tmp_path, "\ufeffpage_views,id,language_editions,article_length", *moved, "")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_presence(path) == read_presence(jsonl)
    assert list(read_presence(path)) == [person for person, *_ in people]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], "presence.csv: is empty; its first line must be id,page_views"),
        (["id,page_views,article_length", "Q1,1,2"], "line 1: key 'language_editions' is missing"),
        ([HEADER + ",name", "Q1,1,2,3,x"], "line 1: key 'name' is unknown"),
        ([HEADER.replace(",", ";"), "Q1;1;2;3"], "line 1: key 'id;page_views;"),
        ([HEADER + ",id", "Q1,1,2,3,Q1"], "line 1: key 'id' occurs twice"),
        ([HEADER, "Q1,1,2,3", "", "Q2,1,2"], "line 4: has 3 fields, but the first line names 4"),
        ([HEADER, "Q1,1,2,3", '"Q\n2",1,,3'], "line 3: key 'article_length' is ''; it must be a number, 0 or more"),
        ([HEADER, '"Q\n1",1,2,3', "Q2,x,2,3"], "line 4: key 'page_views' is 'x'"),
        ([HEADER, "Q1,1,2,3", "Q2,12k,2,3"], "line 3: key 'page_views' is '12k'; it must be a number"),
        ([HEADER, "Q1,1,2,3", "Q2,1,2,-1"], "line 3: key 'language_editions' is -1.0; it must be a number, 0 or more"),
        ([HEADER, "Q1,1,nan,3", "Q2,1,2,3"], "line 2: key 'article_length' is nan"),
        ([HEADER, "Q1,1,2,3", "Q2,1,1e999,3"], "line 3: key 'article_length' is inf"),
        ([HEADER, "Q1,1,2,3", "Q2,1,2,3", "Q1,4,5,6"], "line 4: key 'id' is 'Q1' as in"),
        ([HEADER, "Q1,1,2,3", ",1,2,3"], "line 3: key 'id' is ''; it must be a text"),
        ([HEADER, "Q1,1,2,3", "Q1 ,1,2,3"], "line 3: key 'id' is 'Q1 '; it must be a text without space"),
        ([HEADER, "Q1,1,2,3", '"Q2,1,2,3'], "line 3: bad CSV ("),
        ([HEADER, "Q1,1,2,3"], "presence.csv: holds fewer than two people; scores are relative and need two or more"),
        ([HEADER], "presence.csv: holds fewer than two people"),
    ],
)
def test_bad_csv_is_one_line(lines: list[str], told: str, tmp_path: Path) -> None:
    said = refusal(read_presence, table_file(tmp_path, *lines))
    assert "presence.csv" in said
    assert told in said


GOOD = '{"id": "Q1", "page_views": 1, "article_length": 2, "language_editions": 3}'


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (GOOD, "line 2: key 'id' is 'Q1' as in"),
        ('{"id": "Q2", "page_views": 1, "article_length": 2}', "line 2: key 'language_editions' is missing"),
        (GOOD.replace("Q1", "Q2").replace("}", ', "x": 1}'), "line 2: key 'x' is unknown"),
        (GOOD.replace('"Q1"', "2"), "line 2: key 'id' is int; it must be a string"),
        (GOOD.replace("Q1", "Q2").replace(": 2", ": NaN"), "line 2: key 'article_length' is nan"),
        (GOOD.replace("Q1", "Q2").replace(": 2", ": Infinity"), "line 2: key 'article_length' is inf"),
        (GOOD.replace("Q1", "Q2").replace(": 2", ": 1" + "0" * 400), "line 2: key 'article_length' is 1000"),
        (GOOD.replace("Q1", "Q2").replace(": 2", ": -1"), "line 2: key 'article_length' is -1"),
        (GOOD.replace("Q1", "Q2").replace(": 2", ': "2"'), "line 2: key 'article_length' is '2'"),
        (GOOD.replace("Q1", "Q2").replace(": 2", ": true"), "line 2: key 'article_length' is True"),
        (GOOD.replace("Q1", "Q2").replace(": 2", ": null"), "line 2: key 'article_length' is None"),
        ("{", "line 2: bad JSON"),
        ("", "presence.jsonl: holds fewer than two people"),
    ],
)
def test_bad_jsonl_is_one_line(line: str, told: str, tmp_path: Path) -> None:
    said = refusal(read_presence, table_file(tmp_path, GOOD, line, kind="jsonl"))
    assert "presence.jsonl" in said
    assert told in said


def test_files_that_are_not_there_or_of_another_kind(tmp_path: Path) -> None:
    assert "none.csv: no such file" in refusal(read_presence, tmp_path / "none.csv")
    said = refusal(read_presence, tmp_path / "presence.tsv")
    assert "presence.tsv: a table of web presence is a .csv or a .jsonl file" in said


@pytest.mark.parametrize(
    ("scores", "size", "told"),
    [
        ({}, None, "fewer than two people make no two cohorts"),
        ({"a": 1.0}, 1, "fewer than two people make no two cohorts"),
        ({"a": 1.0, "b": 2.0, "c": 3.0}, 2, "cohorts of 2 out of 3 people; choose a size from 1 to 1"),
        ({"a": 1.0, "b": 2.0}, 0, "cohorts of 0 out of 2 people"),
        ({"a": 1.0, "b": 2.0}, -1, "cohorts of -1 out of 2 people"),
        ({"a": 1.0, "b": math.nan}, None, "the score of 'b' is nan"),
    ],
)
def test_cohorts_that_cannot_be(scores: dict[str, float], size: int | None, told: str) -> None:
    assert told in refusal(cohorts, scores, size)
