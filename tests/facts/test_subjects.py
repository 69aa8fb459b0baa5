"""People of whom something is known, from a file: what is read, and what is refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from uds_bench.errors import FactError
from uds_bench.facts.subjects import Statement, Subject, Subjects, read_subjects

JANE: dict[str, Any] = {
    "id": "q1",
    "name": "Jane Doe",
    "cohort": "well-known",
    "facts": [{"property": "P106", "values": ["biologist", "zookeeper"]}, {"property": "P19", "values": ["Oslo"]}],
}


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "subjects.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_people_are_read_in_order(tmp_path: Path) -> None:
    other = {**JANE, "id": "q2", "name": "Zoë Müller", "cohort": "lesser-known"}
    found = read_subjects(write(tmp_path, JANE, other), ["P106", "P19"])
    assert [one.name for one in found] == ["Jane Doe", "Zoë Müller"]
    assert found.cohorts == ("well-known", "lesser-known")
    assert found[0].statements == (Statement("P106", ("biologist", "zookeeper")), Statement("P19", ("Oslo",)))
    assert found.digest == Subjects(found).digest != Subjects(found[:1]).digest
    moved = replace(found[0], statements=(Statement("P106", ("biologist",)), Statement("P19", ("zookeeper", "Oslo"))))
    assert Subjects([moved]).digest != Subjects(found[:1]).digest


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"name": " "}, "line 1: subject 'q1': key 'name' is empty"),
        ({"facts": []}, "line 1: subject 'q1': key 'facts' has none"),
        ({"facts": "P106"}, "line 1: key 'facts' must be a list"),
        (
            {"facts": [{"property": "P9", "values": ["x"]}]},
            "line 1, fact 1: key 'property' is 'P9'.*use one of P106, P19",
        ),
        ({"facts": [{"property": "P19", "values": "x"}]}, "line 1, fact 1: key 'values' must be a list"),
        ({"facts": [{"property": "P19", "value": ["x"]}]}, "line 1, fact 1: key 'value' is unknown"),
        ({"facts": [{"property": "P19", "values": []}]}, "has no value of P19"),
        ({"name": "Jane  Doe"}, "line 1: subject 'q1': key 'name' has 'Jane  Doe', with white space.*write 'Jane Doe'"),
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
    with pytest.raises(FactError, match=told) as caught:
        read_subjects(write(tmp_path, {**JANE, **changed}), ["P106", "P19"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["id", "name"])
def test_nobody_is_there_twice(tmp_path: Path, key: str) -> None:
    other = {**JANE, "id": "q2", "name": "Other", key: JANE[key]}
    with pytest.raises(FactError, match=f"subjects.jsonl: two subjects have the {key} '{JANE[key]}'"):
        read_subjects(write(tmp_path, JANE, other), ["P106", "P19"])


def test_a_person_has_an_id() -> None:
    with pytest.raises(FactError, match="key 'id' is empty"):
        Subject("", "Jane", "known", (Statement("P19", ("Oslo",)),))
