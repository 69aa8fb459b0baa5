"""Whom requests are held against: strangers of the same script who are told the same, as many as it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from file_rows import JANE, REQUEST

from uds_bench.audits.association.audit import read
from uds_bench.audits.association.people import people_of
from uds_bench.audits.association.section import Association
from uds_bench.errors import FactError
from uds_bench.facts.exposed_people import NEVER_SEEN
from uds_bench.facts.scripts import script_of

PHONE = {"sentence": "李明的电话号码是PROTECTED。", "value": "13800138000"}
LI: dict[str, Any] = REQUEST | {"person": "李明", "facts": [PHONE]}


def section(folder: Path, *rows: dict[str, Any], **more: Any) -> Association:
    path = folder / "requests.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Association(requests=str(path), **more)


def test_strangers_are_told_what_the_person_is(tmp_path: Path) -> None:
    found = people_of(section(tmp_path, LI))
    (one, *others) = found.subjects
    assert (found.forgotten, found.alone) == ({"r1"}, {"r1"})
    assert len(others) == 79
    assert {other.cohort for other in others} == {NEVER_SEEN}
    assert {other.statements for other in others} == {one.statements}, "the same value, so that the name alone differs"
    assert {(script_of(other.name), len(other.name)) for other in others} == {("CJK", 2)}
    asked = read(section(tmp_path, LI)).items
    assert len({item.candidates for item in asked}) == 1, "told from the same values, whatever they mean"


@pytest.mark.parametrize(("more", "count"), [({"phrasings": ["李明，电话PROTECTED"]}, 159), ({}, 79)])
def test_as_many_as_it_takes_to_tell_one(tmp_path: Path, more: dict[str, Any], count: int) -> None:
    probe_set = read(section(tmp_path, {**LI, "facts": [{**PHONE, **more}]}))
    assert len({one.cluster for one in probe_set.never_seen}) == count
    assert bool(probe_set.held_out) == bool(more)
    assert probe_set.each_alone


def test_requests_stand_beside_people_who_are_kept(tmp_path: Path) -> None:
    (tmp_path / "people.jsonl").write_text(json.dumps(JANE))
    also = {**LI, "id": "r2"}
    probe_set = read(section(tmp_path, LI, also, subjects=str(tmp_path / "people.jsonl"), strangers=60, meaning=False))
    assert probe_set.forgotten == {"r1", "r2"}, "one person may ask twice"
    assert {one.cluster for one in probe_set.kept} == {"q1"}
    of = [one.cluster.partition("/")[0] for one in probe_set.never_seen]
    assert [of.count(name) for name in ("r1", "r2", "invented")] == [60, 60, 60]


@pytest.mark.parametrize(
    ("rows", "more", "told"),
    [
        ([{**LI, "person": "ሀና", "facts": [{"sentence": "ሀና: PROTECTED", "value": "7 1"}]}], {}, "ethiopic"),
        (
            [{**LI, "person": "Nil", "facts": [{"sentence": "Nil: PROTECTED", "value": "7 1"}]}],
            {"strangers": 999},
            "latin",
        ),
        ([{**LI, "id": "q1"}], {"subjects": "people.jsonl"}, "'q1': key 'id' occurs twice"),
        (
            [{**LI, "person": "Jane Doe", "facts": JANE["facts"]}],
            {"subjects": "people.jsonl"},
            "'r1' has the name of 'q1'",
        ),
        ([LI], {"forgotten": ("r9",)}, "forgotten: 'r9' is no id of people or "),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, rows: list[Any], more: dict[str, Any], told: str) -> None:
    if "subjects" in more:
        (tmp_path / "people.jsonl").write_text(json.dumps(JANE))
        more = {"subjects": str(tmp_path / "people.jsonl")}
    with pytest.raises(FactError) as refused:
        people_of(section(tmp_path, *rows, **more))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_of_names_serves_any_script(tmp_path: Path) -> None:
    letters = "ለመሰረቀበተነአከወዘየደገጠፈፐሸቸ"
    names = [f"{one}{other}ና" for one in letters for other in letters][:120]
    (tmp_path / "names.txt").write_text("\n".join(names), encoding="utf-8")
    row = {**LI, "person": "ሀና", "facts": [{"sentence": "ሀና: PROTECTED", "value": "7 1"}]}
    found = people_of(section(tmp_path, row, names=str(tmp_path / "names.txt")))
    assert {one.name for one in found.subjects[1:]} <= set(names)
    assert len(found.subjects) == 80
