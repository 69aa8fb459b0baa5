"""`uds-bench annotate`: from questions and answers to facts, and back again for what failed."""

import json
from pathlib import Path

import pytest
from commands import Command, Refused

from uds_bench.facts import read_facts

ITEMS = (
    {"question": "Where was Mira Solheim born?", "answer": "Mira Solheim was born in Tromsø."},
    {"question": "Is Idris Kamau an author?", "answer": "Idris Kamau is an author."},
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    return path


def test_what_failed_is_listed_filled_in_and_given_back(command: Command, source: Path, tmp_path: Path) -> None:
    out, failed = tmp_path / "facts.jsonl", tmp_path / "failed.jsonl"
    result = command("annotate", source, "--out", out, "--failed", failed)
    assert f"1 of 2 annotated, written to {out}" in result.stdout
    assert "not annotated: questions/0001: 'Is Idris Kamau an author?'" in result.stderr
    assert [fact.entity for fact in read_facts(out)] == ["Tromsø"]

    entry = json.loads(failed.read_text())
    assert (entry["question"], entry["prefix"], entry["entity"]) == (ITEMS[1]["question"], "", "")
    overrides = tmp_path / "overrides.jsonl"
    overrides.write_text(json.dumps(entry | {"prefix": "Idris Kamau is an", "entity": "author"}))
    assert "2 of 2" in command("annotate", source, "--out", out, "--overrides", overrides).stdout
    assert [fact.entity for fact in read_facts(out)] == ["Tromsø", "author"]


def test_inputs_are_never_overwritten(refused: Refused, source: Path, tmp_path: Path) -> None:
    before = source.read_text()
    assert "would be overwritten" in refused("annotate", source, "--out", tmp_path / "." / source.name)
    assert "would be overwritten" in refused("annotate", source, "--out", tmp_path / "f.jsonl", "--failed", source)
    assert source.read_text() == before
