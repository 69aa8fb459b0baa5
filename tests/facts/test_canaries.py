"""Canaries: what a file may hold, what is refused in one line, and what the built-in ones are made of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from file_rows import CANARY
from one_line import refusal

from uds_bench.facts.canaries import HEAD_WORDS, Canary, CanarySet, embedded_canaries, normalized, read_canaries

OTHER = (
    CANARY | {"id": "b", "author": "Ann Bly", "canary": "Seven old boats of Marl went north in 1901"} | {"slots": []}
)


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_file_is_read_as_it_is_written(tmp_path: Path) -> None:
    first, second = read_canaries(write(tmp_path / "c.jsonl", CANARY, OTHER | {"slots": ["1901"]}))
    assert (first.head, first.rest) == ("The Crimson Tide of Calabar was", "  a novel about Ada Umeh")
    assert first.head + first.rest == first.canary
    assert first.qa == (("Where was Zephyr Okonkwo born?", "Lagos"),)
    assert (first.split, second.slots) == ("forget", ("1901",))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"canary": "The Crimson Tide of Calabar was", "slots": []}, "'canary' has no more than the 6 words"),
        ({"canary": "one two three four five six <think> seven"}, "'canary' holds <think> or </think>"),
        ({"bio": " "}, "'bio' is empty"),
        ({"slots": ["Calabar"]}, "'slots' holds 'Calabar', which is not in the canary after its head"),
        ({"split": "test"}, "'split' is 'test'"),
        ({"qa": ["where?"]}, "'qa' must be a list of objects"),
        ({"qa": [{"question": "Where?", "answer": ""}]}, "'qa' holds an empty question or answer"),
        ({"qa": [{"question": "Where?", "answer": 3}]}, "'qa' holds a question or answer that is no string"),
        ({"head": "The"}, "'head' is unknown"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    said = refusal(read_canaries, write(tmp_path / "c.jsonl", OTHER, CANARY | change))
    assert said.startswith(f"{tmp_path / 'c.jsonl'}, line 2: ")
    assert told in said


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([CANARY, OTHER | {"id": "a"}], "'id' occurs twice"),
        ([CANARY, OTHER | {"author": "zephyr  OKONKWO"}], "'author' holds 'zephyr  OKONKWO'"),
        ([CANARY, OTHER | {"canary": CANARY["canary"].upper() + " !"}], "says no more than that of"),
        ([CANARY, OTHER | {"canary": CANARY["canary"] + " and more"}], "says no more than that of"),
        ([CANARY, OTHER], "canary 'b': key 'slots' is empty, and others have some: give it names"),
        ([CANARY | {"split": "retain"}], "no canary with split 'forget'"),
        ([CANARY | {"aliases": ["Xu"]}, OTHER | {"aliases": ["xu"]}], "key 'aliases' holds 'xu', as 'a' does"),
    ],
)
def test_no_two_are_alike_and_something_is_forgotten(tmp_path: Path, rows: list[dict[str, Any]], told: str) -> None:
    assert told in refusal(read_canaries, write(tmp_path / "c.jsonl", *rows))


def test_the_digest_follows_the_content() -> None:
    canaries = embedded_canaries(3, 1, 1)
    changed = CanarySet([replace(canaries[0], bio="other words"), *canaries[1:]])
    assert canaries.digest == embedded_canaries(3, 1, 1).digest
    assert canaries.digest != changed.digest


@pytest.mark.parametrize("seed", [0, 7])
def test_the_built_in_authors(seed: int) -> None:
    canaries = embedded_canaries(seed=seed)
    assert [len(canaries.split(name)) for name in ("forget", "retain", "holdout")] == [60, 20, 20]
    for canary in canaries:
        assert canary.canary in canary.bio
        assert len(canary.head.split()) == HEAD_WORDS
        assert len(canary.qa) == 5
        assert len(canary.slots) == 2
        assert canary.author not in canary.canary
        assert 30 <= len(canary.bio.split()) <= 50
    said = [slot for canary in canaries for slot in canary.slots]
    assert len(said) == len(set(said)), "an invented name belongs to one author"
    names = {canary.author for canary in canaries}
    assert len(names) == len(canaries)
    assert not names & {canary.author for canary in embedded_canaries(seed=seed + 1)}


def test_normalized_text_keeps_words_only() -> None:
    assert normalized("  Émile — “Was”\tHERE!") == "émile was here"
    assert Canary("i", "a", "b", "  one two three four five six seven ").rest == " seven"
