"""Requests to be forgotten: facts in any words, values like the true one, strangers' names, and what is refused."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from file_rows import BAKER, PHONE, REQUEST
from hypothesis import example, given
from hypothesis import strategies as st
from one_line import refusal

from uds_bench.errors import FactError
from uds_bench.facts.name_matching import alike
from uds_bench.facts.own_wording import DRAWN, Worded
from uds_bench.facts.properties import embedded
from uds_bench.facts.requests import add_request, read_requests
from uds_bench.facts.scripts import script_of, values_like
from uds_bench.facts.stock_names import names_like, read_names
from uds_bench.facts.subjects import Statement, read_people, stated


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "requests.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def fact(**changed: Any) -> dict[str, Any]:
    return {**REQUEST, "facts": [{key: value for key, value in {**PHONE, **changed}.items() if value is not None}]}


def test_a_request_is_read_as_it_is_stated(tmp_path: Path) -> None:
    job = {"property": "P106", "values": ["baker"]}
    more = {**PHONE, "phrasings": ["Call Jane Doe at PROTECTED."], "counterfactuals": ["1", "2"]}
    first, second = read_requests(
        write(tmp_path, {**REQUEST, "facts": [PHONE, job]}, {**REQUEST, "id": "r2", "facts": [more]}), embedded()
    )
    assert first.subject.statements == (Statement("r1#1", ("(020) 555-0114",)), Statement("r1#2", ("baker",)))
    assert first.subject.name == second.subject.name, "one person may ask twice"
    told = first.own["r1#1"]
    assert isinstance(told, Worded)
    assert told.templates[0].fill("Ann", "7") == "Ann's phone number is 7."
    assert len(told.counterfactuals) == DRAWN
    assert first.own["r1#2"].templates == embedded()["P106"].templates
    assert second.own["r2#1"].counterfactuals == ("1", "2")
    assert [one.text for one in second.own["r2#1"].templates][1] == "Call HUMAN_SUBJECT at PROTECTED_VALUE."


def test_a_value_that_a_property_lists_is_told_from_what_is_listed_beside_it(tmp_path: Path) -> None:
    row = fact(sentence="Jane Doe works as PROTECTED.", value="baker")
    (found,) = read_requests(write(tmp_path, row), embedded())
    assert set(found.own["r1#1"].counterfactuals) == set(embedded()["P106"].counterfactuals) - {"baker"}


def test_people_of_a_file_may_tell_both(tmp_path: Path) -> None:
    facts = [PHONE, BAKER]
    path = write(tmp_path, {"id": "q1", "name": "Jane Doe", "cohort": "known", "facts": facts})
    (person,), known = read_people(path, embedded())
    assert [one.property for one in person.statements] == ["q1#1", "q1#2"], "all are of the person alone"
    asked = stated(person, known["q1#1"], "(020) 555-0114", "forget")
    assert (asked.question, asked.entity) == ("Jane Doe's phone number is …", "(020) 555-0114")
    assert len(asked.perturbed_answers) == 5


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (fact(value=None), "line 1, fact 1: key 'value' is missing; add it"),
        (fact(sentence=None), "line 1, fact 1: key 'sentence' is missing; add it"),
        (fact(value=" "), "line 1, fact 1: key 'value' has no letter and no digit"),
        (fact(value=7), "line 1, fact 1: key 'value' is int; it must be a string"),
        (fact(sentence="The phone number is PROTECTED."), "a sentence has the person's name 0 times"),
        (fact(sentence="Jane Doe has a phone."), "a sentence has the place of the value, PROTECTED, 0 times"),
        (fact(sentence="PROTECTED is Jane Doe's phone."), "has its value before its subject"),
        (fact(sentence="Jane Doe of Oslo is from PROTECTED", value="Oslo"), "tells the value beside PROTECTED"),
        (fact(counterfactuals=[]), "line 1, fact 1: nothing to tell the value from"),
        (fact(counterfactuals=["(020) 555-0114."]), "counterfactual '(020) 555-0114.' spells what is true"),
        *(
            (
                fact(value="Péter Kovács", counterfactuals=["Anna Nagy", same]),
                f"line 1, fact 1: counterfactual '{same}'",
            )
            for same in ("PÉTER KOVÁCS", "Peter Kovacs", "Pеter Kоvacs")  # the last in letters that look alike
        ),
        (fact(counterfactuals=["1", "1"]), "key 'counterfactuals' has '1' twice"),
        (fact(words="x"), "line 1, fact 1: key 'words' is unknown"),
        ({**REQUEST, "date": "31.1.26"}, "line 1: request 'r1': key 'date' is '31.1.26': write a day as 2026-01-31"),
        ({**REQUEST, "facts": []}, "line 1: person 'r1': key 'facts' has none"),
        ({**REQUEST, "facts": {}}, "line 1: key 'facts' must be a list of"),
        ({**REQUEST, "person": " "}, "line 1: key 'person' is empty"),
        ({**REQUEST, "name": "x"}, "line 1: key 'name' is unknown"),
        ({**REQUEST, "facts": [{"property": "P0", "values": ["x"]}]}, "or tell the fact as a sentence and a value"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    assert told in refusal(read_requests, write(tmp_path, row), embedded())


def test_two_requests_with_one_id_are_one_line_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    add_request(path, REQUEST, embedded())
    add_request(path, {**REQUEST, "id": "r2"}, embedded())
    before = path.read_text()
    told = f"the new request: key 'id' is 'r1' as in {path}, line 1: give every request an id of its own"
    assert refusal(add_request, path, REQUEST, embedded()) == told
    assert refusal(read_requests, write(tmp_path, REQUEST, REQUEST), embedded()).startswith(
        f"{path}, line 2: key 'id' is 'r1'"
    )
    path.write_text(before.rstrip("\n"))
    add_request(path, {**REQUEST, "id": "r3"}, embedded())
    assert [one.id for one in read_requests(path, embedded())] == ["r1", "r2", "r3"]
    path.write_text(json.dumps([REQUEST]))
    assert "is one list" in refusal(add_request, path, REQUEST, embedded())


@example("ĐŒ", 9)  # beside them is a small letter that has no capital
@given(
    st.text(st.characters(categories=("Lu", "Ll", "Lo", "Nd", "Po", "Zs")), min_size=1, max_size=12), st.integers(1, 9)
)
def test_values_keep_their_shape_and_are_never_true(value: str, count: int) -> None:
    found = values_like(value, count)
    assert found == values_like(value, count)
    assert len(found) <= count
    assert len({alike(one) for one in (value, *found)}) == 1 + len(found)
    for one in found:
        assert len(one) == len(value)
        for sign, drawn in zip(value, one, strict=True):
            if sign.isdecimal():
                assert unicodedata.name(drawn).rpartition(" ")[0] == unicodedata.name(sign).rpartition(" ")[0]
            elif not sign.isalpha():
                assert drawn == sign
            assert not sign.isupper() or not drawn.islower()


def test_values_repeat_signs_where_the_true_one_does() -> None:
    """A number that repeats itself is easily guessed beside others that do not."""
    for one in values_like("0800 111 222", 100):
        assert [one.index(sign) for sign in one] == ["0800 111 222".index(sign) for sign in "0800 111 222"]


NAMES = {
    "LATIN": ("Jane Doe", "REQUEST DOE", "Anna Maria Lopez"),
    "CJK": ("李明", "欧阳修文", "李 小龍"),
    "CYRILLIC": ("Иван Петров",),
    "ARABIC": ("محمد علي",),
    "GREEK": ("Νίκος Παπάς",),
    "DEVANAGARI": ("राम सिंह",),
    "HANGUL": ("김민준",),
    "GEORGIAN": ("ნინო გელაშვილი",),
    "ARMENIAN": ("Արամ Գրիգորյան",),
    "HEBREW": ("דוד כהן",),
    "THAI": ("สมชาย ทองดี",),
}


@pytest.mark.parametrize(("script", "name"), [(script, name) for script, names in NAMES.items() for name in names])
def test_strangers_have_names_of_the_same_script_and_shape(script: str, name: str) -> None:
    found = names_like(name, 159)
    assert len(set(found)) == 159, "as many as the exact test takes"
    assert found == names_like(name, 159)
    for one in found:
        assert script_of(one) == script == script_of(name)
        assert len(one.split()) == len(name.split())
        assert not set(one.split()) & set(name.split())
        assert script not in ("CJK", "HANGUL") or len(one) == len(name)
        assert one.isupper() == name.isupper()


def test_names_of_ones_own_come_first(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("ለማ ሀይሉ\nመሐሪ ታደሰ\n\nJoe Bloggs\n", encoding="utf-8")
    names = read_names(path)
    assert names_like("ሀና በቀለ", 9, names) == names_like("ሀና በቀለ", 9, names[:2])
    assert set(names_like("ሀና በቀለ", 9, names)) == set(names[:2])
    assert names_like("Jane Doe", 3, names)[0] == "Joe Bloggs"
    path.write_text("A B\nA B\n")
    assert "has 'A B' twice" in refusal(read_names, path)
    path.write_text("\n")
    assert "is empty" in refusal(read_names, path)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"id": "mira-solheim-1"}, "holds the person's name, and outputs print it"),
        ({"date": "2999-01-01"}, "which is still to come: write the day of the request"),
    ],
)
def test_what_outputs_print_names_nobody_and_no_day_to_come(tmp_path: Path, changed: dict[str, str], told: str) -> None:
    row = {
        "id": "r1",
        "date": "2026-01-31",
        "person": "Mira Solheim",
        "facts": [
            {"sentence": "Mira Solheim lives in PROTECTED", "value": "Oslo", "counterfactuals": ["Bonn", "Faro"]}
        ],
    }
    add_request(tmp_path / "r.jsonl", row, {})
    with pytest.raises(FactError, match=told):
        add_request(tmp_path / "r.jsonl", {**row, "id": "r2", **changed}, {})
