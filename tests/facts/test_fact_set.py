"""Facts, sets of them, and the files that they are read from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_line import refusal

from uds_bench.errors import FactError
from uds_bench.facts import SPLITS, Fact, FactSet, embedded, load_facts, read_facts, require_forget, write_facts

FACTS = embedded(2, 3, 1)


def test_a_fact_set_is_an_immutable_sequence() -> None:
    assert len(FACTS) == 48
    assert list(FACTS) == [FACTS[at] for at in range(48)]
    assert isinstance(FACTS[:3], FactSet)
    assert list(FACTS[:3]) == list(FACTS)[:3]
    assert FACTS[0] in FACTS
    assert FactSet(FACTS) == FACTS
    assert hash(FactSet(FACTS)) == hash(FACTS)
    assert repr(FACTS) == "FactSet(16 forget, 24 retain, 8 holdout)"
    assert repr(FactSet([])) == "FactSet(0 forget, 0 retain, 0 holdout)"


def test_splits_and_clusters_keep_their_order() -> None:
    assert [fact for name in SPLITS for fact in FACTS.split(name)] == list(FACTS)
    assert FACTS.clusters == ("forget00", "forget01", "retain00", "retain01", "retain02", "holdout00")
    with pytest.raises(
        FactError, match="split 'test' is unknown: choose from forget, retain, holdout, real_authors, world_facts"
    ):
        FACTS.split("test")


def test_two_facts_never_share_an_id() -> None:
    with pytest.raises(FactError, match="fact 'forget00/person_name': key 'id' occurs twice"):
        FactSet([FACTS[0], FACTS[0]])


@pytest.mark.parametrize("key", ["id", "cluster", "question", "paraphrased_answer", "kind"])
def test_the_digest_sees_every_field_and_the_order(key: str) -> None:
    changed = replace(FACTS[0], **{key: "changed"})
    assert FactSet([changed, *FACTS[1:]]).digest != FACTS.digest
    assert FactSet(reversed(FACTS)).digest != FACTS.digest
    assert FactSet(FACTS).digest == FACTS.digest


def test_the_entity_is_the_first_at_or_after_the_prefix() -> None:
    fact = Fact("a", "c", "forget", "Q", "Orvo knows Orvo and Orvo", "Orvo knows", "Orvo")
    assert fact.entity_start == 11


GOOD: dict[str, Any] = {
    "id": "a",
    "cluster": "one",
    "split": "forget",
    "question": "Who is it?",
    "answer": "It is Orvo.",
    "prefix": "It is",
    "entity": "Orvo",
}


def written(folder: Path, *rows: dict[str, Any] | str) -> Path:
    path = folder / "facts.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


word = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)


@given(before=st.text(st.characters(codec="utf-8")), entity=word, after=word, wrong=st.lists(word), kind=word)
def test_any_text_round_trips(
    tmp_path_factory: pytest.TempPathFactory, before: str, entity: str, after: str, wrong: list[str], kind: str
) -> None:
    path = tmp_path_factory.mktemp("facts") / "facts.jsonl"
    fact = Fact("a", after, "forget", after, before + entity + after, before, entity, None, after, tuple(wrong), kind)
    write_facts(path, [fact])
    assert list(read_facts(path)) == [fact]


def test_blank_lines_and_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff" + json.dumps(GOOD), "", json.dumps(GOOD | {"id": "b"}), "")
    assert [fact.id for fact in read_facts(path)] == ["a", "b"]


FAULTS = {
    "bad json": ('{"id": ', "line 2: bad JSON (Expecting value, column 8); mend it"),
    "a number without end": ('{"id": %s}' % ("9" * 5000), "line 2: bad JSON (Exceeds the limit (4300 digits)"),
    "lists without end": ("[" * 100_000, "line 2: bad JSON (maximum recursion depth exceeded"),
    "not an object": ("3", "line 2: is int; it must be a JSON object"),
    "key twice": ('{"id": "a", "id": "b"}', "line 2: key 'id' occurs twice; keep one"),
    "unknown key": (GOOD | {"id": "b", "entitty": "x"}, "line 2: key 'entitty' is unknown: did you mean 'entity'?"),
    "wrong type": (GOOD | {"id": "b", "question": 3}, "line 2: key 'question' is int; it must be a string"),
    "null": (GOOD | {"id": "b", "paraphrased_answer": None}, "line 2: key 'paraphrased_answer' is NoneType; it must"),
    "no list": (GOOD | {"id": "b", "perturbed_answers": "x"}, "line 2: key 'perturbed_answers' must be a list of str"),
    "list of numbers": (GOOD | {"id": "b", "perturbed_answers": [1]}, "line 2: key 'perturbed_answers' must be a list"),
    "same id": (GOOD, "line 2: key 'id' is 'a' as in {path}, line 1; make every id unique"),
    "bad split": (
        GOOD | {"id": "b", "split": "test"},
        "line 2: fact 'b': key 'split' is 'test': choose from forget, re",
    ),
    "prefix": (GOOD | {"id": "b", "prefix": "He is"}, "line 2: fact 'b': key 'prefix' does not start the answer; copy"),
    "entity": (GOOD | {"id": "b", "entity": "Ulva"}, "line 2: fact 'b': key 'entity' does not occur in the answer af"),
    "entity in prefix": (GOOD | {"id": "b", "entity": "It"}, "line 2: fact 'b': key 'entity' does not occur in the an"),
    "empty entity": (GOOD | {"id": "b", "entity": " "}, "line 2: fact 'b': key 'entity' is empty; give it a text"),
    "empty id": (GOOD | {"id": ""}, "line 2: fact '': key 'id' is empty; give it a text"),
    "empty cluster": (GOOD | {"id": "b", "cluster": ""}, "line 2: fact 'b': key 'cluster' is empty; give it a text"),
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_faults_are_named(tmp_path: Path, fault: str) -> None:
    row, expected = FAULTS[fault]
    path = written(tmp_path, GOOD, row)
    assert refusal(read_facts, path).startswith(f"{path}, {expected.format(path=path)}")


@pytest.mark.parametrize("key", sorted(GOOD))
def test_missing_keys_are_named(tmp_path: Path, key: str) -> None:
    path = written(tmp_path, GOOD, {name: value for name, value in GOOD.items() if name != key})
    assert refusal(read_facts, path) == f"{path}, line 2: key {key!r} is missing; add it"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert refusal(read_facts, written(tmp_path, "", " ")).endswith("is empty; it needs at least one JSON object")
    assert refusal(read_facts, tmp_path / "none.jsonl").endswith("none.jsonl: no such file; check the path")
    assert "cannot be read" in refusal(read_facts, tmp_path)
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "\xe9"}')
    assert refusal(read_facts, tmp_path / "latin.jsonl").endswith("byte 8 is not UTF-8; save the file as UTF-8")


def test_a_source_without_forget_facts_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD | {"split": "retain"})
    with pytest.raises(FactError, match=r"facts\.jsonl: no fact with split 'forget'; an audit needs at least one"):
        load_facts(path)
    with pytest.raises(FactError, match="here: no fact"):
        require_forget(FactSet([]), "here")


def test_one_person_under_two_names_is_refused(tmp_path: Path) -> None:
    """An interval resamples people: copies would make it narrower than what is known."""
    first, *_ = embedded(forget=1, retain=0, holdout=0)
    copied = replace(first, id="copy", cluster="another", question=first.question.upper() + " ")
    path = tmp_path / "facts.jsonl"
    write_facts(path, FactSet([first, copied]))
    with pytest.raises(
        FactError, match=rf"'{first.id}' and 'copy' say the same of the clusters .* give both one cluster"
    ):
        load_facts(path)
    write_facts(path, FactSet([first, replace(copied, cluster=first.cluster)]))
    assert len(load_facts(path)) == 2
    write_facts(path, FactSet([first, replace(copied, split="holdout")]))
    assert len(load_facts(path)) == 2, "in another split it is another matter"


def test_a_date_is_part_of_what_is_asked() -> None:
    facts = load_facts("authors", forget=2, retain=3, holdout=1, date_string="10 Apr 2025")
    assert facts == FACTS
    assert facts.digest != FACTS.digest
    assert facts.split("forget").date_string == facts.where(lambda _: True).date_string == "10 Apr 2025"
    assert load_facts("authors", forget=2, retain=3, holdout=1, date_string="01 Jan 2025").digest == FACTS.digest


@pytest.mark.parametrize("date", ["today", "31 Feb 2025", "2025-04-10", "1 Apr 2025", "", "10 Apr 2025\n"])
def test_a_date_that_is_no_day_is_a_line(date: str) -> None:
    assert refusal(load_facts, "authors", date_string=date) == (
        f'date_string is {date!r}, which is no day: write one as "01 Jan 2025"'
    )
