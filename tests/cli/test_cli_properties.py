"""`uds-bench properties`: a dump becomes three files, which the association audit reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import Command, Refused
from wikidata_dumps import described, human, item, of_item, write_dump

from uds_bench.facts.properties import read_properties

FILES = ("listing.json", "counterfactuals.json", "templates.json")
ENTITIES = [
    *(
        human(at, f"Human {at}", P106=[of_item(f"Q{1000 + at}")], P21=[of_item("Q1000")], P9=[of_item("Q1")])
        for at in range(4)
    ),
    *(item(f"Q{1000 + at}", f"job {at}") for at in range(4)),
    *(described(id, label) for id, label in (("P106", "occupation"), ("P21", "sex"), ("P9", "nine"))),
]


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write_dump(tmp_path, ENTITIES, ".bz2")


def test_three_files_and_what_is_short_or_left_out(command: Command, dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    result = command("properties", dump, "--out", out, "--least", 4, "--count", 3, "--seed", 1)
    assert result.stdout == f"2 properties of 4 humans, written to {out}\n"
    assert result.stderr.splitlines() == [
        "fewer than 3 pairs: P21 (1)",
        "left out: P9: no value of it has an English label",
    ]
    assert sorted(os.listdir(out)) == sorted(FILES)  # noqa: PTH208
    found = read_properties(*(out / name for name in FILES))
    assert {id: len(one.counterfactuals) for id, one in found.items()} == {"P21": 1, "P106": 3}


def test_nothing_is_written_of_what_cannot_be_used(refused: Refused, dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "of 4 in it 4 have the most frequent property, and 100 must" in refused("properties", dump, "--out", out)
    dump.write_bytes(dump.read_bytes()[:-20])
    assert f"{dump}, line " in refused("properties", dump, "--out", out, "--least", 1)
    assert list(out.iterdir()) == []
    assert "--out" in refused("properties", dump, "--out", dump)
