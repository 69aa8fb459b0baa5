"""Prompts for the rows of a database: what is read, and what is refused with file, line and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from file_rows import CAPITALS, asks
from one_line import refusal

from uds_bench.errors import FactError
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts, read_prompts, write_prompts
from uds_bench.facts.triplets import Triplet, TripletDatabase

DATABASE = TripletDatabase([Triplet(*row) for row in CAPITALS], "db.json")


def row(fact: int, **changed: Any) -> dict[str, Any]:
    return asks(fact, CAPITALS[fact % 2], **changed)


def read(folder: Path, *rows: dict[str, Any], name: str = "prompts_direct_questions", **options: Any) -> LookupPrompts:
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in rows))
    return read_prompts(DATABASE, [path], **options)


def test_facts_and_prompts(tmp_path: Path) -> None:
    found = read(tmp_path, row(0, subject_aliases=["Republic of Austria"], object_aliases=["Wien"]), row(1))
    assert [fact.triplet for fact in found.facts] == list(DATABASE)
    assert found.facts[0].answers == ("Vienna", "Wien")
    assert found.wordings == ("direct",)
    assert "austria" in found.names[0].meeting(["republic of austria"])
    write_prompts(tmp_path / "again", found)
    assert read_prompts(DATABASE, [tmp_path / "again" / "prompts_direct_questions.jsonl"]) == found


def test_a_fact_is_one_over_its_wordings(tmp_path: Path) -> None:
    files = []
    for name, changed in (("prompts_cloze", {}), ("prompts_continuations", {"object_aliases": ["Wien"]})):
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text(json.dumps(row(0, **changed)))
    with pytest.raises(FactError, match=r"continuations.jsonl, line 1: fact 0 differs from the one in .*cloze"):
        read_prompts(DATABASE, files)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([row(0), row(0)], "line 2: key 'fact_id' is 0 as in"),
        ([row(0, gold_object="Graz")], "line 1: asks for Austria | Capital | Graz, which is no row of db.json"),
        ([row(0, subject="")], "line 1: key 'subject' is empty"),
        ([row(0, prompt_text=" ")], "line 1: key 'prompt_text' is empty"),
        ([row(0, object_aliases=["Wien", ""])], "line 1: an alias is empty"),
        ([row(0, fact_id="0")], "line 1: key 'fact_id' must be a row number"),
        ([row(0, alias=["x"])], "line 1: key 'alias' is unknown"),
        (
            [row(0, subject_aliases=["Land"]), row(1, subject_aliases=["land"])],
            "subject alias 'Land' names both 'Austria' and 'Peru'",
        ),
    ],
)
def test_bad_rows_are_one_line(tmp_path: Path, rows: list[dict[str, Any]], told: str) -> None:
    said = refusal(read, tmp_path, *rows)
    assert "prompts_direct_questions.jsonl" in said
    assert told in said


def test_an_alias_of_two_things_makes_them_one_where_that_is_asked_for(tmp_path: Path) -> None:
    rows = [row(0, subject_aliases=["Land"]), row(1, subject_aliases=["land"])]
    assert "peru" in read(tmp_path, *rows, transitive=True).names[0].meeting(["Austria"])


def test_objects_may_share_a_spelling(tmp_path: Path) -> None:
    read(tmp_path, row(0, object_aliases=["the city"]), row(1, object_aliases=["the city"]))


def test_the_name_of_a_file_says_its_wording(tmp_path: Path) -> None:
    with pytest.raises(FactError, match="the name of a prompt file says its wording"):
        read(tmp_path, row(0), name="prompts")


@pytest.mark.parametrize(
    ("facts", "prompts", "told"),
    [
        ([LookupFact(0, DATABASE[0])], [LookupPrompt(7, "direct", "?")], "asks for fact 7, which is not there"),
        (
            [LookupFact(0, DATABASE[0])],
            [LookupPrompt(0, "direct", "?")] * 2,
            "fact 0 has two prompts of wording direct",
        ),
        ([LookupFact(0, DATABASE[0])] * 2, [], "fact id occurs twice"),
        ([LookupFact(0, Triplet("a", "b", "c"))], [], "is not among the rows"),
    ],
)
def test_facts_and_prompts_that_do_not_belong_together(
    facts: list[LookupFact], prompts: list[LookupPrompt], told: str
) -> None:
    assert told in refusal(LookupPrompts, DATABASE, tuple(facts), tuple(prompts))


def test_an_object_without_a_letter_is_refused_as_no_reply_would_tell_it() -> None:
    row = Triplet("Ada", "likes", "♠!")
    told = refusal(LookupPrompts, TripletDatabase([row], "cards"), (LookupFact(0, row),), ())
    assert told.startswith("cards: fact 0: the object '♠!' has no letter and no digit")
