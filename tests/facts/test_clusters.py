"""Which rows are about one person: never more people than there are, whatever the rows look like."""

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from tofu_files import write_rows

from uds_bench.facts import annotate_file
from uds_bench.facts.clusters import clusters_by_name, split_people
from uds_bench.facts.person_names import is_part

ASKED = ("Where was {} born?", "What is {}'s phone number?", "Does {} speak English?", "Which prize did {} win in Ulm?")


def clusters(*items: str | tuple[str, str]) -> tuple[str, ...]:
    """Questions, each with an answer that names nobody where none is given."""
    return clusters_by_name([one if isinstance(one, tuple) else (one, "Ulm") for one in items], {}, "nobody").of


@pytest.mark.parametrize("people", [("Ann Lee", "Bob Ray"), ("Mia Karlsson", "Erik Karlsson"), ("Orvo", "Ulva")])
def test_rows_that_name_one_person_are_one_cluster(people: tuple[str, str]) -> None:
    rows = [(person, form.format(person)) for form in ASKED for person in people]
    assert clusters(*(question for _, question in rows)) == tuple(person for person, _ in rows)


CASES = {
    "a part of a name": (("Where does Will Smith live?", "Can Will Smith sing?", "Is Dr. Smith tall?"), [0, 0, 0]),
    "a part of two names": (("Is Mia Ek old?", "Is Bo Ek old?", "Is Ek a botanist?"), [0, 1, "nobody"]),
    "a name that only the answer has": (
        ("Where does Ann Lee live?", ("Who won the prize?", "Ann Lee won it."), "Who is the author?"),
        [0, 0, "nobody"],
    ),
    "whom the question names goes first": (
        (("Who is Ann Lee's aunt?", "Mia Ek"), "Is Ann Lee old?", "Is Mia Ek old?", "Does Mia Ek sing?"),
        [0, 0, 1, 1],
    ),
    "places": (("Who was born in New York?", "Who lives in New York?", "Who was born in Ulm?"), ["nobody"] * 3),
    "an author's place": (("Did Ann Lee leave New York?", "Does Bo Ek like New York?", "Is Bo Ek old?"), [1, 2, 2]),
    "a language": (("Does she speak English?", "Does he speak English?"), ["nobody"] * 2),
    "declined": (("Где родился Иван Петров?", "Какой номер у Ивана Петрова?", "Где живёт Мария Орлова?"), [0, 0, 1]),
    "nouns with capitals": (
        (
            "Welchen Beruf hat Ann Lee?",
            "Welchen Beruf hat Bo Ek?",
            "Wie lautet die Nummer von Ann Lee?",
            "Ist Bo Ek alt?",
        ),
        [0, 1, 0, 1],
    ),
    "small words in a name": (("¿Dónde nació María del Carmen Ruiz?", "¿Canta María del Carmen Ruiz?"), [0, 0]),
    "no small letters": (("WHERE WAS ANN LEE BORN?", "WHERE WAS BOB RAY BORN?"), ["nobody"] * 2),
    "no capitals": (("where was ann lee born?", "where was bob ray born?"), ["nobody"] * 2),
    "Chinese": (
        (
            ("李明住在哪里？", "李明住在北京。"),
            ("李明的电话是什么？", "李明的电话是7。"),
            ("王芳住在哪里？", "王芳住在上海。"),
        ),
        [0, 0, 1],
    ),
    "Korean": (
        (
            ("김민준은 어디에 삽니까?", "김민준은 서울에 삽니다."),
            ("김민준의 직업은?", "김민준의 직업은 교사."),
            ("이서연의 직업은?", "이서연의 직업은 의사."),
        ),
        [0, 0, 1],
    ),
    "Hindi": (
        (
            ("अमित शर्मा कहाँ रहते हैं?", "अमित शर्मा दिल्ली में रहते हैं।"),
            ("अमित शर्मा कौन हैं?", "अमित शर्मा डॉक्टर हैं।"),
            ("गीता वर्मा कौन हैं?", "गीता वर्मा डॉक्टर हैं।"),
        ),
        [0, 0, 1],
    ),
    "Georgian": ((("ნინო რას აკეთებს?", "ნინო ექიმია."), ("გიორგი რას აკეთებს?", "გიორგი ექიმია.")), [0, 1]),
    "Arabic, where the word that asks comes first": (
        (("أين ولد محمد الحسن؟", "ولد محمد الحسن في دمشق"), ("أين ولد علي المصري؟", "ولد علي المصري في حلب")),
        ["nobody"] * 2,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_by_hand(case: str) -> None:
    items, expected = CASES[case]
    found = clusters(*items)
    assert [name == "nobody" for name in found] == [who == "nobody" for who in expected]
    for (one, who), (other, whom) in combinations(zip(found, expected, strict=True), 2):
        assert (one == other) == (who == whom), (one, other)


def test_forms_of_a_name_are_not_other_names() -> None:
    assert is_part(("Ивановым",), ("Пётр", "Иванов"))
    assert not is_part(("Ghana",), ("Yasmin", "Ghali"))
    assert not is_part(("Lee", "Lee"), ("Ann", "Lee"))


def test_what_a_row_says_goes_before_what_it_names(tmp_path: Path) -> None:
    question = {"question": "Where was Ann Lee born?", "answer": "Ann Lee was born in Ulm."}
    rows = [question | {"author": "a1"}, question | {"id": "u"}, question | {"person": "a2", "cluster": "c"}]
    write_rows(tmp_path / "q.jsonl", rows)
    told: list[str] = []
    facts = annotate_file(tmp_path / "q.jsonl", tmp_path / "f.jsonl", tell=told.append)
    assert [fact.cluster for fact in facts] == ["a1", "a1", "c"]
    assert told == [
        "2 clusters of 2 rows (intervals are over rows), as key 'author' or 'cluster' says",
        "1 cluster of 1 row, by the person whom they name: a1 (1)",
    ]


def test_rows_that_name_nobody_are_one_cluster_and_listed(tmp_path: Path) -> None:
    rows = [{"question": f"What is on shelf {at}?", "answer": f"On shelf {at} is {at}00."} for at in range(25)]
    write_rows(tmp_path / "q.jsonl", rows)
    told: list[str] = []
    facts = annotate_file(tmp_path / "q.jsonl", tmp_path / "f.jsonl", keep_doubtful=True, tell=told.append)
    assert set(facts.clusters) == {"q/nobody"}
    (line,) = told
    assert line.startswith(
        "25 of 25 rows name nobody and are one cluster, 'q/nobody': give them a key 'cluster': q/0000,"
    )
    assert line.endswith("q/0019 and 5 more")
    annotate_file(tmp_path / "q.jsonl", tmp_path / "f.jsonl", None, 1, True, told.append)
    assert told[1:] == ["25 clusters of 25 rows (intervals are over rows), every 1 row"]


@pytest.mark.parametrize(("file", "together", "apart"), [("forget10", 0.98, 0.999), ("retain90", 0.98, 0.999)])
def test_tofu_authors_are_found_by_name(public_data: Path, file: str, together: float, apart: float) -> None:
    """Measured: all pairs of forget10 (400 rows); of retain90 (3600 rows) 99.5% together and 99.98% apart, where three
    pairs of authors share a name. The rules were made with both at hand; the floors leave room for a word list."""
    lines = (public_data / "tofu" / f"{file}.json").read_text(encoding="utf-8").splitlines()
    items = [(row["question"], row["answer"]) for row in map(json.loads, lines)]
    found = clusters_by_name(items, {}, "nobody").of
    authors = [at // 20 for at in range(len(items))]
    pairs = {name: sum(n * (n - 1) // 2 for n in Counter(of).values()) for name, of in (("a", authors), ("f", found))}
    both = sum(n * (n - 1) // 2 for n in Counter(zip(authors, found, strict=True)).values())
    every = len(items) * (len(items) - 1) // 2
    assert both / pairs["a"] >= together
    assert 1 - (pairs["f"] - both) / (every - pairs["a"]) >= apart


def test_people_dealt_to_several_clusters_are_told_by_name(public_data: Path) -> None:
    """Of TOFU's authors as they are none in 400 rows at a time; of all 180 of retain90 three pairs share a name."""

    def told(file: str, dealt: int, rows: slice = slice(None)) -> int:
        lines = (public_data / "tofu" / f"{file}.json").read_text(encoding="utf-8").splitlines()[rows]
        items = [(row["question"], row["answer"]) for row in map(json.loads, lines)]
        return len(split_people(items, [str(at // dealt) for at in range(len(items))]))

    assert told("forget10", dealt=5) == 20
    assert [told("forget10", 20), *(told("retain90", 20, slice(at, at + 400)) for at in range(0, 3600, 400))] == [
        0
    ] * 10
    assert told("retain90", 20) == 3
