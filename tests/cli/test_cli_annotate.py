"""`uds-bench annotate`: from questions and answers to facts, and back again for what was left out."""

import json
from pathlib import Path

import pytest
from commands import Command, Refused

from uds_bench.facts import read_facts

ITEMS = (
    {"question": "Where was Mira Solheim born?", "answer": "Mira Solheim was born in Tromsø."},
    {"question": "Is Idris Kamau an author?", "answer": "Idris Kamau is an author."},
    {"question": "Does Idris Kamau sing?", "answer": "Yes."},
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    return path


def test_what_is_left_out_is_listed_filled_in_and_given_back(command: Command, source: Path, tmp_path: Path) -> None:
    out, failed = tmp_path / "facts.jsonl", tmp_path / "failed.jsonl"
    result = command("annotate", source, "--out", out, "--failed", failed)
    assert f"1 of 3 annotated, written to {out}" in result.stdout
    assert "2 clusters of 3 rows, by the person whom they name: Mira Solheim (1), Idris Kamau (2)" in result.stdout
    assert "clusters to be forgotten: 1; fewer than 5 decide nothing" in result.stderr
    assert "clusters to be kept (key split: retain): 0; fewer than 5 decide nothing" in result.stderr
    assert "not annotated: questions/0001: 'Is Idris Kamau an author?'" in result.stderr
    assert "doubtful: questions/0002: 'Yes': 'Does Idris Kamau sing?'" in result.stderr
    assert "give entities by --corrections" in result.stderr
    assert [fact.entity for fact in read_facts(out)] == ["Tromsø"]

    entries = [json.loads(line) for line in failed.read_text().splitlines()]
    assert [(entry["id"], entry["proposed"], entry["entity"]) for entry in entries] == [
        ("questions/0001", "", ""),
        ("questions/0002", "Yes", ""),
    ]
    assert "1 of 3" in command("annotate", source, "--out", out, "--corrections", failed).stdout
    corrections = tmp_path / "corrections.csv"
    corrections.write_text(f"id,entity\n{entries[0]['id']},author\n")
    assert "2 of 3" in command("annotate", source, "--out", out, "--corrections", corrections).stdout
    assert [(fact.prefix, fact.entity) for fact in read_facts(out)][1] == ("Idris Kamau is an", "author")


def test_doubtful_entities_are_kept_and_marked_where_that_is_asked(
    command: Command, source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "facts.jsonl"
    result = command("annotate", source, "--out", out, "--keep-doubtful")
    assert "2 of 3 annotated" in result.stdout
    assert "kept although doubtful: questions/0002: 'Yes'" in result.stderr
    assert [fact.doubt for fact in read_facts(out)] == [None, "a yes or no can be guessed by who does not know"]


def test_the_terminal_lists_twenty(command: Command, source: Path, tmp_path: Path) -> None:
    asked = json.dumps(ITEMS[1]) + "\n"
    source.write_text(json.dumps(ITEMS[0]) + "\n" + 25 * asked)
    result = command("annotate", source, "--out", tmp_path / "facts.jsonl")
    assert result.stderr.count("not annotated") == 20
    assert "and 5 more: --failed FILE lists them" in result.stderr


def test_a_file_without_any_sure_entity_is_refused_and_listed(command: Command, source: Path, tmp_path: Path) -> None:
    source.write_text(json.dumps(ITEMS[2]) + "\n")
    out, failed = tmp_path / "facts.jsonl", tmp_path / "failed.jsonl"
    told = command("annotate", source, "--out", out, "--failed", failed, exit=4).stderr.strip().splitlines()
    assert told[0].startswith("doubtful: questions/0000")
    assert told[1:] == [
        f"uds-bench: error: {source}: no item got an entity that is sure; give entities by --corrections FILE"
    ]
    assert json.loads(failed.read_text())["proposed"] == "Yes"
    assert not out.exists()


def test_a_correction_that_is_not_in_its_answer_is_one_line(refused: Refused, source: Path, tmp_path: Path) -> None:
    corrections = tmp_path / "c.csv"
    corrections.write_text("id,entity\nquestions/0001,baker\n")
    told = refused("annotate", source, "--out", tmp_path / "facts.jsonl", "--corrections", corrections)
    assert "c.csv, line 2: entity 'baker' is not in the answer" in told.replace("\n", " ")
    assert not (tmp_path / "facts.jsonl").exists()


def test_inputs_are_never_overwritten(refused: Refused, source: Path, tmp_path: Path) -> None:
    before = source.read_text()
    assert "would be overwritten" in refused("annotate", source, "--out", tmp_path / "." / source.name)
    assert "would be overwritten" in refused("annotate", source, "--out", tmp_path / "f.jsonl", "--failed", source)
    assert source.read_text() == before


def test_a_file_of_another_format_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "qa.jsonl").write_text('{"question": "Who?", "answer": "Ann."}\n')
    told = refused("annotate", tmp_path / "qa.jsonl", "--out", tmp_path / "facts.Parquet")
    assert "facts.Parquet: .Parquet is no format: let it end in .jsonl or .json" in told
