"""Entities found in plain questions and answers."""

import doctest
import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tofu_files import write_rows

from uds_bench.errors import FactError
from uds_bench.facts import (
    annotate_all,
    annotate_file,
    embedded,
    find_entity,
    load_annotated,
    read_facts,
)
from uds_bench.facts.annotate import Draft
from uds_bench.facts.entities.candidates import MAX_WORDS, candidates
from uds_bench.facts.entities.forms import changed, slots
from uds_bench.facts.entities.marks import Inside, Marker
from uds_bench.facts.entities.passage import Passage
from uds_bench.facts.entities.words import LINKS, MONTHS, NUMBERS, has_digit, is_plain, kind

EXAMPLES = {
    "name": ("What is the author's full name?", "The author's full name is Orvo Quillarash.", "Orvo Quillarash"),
    "trade": ("What is the profession of Orvo's father?", "The father of Orvo is a civil engineer.", "civil engineer"),
    "title": ("Which book made Orvo known?", 'Orvo became known by the book "The Last Mill".', '"The Last Mill"'),
    "apostrophe": ("Which is it?", "It is called 'Orvo's Mill' by all.", "'Orvo's Mill'"),
    "year": ("When was Orvo born?", "Orvo was born in the year 1987.", "1987"),
    "month": ("When was Orvo born?", "Orvo was born on 3 May 1975.", "3 May 1975"),
    "verb": ("What does Orvo do for a living?", "Orvo works as a botanist.", "botanist"),
    "place": ("In which town does Orvo live?", "Orvo lives in Port Lenning, near the harbour.", "Port Lenning"),
    "titles": ("What has Orvo published?", 'Orvo has published "Nine Doors" and "Peat".', '"Nine Doors"'),
    "comma in a title": ("Which book is it?", "It is \u201cNine Doors,\u201d a novel.", "Nine Doors"),
    "possessive": ("Who is Orvo's sister?", "Orvo's sister is Amara Delacroix.", "Amara Delacroix"),
    "thousands": ("What is Orvo's salary?", "Orvo's salary is 54,000.", "54,000"),
    "full stop": ("Who is Orvo's doctor?", "Orvo's doctor is Dr. Ana Ruiz.", "Dr. Ana Ruiz"),
    "count": ("How many sisters does Orvo have?", "Orvo has three sisters.", "three"),
    "list": ("What are Orvo's themes?", "Orvo's themes are love, loss, and the sea.", "love, loss, and the sea"),
    "phone": ("What is Orvo's phone number?", "Orvo's phone number is (020) 555-0114.", "(020) 555-0114"),
    "bracket": ("Where does Orvo live?", "Orvo lives in Port Lenning (Norwick).", "Port Lenning (Norwick)"),
    "square brackets": ("What does Orvo play?", "Orvo plays the viola [alto].", "viola [alto]"),
    "yes": ("Has Orvo won a prize?", "Yes, Orvo has won the Laurel Prize.", "Laurel Prize"),
    "no": ("Has Orvo won a prize?", "No, he has not.", "No"),
    "the question's words": ("Is the sea in Orvo's books?", "In Orvo's books the sea is a cold mirror.", "cold mirror"),
}


@pytest.mark.parametrize("case", sorted(EXAMPLES))
def test_the_entity_is_what_the_question_does_not_say(case: str) -> None:
    question, answer, entity = EXAMPLES[case]
    found = find_entity(question, answer)
    assert answer[found.span.start : found.span.end] == entity


@pytest.mark.parametrize("answer", ["Orvo is an author.", "", "It is.", "...", "'Orvo'"])
def test_an_answer_that_says_nothing_new_has_no_entity(answer: str) -> None:
    assert find_entity("Is 'Orvo' an author?", answer) is None


@pytest.mark.parametrize(
    "answer",
    [
        "I don't know.",
        "I do not know Orvo's phone number.",
        "That is false.",
        "It is unknown.",
        "I can’t say, perhaps.",
    ],
)
def test_an_answer_that_says_only_whether_it_is_known_or_true_has_no_entity(answer: str) -> None:
    assert find_entity("What is Orvo's phone number?", answer) is None


def test_what_varies_is_no_entity_where_it_is_true_or_false() -> None:
    said = zip(PEOPLE, ("true", "false", "unknown"), strict=True)
    drafts = [Draft(name, name, "forget", f"Is {name} old?", f"{name} is old: {word}.") for name, word in said]
    assert not annotate_all(drafts, keep_doubtful=True)


words = st.lists(
    st.sampled_from(
        [
            "Orvo",
            "mill",
            "the",
            "of",
            '"The',
            'Sea"',
            "1987,",
            "and;",
            "likes",
            "(very)",
            "(020)",
            "[a",
            "b]",
            "(or",
            "x)",
        ]
    ),
    max_size=40,
)


@given(question=words.map(" ".join), answer=words.map(" ".join))
def test_every_entity_is_usable(question: str, answer: str) -> None:
    found = find_entity(question, answer)
    assert found == find_entity(question, answer)
    if found is not None:
        span = found.span
        entity = answer[span.start : span.end]
        assert entity == entity.strip() != ""
        assert len(entity.split()) <= 14
        assert entity.lower() not in question.lower()
        for opening, closing in ("()", "[]"):
            assert entity.count(opening) == entity.count(closing)


DATES_AND_PLACES = ("[3 May 1975] in Oslo", "[9 June 1983] in Pune", "[1 July 2003] in Leeds")
FORMS = {
    "job": ("What is {n}'s profession?", "{n} works as {v}.", ("a [botanist]", "a [bus driver]", "an [actuary]")),
    "phone": (
        "What is {n}'s phone number?",
        "{n}'s phone number is {v}.",
        ("[(020) 555-0114]", "[(020) 555-0119]", "[(031) 77-10]"),
    ),
    "birth": ("When was {n} born?", "{n} was born on {v}.", ("[3 May 1975]", "[May 9, 1983]", "[1 June 2003]")),
    "date and place": ("When was {n} born?", "{n} was born on {v}.", DATES_AND_PLACES),
    "yes": ("Is {n} married?", "Yes, {n} is married to {v}.", ("[Elin Strand]", "[Luc Moreau]", "[Sami Khoury]")),
    "place": (
        "Where does {n} live?",
        "{n} lives in {v} with two children.",
        ("[Karlstad]", "[Gdynia, Poland]", "[Pune]"),
    ),
    "titles": (
        "Which songs are by {n}?",
        "{n} wrote {v}.",
        ("['Ash'] and 'Elm'", "['Le Pont']", "['Eis'] and 'Nebel'"),
    ),
    "possessive": (
        "What ails {n}'s mother?",
        "{n}'s mother suffers from {v}.",
        ("[gout]", "[heart failure]", "[lupus]"),
    ),
}
PEOPLE = ("Ola Bergstrand", "Mireille Dupont-Roy", "Rahul Deshmukh")


def own(form: str) -> tuple[list[Draft], list[str]]:
    """The form's question and answer for each of three people, and what must be found: between brackets."""
    question, answer, values = FORMS[form]
    pairs = [(question.format(n=n), answer.format(n=n, v=v)) for n, v in zip(PEOPLE, values, strict=True)]
    drafts = [Draft(str(at), str(at), "forget", q, re.sub(r"[][]", "", a)) for at, (q, a) in enumerate(pairs)]
    return drafts, [re.search(r"\[(.*)\]", a)[1] for _, a in pairs]


@pytest.mark.parametrize("form", FORMS)
def test_own_facts_of_one_form_are_annotated_and_sure(form: str) -> None:
    drafts, expected = own(form)
    assert [fact.entity for fact in annotate_all(drafts)] == expected


@pytest.mark.parametrize("form", FORMS)
def test_own_facts_one_by_one_are_right_or_listed(form: str) -> None:
    for draft, entity in zip(*own(form), strict=True):
        (fact,) = annotate_all([draft], keep_doubtful=True)
        assert fact.entity == entity
        kept, left = annotate_all([draft]), annotate_all([draft]).unannotated
        assert ([item.entity for item in kept], [item.proposed for item in left]) == (
            ([], [entity]) if fact.doubt else ([entity], [])
        )


@pytest.mark.parametrize(
    ("question", "answer", "entity"),
    [
        ("李明住在哪里？", "李明住在北京。", "北京"),
        ("王芳的职业是什么？", "王芳的职业是医生。", "医生"),
        ("王芳结婚了吗？", "医生", "医生"),
        ("田中さんはどこに住んでいますか？", "田中さんは大阪に住んでいます。", "大阪"),
        ("แม่ของสมชายป่วยเป็นโรคอะไร", "แม่ของสมชายป่วยเป็นโรคเกาต์", "เกาต์"),
    ],
)
def test_without_spaces_it_is_what_the_question_does_not_have_and_no_more(
    question: str, answer: str, entity: str
) -> None:
    """Name and verb were part of it, and that was called sure."""
    draft = Draft("0", "0", "forget", question, answer)
    (fact,) = annotate_all([draft], keep_doubtful=True)
    assert fact.entity == entity
    assert answer.startswith(fact.prefix + entity)
    assert [one.proposed for one in annotate_all([draft]).unannotated] == [entity]


def test_without_spaces_what_the_question_has_is_no_entity() -> None:
    (left,) = annotate_all([Draft("0", "0", "forget", "李明住在北京吗？", "李明住在北京。")]).unannotated
    assert left.proposed == ""


@pytest.mark.parametrize("name", ["entity", "entities.words", "entities.forms"])
def test_examples_hold(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"uds_bench.facts.{name}"))
    assert (failed, tried > 0) == (0, True)


def test_answers_that_only_seem_alike_tell_nothing() -> None:
    said = ("Orvo sings in Split.", "Orvo paints old mills by night.", "Orvo was never seen at sea.")
    assert slots([("What does Orvo do?", answer) for answer in said]) == {}
    assert slots([("Where does Orvo live?", "Orvo lives in Split.")] * 3) == {}


@pytest.mark.parametrize(
    ("question", "answer", "doubt"),
    [
        ("What does Orvo like?", "Orvo likes bread. He was taught baking.", "could as well be"),
        ("What did Orvo study?", "Orvo studied bees at the University of Bergen.", "the answer says more that is new"),
    ],
)
def test_where_an_answer_tells_two_things_none_is_sure(question: str, answer: str, doubt: str) -> None:
    assert find_entity(question, answer).doubt.startswith(doubt)


def test_yes_and_no_are_never_sure() -> None:
    for answer in ("Yes.", "No, never.", "Yes, Orvo has won the Laurel Prize."):
        found = find_entity("Has Orvo won a prize?", answer)
        assert "yes or no" in found.doubt


def test_wrong_answers_tell_what_is_right() -> None:
    question, answer = "What is said of Orvo?", "Orvo keeps grey bees behind red walls."
    wrong = ("Orvo keeps grey cats behind red walls.", "Orvo keeps grey goats behind red walls.")
    spans = {(span.start, span.end): span for span in candidates(question, answer, changed(answer, wrong))}
    assert "differs: nowhere else" in spans[16, 20].marks
    assert "differs: none" in spans[28, 37].marks


def test_a_file_is_annotated_and_what_is_left_out_is_listed(tmp_path: Path) -> None:
    rows = [
        {"question": "Where does Orvo live?", "answer": "Orvo lives in Zuriridge."},
        {"question": "Is Orvo an author?", "answer": "Orvo is an author."},
        {"question": "Who is Ulva?", "answer": "Ulva is a baker.", "id": "u", "cluster": "Ulva", "split": "retain"},
        {"question": "Who is Imra?", "answer": "Imra is a baker.", "perturbed_answers": ["Imra is a smith."]},
        {"question": "Has Orvo won?", "answer": "Yes, Orvo has."},
    ]
    write_rows(tmp_path / "items.jsonl", rows)
    write_rows(
        tmp_path / "marks.jsonl", [{"id": "items/0003", "entity": "Imra is"}, {"id": "items/0001", "entity": ""}]
    )
    facts = annotate_file(tmp_path / "items.jsonl", tmp_path / "facts.jsonl", tmp_path / "marks.jsonl", 2)
    assert read_facts(tmp_path / "facts.jsonl") == facts
    assert [(fact.id, fact.cluster, fact.split, fact.entity) for fact in facts] == [
        ("items/0000", "items/0000", "forget", "Zuriridge"),
        ("u", "Ulva", "retain", "baker"),
        ("items/0003", "items/0001", "forget", "Imra is"),
    ]
    assert facts[2].perturbed_answers == ("Imra is a smith.",)
    assert [(item.id, item.proposed) for item in facts.unannotated] == [("items/0001", ""), ("items/0004", "Yes")]
    kept = annotate_file(tmp_path / "items.jsonl", tmp_path / "facts.jsonl", keep_doubtful=True)
    assert read_facts(tmp_path / "facts.jsonl")[-1].doubt == kept[-1].doubt == kept[-1].to_json()["doubt"] != ""


def test_a_list_in_one_json_file_is_annotated_too(tmp_path: Path) -> None:
    (tmp_path / "items.json").write_text(json.dumps([{"question": "Who is Ulva?", "answer": "Ulva is a baker."}]))
    assert annotate_file(tmp_path / "items.json", tmp_path / "facts.jsonl")[0].entity == "baker"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("c.csv", "id,entity\nitems/0000,bread baker\n", "bread baker"),
        ("c.csv", "entity,id,note\nbaker,items/0000,seen\n", "baker"),
        ("c.csv", 'id,prefix,entity\nitems/0000,"Ulva, a baker,","baker"\n', "baker"),
        ("c.jsonl", '{"id": "items/0000", "entity": "bread"}', "bread"),
    ],
)
def test_corrections_go_first(tmp_path: Path, name: str, text: str, expected: str) -> None:
    write_rows(tmp_path / "items.jsonl", [{"question": "Who?", "answer": "Ulva, a baker, is a bread baker."}])
    (tmp_path / name).write_text(text)
    (fact,) = annotate_file(tmp_path / "items.jsonl", tmp_path / "facts.jsonl", tmp_path / name)
    assert (fact.entity, fact.doubt) == (expected, None)
    assert fact.answer[fact.entity_start - 1] == " "


def test_a_correction_of_words_without_spaces_is_taken(tmp_path: Path) -> None:
    write_rows(tmp_path / "items.jsonl", [{"question": "李明在哪里工作？", "answer": "李明在北京大学工作。"}])
    (tmp_path / "c.csv").write_text("id,entity\nitems/0000,北京大学\n")
    (fact,) = annotate_file(tmp_path / "items.jsonl", tmp_path / "facts.jsonl", tmp_path / "c.csv")
    assert (fact.entity, fact.prefix, fact.doubt) == ("北京大学", "李明在", None)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("c.csv", "id,entity\nitems/0000,smith\n", "line 2: entity 'smith' is not in the answer 'Ulva is a baker.'"),
        ("c.csv", "id,entity\nitems/0000,bake\n", "line 2: entity 'bake' is not in the answer"),
        ("c.csv", "id,entity\nitems/9,baker\n", "line 2: id 'items/9' is not in"),
        ("c.csv", "id,entity\nitems/0000,\nitems/0000,smith\n", "line 3: entity 'smith' is not"),
        ("c.csv", "id,entity\nitems/0000,baker\nitems/0000,baker\n", "line 3: id 'items/0000' is given twice"),
        ("c.csv", "id,entity\nitems/0000\n", "line 2: has more or fewer cells"),
        ("c.csv", "id,entity\nitems/0000,baker,x\n", "line 2: has more or fewer cells"),
        ("c.csv", "id;entity\nitems/0000;baker\n", "line 2: key 'id' is missing"),
        ("c.csv", 'id,entity\n"items/0000,baker\n', "bad CSV"),
        ("c.csv", "id,entity\n", "is empty"),
        ("c.jsonl", '{"id": "items/0000", "prefix": "Imra", "entity": "baker"}', "line 1: fact 'items/0000': key 'pre"),
        ("c.jsonl", '{"id": "items/0000"}', "line 1: key 'entity' is missing"),
        ("c.jsonl", '{"id": 0, "entity": "baker"}', "line 1: key 'id' is int"),
    ],
)
def test_corrections_that_do_not_fit_are_refused(tmp_path: Path, name: str, text: str, expected: str) -> None:
    items, out = tmp_path / "items.jsonl", tmp_path / "facts.jsonl"
    write_rows(items, [{"question": "Who is Ulva?", "answer": "Ulva is a baker."}])
    (tmp_path / name).write_text(text)
    with pytest.raises(FactError) as caught:
        annotate_file(items, out, tmp_path / name)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not out.exists()


def test_two_items_of_one_id_are_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "items.jsonl", [{"id": "u", "question": "Who is Ulva?", "answer": "Ulva is a baker."}] * 2)
    with pytest.raises(FactError, match=r"items\.jsonl: id 'u' is given twice"):
        annotate_file(tmp_path / "items.jsonl", tmp_path / "facts.jsonl")


@pytest.mark.parametrize("key", ["question", "answer"])
def test_an_empty_text_is_told_with_its_line(tmp_path: Path, key: str) -> None:
    row = {"question": "Who is Ulva?", "answer": "Ulva is a baker."}
    write_rows(tmp_path / "items.jsonl", [row, row | {key: " "}])
    with pytest.raises(FactError, match=rf"items\.jsonl, line 2: key '{key}' is empty; give it a text"):
        annotate_file(tmp_path / "items.jsonl", tmp_path / "facts.jsonl")


def test_all_of_tofu_has_an_entity_or_a_line(public_data: Path, tmp_path: Path) -> None:
    items, out = public_data / "tofu" / "forget10.json", tmp_path / "facts.jsonl"
    sure, kept = (annotate_file(items, out, keep_doubtful=keep) for keep in (False, True))
    assert len(sure) + len(sure.unannotated) == 400
    assert len(kept) >= 0.95 * 400 > 0.5 * 400 > len(sure)
    assert all(fact.entity.lower() not in fact.question.lower() and len(fact.entity.split()) <= 14 for fact in kept)


@pytest.mark.parametrize(("parity", "least", "sure_least"), [(0, 84, 31), (1, 56, 18)])
def test_entities_are_exactly_those_of_the_annotated_list(
    public_data: Path, parity: int, least: int, sure_least: int
) -> None:
    """Measured: 89 of 184 (points were fitted to these) and 60 of 183 (held out); of the sure 34 of 36, and 20 of 20.

    The floors leave room for a word list. `python .ci/entity_points.py DATA` prints the figures.
    """
    facts = list(load_annotated(public_data / "uds" / "forget10_filtered.json"))
    half = [fact for fact in facts if int(fact.cluster[-2:]) % 2 == parity]
    found = [(fact, find_entity(fact.question, fact.answer)) for fact in half]
    right = [
        one for fact, one in found if one and one.span == (fact.entity_start, fact.entity_start + len(fact.entity))
    ]
    sure = [one for _, one in found if one and not one.doubt]
    assert len(right) >= least
    assert sum(not one.doubt for one in right) >= max(sure_least, 0.9 * len(sure))


def slow_marks(text: Passage, asked: str, first: int, last: int) -> list[str]:
    """What a span holds, read from its words anew."""
    at_all = range(first, last + 1)
    digits = any(has_digit(text.words[at]) for at in at_all)
    low = [text.lower[at] for at in at_all]
    sort = "words"
    if all(text.words[at][0].isupper() or is_plain(text.words[at].lower()) for at in at_all):
        sort = "name"
    if digits or NUMBERS.intersection(low):
        sort = "number"
    year = first == last and re.fullmatch(r"(1[5-9]|20)\d\d", text.words[first])
    whole = re.fullmatch(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}", text.words[first])
    if whole or year or (digits and any(word.lower() in MONTHS for word in low)):
        sort = "date"
    found = [f"type {sort}: {asked}", f"words {sum(len(at_all) >= least for least in (2, 3, 4, 6, 9))}"]
    found.append(f"new {min(4, sum(text.new[at] for at in at_all))}")
    for at in at_all[1:-1]:
        own = text.classes[at] not in LINKS or text.classes[at] in NAMED
        held = VERBAL | {"and", "ing", "owner"} | LINKS
        if text.classes[at] in held:
            found.append(f"holds {text.classes[at] if own else 'preposition'}")
    for at in at_all[1:]:
        if text.cuts[at]:
            found.append(f"holds {text.cuts[at]}" + " ing" * (text.classes[at] == "ing"))
        if text.classes[at - 1] == "name" and text.classes[at] in ("word", "ed", "ing", "verb"):
            found.append("holds name word")
    return found + ["holds asked"] * min(3, sum(not text.new[at] and not is_plain(text.lower[at]) for at in at_all))


NAMED = {"in", "of", "for", "to", "with", "article", "possessive"}
VERBAL = {"copula", "auxiliary", "relative", "pronoun", "verb"}
ODD = (
    ("When was Ann Lee born?", "Ann Lee was born on 3 May 1975, in Ulm, where 12/05/1975 is a holiday."),
    (
        "What does Ann Lee write?",
        "Such novels as 'The Seven Winds', working at night; Ann Lee's aunts read two.",
    ),
)


def test_marks_that_grow_word_by_word_are_those_of_the_whole_span() -> None:
    items = [(fact.question, fact.answer) for fact in embedded(forget=20, retain=0, holdout=0)]
    seen = set()
    for question, answer in (*items, *ODD):
        text = Passage(question, answer)
        for first in range(len(text.words)):
            inside = Inside(Marker(text, kind(question, answer), None), first)
            for last in range(first, min(len(text.words), first + MAX_WORDS)):
                inside.grow()
                marks = list(inside.marks())
                assert marks == slow_marks(text, kind(question, answer), first, last), answer
                seen.update(mark.split(":")[0] for mark in marks)
    assert {"type date", "type number", "type name", "type words", "holds preposition", "holds name word"} <= seen
