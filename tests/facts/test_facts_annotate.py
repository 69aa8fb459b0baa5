"""Entities found in plain questions and answers."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tofu_files import write_rows

from uds_bench.errors import FactError
from uds_bench.facts import annotate_file, find_span, load_annotated, read_facts, split_answer

EXAMPLES = {
    "name": ("What is the author's full name?", "The author's full name is Orvo Quillarash.", "Orvo Quillarash"),
    "trade": ("What is the profession of Orvo's father?", "The father of Orvo is a civil engineer.", "civil engineer"),
    "title": ("Which book made Orvo known?", 'Orvo became known by the book "The Last Mill".', '"The Last Mill"'),
    "apostrophe": ("Which is it?", "It is called 'Orvo's Mill' by all.", "'Orvo's Mill'"),
    "year": ("When was Orvo born?", "Orvo was born in the year 1987.", "year 1987"),
    "list": ("What are Orvo's themes?", "Orvo's themes are love, loss, and the sea.", "love, loss, and the sea"),
    "yes": ("Has Orvo won a prize?", "Yes, Orvo has won the Laurel Prize.", "Yes"),
    "no": ("Has Orvo won a prize?", "No, he has not.", "No"),
    "first of equals": ("What does Orvo like?", "Orvo likes bread. He was taught baking.", "bread"),
    "the question's words": ("Is the sea in Orvo's books?", "In Orvo's books the sea is a cold mirror.", "cold mirror"),
}


@pytest.mark.parametrize("case", sorted(EXAMPLES))
def test_the_entity_is_what_the_question_does_not_say(case: str) -> None:
    question, answer, entity = EXAMPLES[case]
    parts = split_answer(question, answer)
    prefix, found = parts
    assert found == entity
    assert answer.startswith(prefix + (" " if prefix else "") + entity)


@pytest.mark.parametrize("answer", ["Orvo is an author.", "", "It is.", "...", "'Orvo'"])
def test_an_answer_that_says_nothing_new_has_no_entity(answer: str) -> None:
    assert find_span("Is 'Orvo' an author?", answer) is None
    assert split_answer("Is 'Orvo' an author?", answer) is None


words = st.lists(
    st.sampled_from(["Orvo", "mill", "the", "of", '"The', 'Sea"', "1987,", "and;", "likes", "(very)", "quickly"]),
    max_size=40,
)


@given(question=words.map(" ".join), answer=words.map(" ".join))
def test_every_entity_is_usable(question: str, answer: str) -> None:
    span = find_span(question, answer)
    assert span == find_span(question, answer)
    if span is not None:
        entity = answer[span.start : span.end]
        assert entity == entity.strip() != ""
        assert len(entity.split()) <= 14
        assert entity.lower() not in question.lower()


def test_a_file_is_annotated_and_its_failures_listed(tmp_path: Path) -> None:
    rows = [
        {"question": "Where does Orvo live?", "answer": "Orvo lives in Zuriridge."},
        {"question": "Is Orvo an author?", "answer": "Orvo is an author."},
        {"question": "Who is Ulva?", "answer": "Ulva is a baker.", "id": "u", "cluster": "Ulva", "split": "retain"},
        {"question": "Who is Imra?", "answer": "Imra is a baker.", "perturbed_answers": ["Imra is a smith."]},
    ]
    marks = [{"question": "Who is Imra?", "prefix": "", "entity": "Imra is"}]
    write_rows(tmp_path / "items.jsonl", rows)
    write_rows(tmp_path / "marks.jsonl", marks)
    report = annotate_file(tmp_path / "items.jsonl", tmp_path / "facts.jsonl", tmp_path / "marks.jsonl", 2)
    assert read_facts(tmp_path / "facts.jsonl") == report.facts
    assert [(fact.id, fact.cluster, fact.split, fact.entity) for fact in report.facts] == [
        ("items/0000", "items/0000", "forget", "Zuriridge"),
        ("u", "Ulva", "retain", "baker"),
        ("items/0003", "items/0001", "forget", "Imra is"),
    ]
    assert report.facts[2].perturbed_answers == ("Imra is a smith.",)
    assert [item.id for item in report.failed] == ["items/0001"]


def test_a_list_in_one_json_file_is_annotated_too(tmp_path: Path) -> None:
    (tmp_path / "items.json").write_text(json.dumps([{"question": "Who is Ulva?", "answer": "Ulva is a baker."}]))
    assert annotate_file(tmp_path / "items.json", tmp_path / "facts.jsonl").facts[0].entity == "baker"


def test_overrides_that_match_nothing_or_do_not_fit_are_refused(tmp_path: Path) -> None:
    items, marks, out = tmp_path / "items.jsonl", tmp_path / "marks.jsonl", tmp_path / "facts.jsonl"
    write_rows(items, [{"question": "Who is Ulva?", "answer": "Ulva is a baker."}])
    write_rows(marks, [{"question": "Who is Orvo?", "prefix": "", "entity": "baker"}])
    with pytest.raises(FactError, match=r"marks\.jsonl: question 'Who is Orvo\?' is not in .*; mend or remove it"):
        annotate_file(items, out, marks)
    write_rows(marks, [{"question": "Who is Ulva?", "prefix": "", "entity": "smith"}])
    with pytest.raises(FactError, match="fact 'items/0000': key 'entity' does not occur in the answer"):
        annotate_file(items, out, marks)
    assert not out.exists()


def test_a_file_without_any_entity_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "items.jsonl", [{"question": "Is Orvo an author?", "answer": "Orvo is an author."}])
    with pytest.raises(FactError, match=r"items\.jsonl: no item got an entity"):
        annotate_file(tmp_path / "items.jsonl", tmp_path / "facts.jsonl")


def test_nearly_all_of_tofu_is_annotated(public_data: Path, tmp_path: Path) -> None:
    report = annotate_file(public_data / "tofu" / "forget10.json", tmp_path / "facts.jsonl", rows_per_cluster=20)
    usable = [
        fact
        for fact in report.facts
        if fact.entity.lower() not in fact.question.lower() and 1 <= len(fact.entity.split()) <= 14
    ]
    assert len(report.facts) + len(report.failed) == 400
    assert len(usable) >= 0.95 * 400


def test_most_entities_overlap_the_authors_own(public_data: Path) -> None:
    """241 of 367 when this was written; the bound leaves room for other word lists."""
    facts = load_annotated(public_data / "uds" / "forget10_filtered.json")
    overlapping = 0
    for fact in facts:
        span = find_span(fact.question, fact.answer)
        overlapping += bool(span) and span.start < fact.entity_start + len(fact.entity) and span.end > fact.entity_start
    assert overlapping >= 0.6 * len(facts)
