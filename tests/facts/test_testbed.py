"""Who a localization audit asks about: parts that share nobody, files that are read back, and bad input in one line."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from one_line import refusal

from uds_bench.errors import FactError
from uds_bench.facts.profiles import PLAIN_QUESTIONS, attributes, people, styles
from uds_bench.facts.testbed import (
    INJECTED,
    PARTS,
    Item,
    QuestionCounts,
    Sizes,
    Testbed,
    documents,
    embedded_testbed,
    group_names,
    read_testbed,
    write_testbed,
)

SIZES = Sizes(groups=6, judged=2, tuning=1, public=3, instruction=2, held_out=2, unseen=2)
ASKING = QuestionCounts(questions=9, paraphrases=2, tellings=2)
TESTBED = embedded_testbed(SIZES, ASKING)
ITEM = TESTBED[0]


def test_everybody_is_in_one_part_and_every_part_has_its_people() -> None:
    people = {part: {item.person for item in TESTBED.of(part)} for part in PARTS}
    expected = {"forget": 6, "retain": 6, "tuning": 6, "public": 3, "instruction": 2, "held_out": 2, "unseen": 2}
    assert {part: len(named) for part, named in people.items()} == expected
    assert sum(map(len, people.values())) == len(set().union(*people.values()))


def test_hyper_parameters_are_chosen_on_people_of_every_group_whom_nobody_judges() -> None:
    tuned = {item.person for item in TESTBED.of("tuning")}
    assert not tuned & {item.person for item in TESTBED.of("forget", "retain")}
    assert {item.group for item in TESTBED.of("tuning")} == set(group_names(6))


def test_half_of_the_groups_are_forgotten() -> None:
    assert group_names(6) == ("forget1", "forget2", "forget3", "retain1", "retain2", "retain3")
    for part in ("forget", "retain"):
        groups = {item.group for item in TESTBED.of(part)}
        assert len(groups) == 3
        assert all(str(group).startswith(part) for group in groups)
    assert all((item.group is not None) == (item.part in INJECTED) for item in TESTBED)


def test_each_field_of_each_person_is_asked_in_many_ways() -> None:
    for item in TESTBED:
        assert len(item.questions) == ASKING.questions
        assert len(item.paraphrases) == ASKING.paraphrases
        assert not set(item.questions) & set(item.paraphrases)
        assert all(question.startswith(item.person) for question in item.questions)
        assert not any(item.answer in question for question in item.questions)
        assert len({question.split(". ")[-1] for question in item.questions}) == PLAIN_QUESTIONS


def test_the_same_seed_gives_the_same_people() -> None:
    assert embedded_testbed(SIZES, ASKING).digest == TESTBED.digest
    assert embedded_testbed(SIZES, ASKING, seed=1).digest != TESTBED.digest


def test_the_same_people_are_told_as_documents_in_every_style() -> None:
    found = list(documents(SIZES))
    places = {item.person: (item.part, item.group) for item in TESTBED}
    assert {one["person"]: (one["part"], one["group"]) for one in found} == places
    assert len(found) == len(places) * len(styles()) == len({one["text"] for one in found})
    first, values = found[0], people(1, 0)[0].values
    assert first["id"] == ITEM.id.split("/")[0]
    assert all(values[name] in str(first["text"]) for name in attributes())


def test_a_field_of_a_part() -> None:
    cities = TESTBED.of("forget", field="birth_city")
    assert {item.field for item in cities} == {"birth_city"}
    assert len(cities) * 2 == len(TESTBED.of("forget"))
    assert TESTBED.fields == ASKING.fields
    assert TESTBED.of("forget", field="shoe size") == ()


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    write_testbed(path, TESTBED)
    assert read_testbed(path).digest == TESTBED.digest


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"answer": " "}, "'answer' is empty"),
        ({"answer": "?!"}, "'answer' has no letter and no digit"),
        ({"part": "elsewhere"}, "'part' is 'elsewhere'"),
        ({"questions": ()}, "'questions' has none"),
        ({"questions": ("",)}, "'questions' has none, or an empty one"),
        ({"paraphrases": (" ",)}, "an empty one"),
        ({"group": None}, "'group' is missing"),
    ],
)
def test_an_item_that_cannot_be(change: dict[str, object], told: str) -> None:
    said = refusal(replace, ITEM, **change)
    assert ITEM.id in said
    assert told in said


def test_one_person_counts_once() -> None:
    again = replace(ITEM, id="again", person="Somebody Else")
    with pytest.raises(FactError, match=f"item 'again': asks what {ITEM.id!r} asks"):
        Testbed([ITEM, again])
    with pytest.raises(FactError, match="asks what"):
        Testbed([ITEM, replace(again, questions=("Who?",), paraphrases=ITEM.questions[:1])])
    assert len(Testbed([ITEM, replace(again, questions=("Who?",), paraphrases=())])) == 2


def test_ids_are_unique_and_nobody_is_forgotten_and_retained() -> None:
    with pytest.raises(FactError, match="occurs twice"):
        Testbed([ITEM, ITEM])
    with pytest.raises(FactError, match=f"{ITEM.person!r} is in forget too"):
        Testbed([ITEM, replace(ITEM, id="other", part="retain")])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"part": None}, "line 1: key 'part' is NoneType"),
        ({"shoe": "43"}, "line 1: key 'shoe' is unknown"),
        ({"questions": "What?"}, "line 1: key 'questions' must be a list"),
        ({"group": 3}, "line 1: key 'group' is int"),
        ({"answer": ""}, "line 1: item 'p0000/birth_city': key 'answer' is empty"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: dict[str, object], told: str) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text(json.dumps({**asdict(ITEM), **change}), encoding="utf-8")
    said = refusal(read_testbed, path)
    assert str(path) in said
    assert told in said


def test_a_file_without_anybody_to_forget(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    write_testbed(path, [Item("a", "Ada", "unseen", "age", "41", ("How old is Ada?",))])
    with pytest.raises(FactError, match="nobody with part 'forget'"):
        read_testbed(path)
