"""Files that were written to do harm: refused in one line, in bounded time and memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import pytest
from file_rows import FACT

from uds_bench.audits.manifests import load_manifest
from uds_bench.cards.reading import read_statement
from uds_bench.claims.default_run import read_gate
from uds_bench.claims.goldens import Goldens
from uds_bench.claims.waivers import load_waivers
from uds_bench.cli.documents import read_document
from uds_bench.errors import MESSAGE_LENGTH, ConfigurationError, FactError, UdsError, UdsWarning, one_line, printable
from uds_bench.facts import load_facts
from uds_bench.facts.wikidata import Dump
from uds_bench.manifest.toml import read_toml

DEEP = "[" * 100_000
LONG = "9" * 5000


def is_a_line(error: UdsError, says: str = "") -> None:
    text = str(error)
    assert len(text) <= MESSAGE_LENGTH
    assert text == printable(text)
    assert says in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"a = {LONG}", "mend the number"),
        (f"a = {DEEP}", "flatten it"),
        ("a = " + "[" * 500 + "]" * 500, "flatten it"),
        (".".join("a" * 100_000) + " = 1", "line 1: a key has more than 1000 characters"),
        ("\n[" + ".".join("a" * 100_000) + "]", "line 2: a key has more than 1000 characters"),
        ("# " + "x" * (1 << 20), "take out what is not needed"),
    ],
)
def test_toml_of_a_stranger(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "uds.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_toml(path)
    is_a_line(caught.value, says)


@pytest.mark.parametrize("number", [LONG, "9" * 400, "1e400", "-inf", "nan"])
def test_numbers_of_manifests_and_waivers(tmp_path: Path, number: str) -> None:
    manifest = tmp_path / "uds.toml"
    manifest.write_text(f'[facts]\nsource = "authors"\n[thresholds]\n"depth.score" = {number}\n')
    with pytest.raises(ConfigurationError) as caught:
        load_manifest(manifest)
    is_a_line(caught.value, "uds.toml")
    waivers = tmp_path / "waivers.toml"
    waivers.write_text(f'[[waiver]]\nclaim = "depth.score"\nreason = "x"\nexpires = 2999-01-01\nthreshold = {number}\n')
    with pytest.raises(ConfigurationError) as caught:
        load_waivers(waivers, date(2026, 1, 1))
    is_a_line(caught.value, "waivers.toml")


def test_no_more_of_a_text_is_read_than_texts_have(tmp_path: Path) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(60 << 30)
    for read in (load_facts, read_document, read_statement, read_toml):
        with pytest.raises(UdsError) as caught:
            read(huge)
        is_a_line(caught.value, " MiB")


@pytest.mark.parametrize("text", [DEEP, f'{{"schema": {LONG}}}', "\ud800".encode("utf-8", "surrogatepass"), "{}", "1"])
def test_goldens(tmp_path: Path, text: str | bytes) -> None:
    content = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "depth").mkdir()
    (tmp_path / "depth" / "specimens.json").write_bytes(content)
    (tmp_path / "default.json").write_bytes(content)
    for read in (Goldens.read, read_gate):
        with pytest.raises(ConfigurationError) as caught:
            read(tmp_path)
        is_a_line(caught.value)


@pytest.mark.parametrize("key", ["id", "question", "answer", "cluster"])
def test_half_a_character_is_told_with_its_line(tmp_path: Path, key: str) -> None:
    """The tokenizer of every candidate would have ended in a traceback."""
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps(FACT) + "\n" + json.dumps({**FACT, "id": "b", key: "x\ud800"}))
    with pytest.raises(FactError) as caught:
        load_facts(path)
    is_a_line(caught.value, r"facts.jsonl, line 2: half a character ('\ud800')")


def test_both_halves_of_a_character_are_read(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps({**FACT, "question": "\U0001f600"}))
    assert r"\ud83d\ude00" in path.read_text()
    assert next(iter(load_facts(path))).question == "\U0001f600"


def test_keys_that_speak_to_a_terminal_or_to_ci_are_spelled_out(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text(json.dumps({**FACT, "\x1b[31m\r\n::error::owned " + "x" * 20_000: "y"}))
    with pytest.raises(FactError) as caught:
        load_facts(path)
    is_a_line(caught.value, "prefix, entity, ")


READ = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from pathlib import Path
from uds_bench.errors import FactError
from uds_bench.facts.wikidata import Dump
try:
    list(Dump(Path(sys.argv[1])).read(lambda at: None))
except FactError as error:
    print(error)
"""


@pytest.mark.parametrize("head", [b"", b"[\n"])
def test_a_dump_whose_line_has_no_end_takes_no_memory(tmp_path: Path, head: bytes) -> None:
    """A MB of gzip is a GB of text: it is read with 1 GiB of memory, for all that Python is."""
    dump = tmp_path / "dump.json.gz"
    block = b"a" * (1 << 24)
    with gzip.open(dump, "wb", compresslevel=9) as file:
        file.write(head)
        for _ in range(72):
            file.write(block)
    assert dump.stat().st_size < 1 << 22
    ran = subprocess.run([sys.executable, "-c", READ, str(dump)], capture_output=True, text=True, check=False)
    assert "is longer than 16 MiB" in ran.stdout, ran.stderr
    assert len(ran.stdout) <= MESSAGE_LENGTH + 1


@pytest.mark.parametrize(
    "line",
    [
        DEEP,
        LONG,
        f'{{"type":"item","id":"Q1","claims":{{"P31":{LONG}}}}}',
        '{"type":"item","id":"Q1","claims":[1]}',
        '{"type":["item"],"id":1,"claims":{"P31":{"a":1}}}',
        '{"type":"property","id":"P1","labels":{"en":{"value":1}},"datatype":["x"]}',
    ],
)
def test_entities_that_are_none(tmp_path: Path, line: str) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(f"[\n{line}\n]\n")
    with pytest.raises(FactError) as caught:
        list(Dump(dump).read(lambda at: None))
    is_a_line(caught.value, "line 2")


def test_a_year_of_thousands_of_digits(tmp_path: Path) -> None:
    human = {"type": "wikibase-entityid", "value": {"id": "Q5"}}
    when = {"type": "time", "value": {"time": f"+{LONG}-01-01T", "precision": 11}}
    person, born = (
        {"mainsnak": {"snaktype": "value", "datatype": kind, "datavalue": value}, "rank": "normal"}
        for kind, value in (("wikibase-item", human), ("time", when))
    )
    dump = tmp_path / "dump.json"
    entity = {"type": "item", "id": "Q1", "claims": {"P31": [person], "P569": [born]}}
    dump.write_text(f"[\n{json.dumps(entity)}\n]\n")
    with pytest.raises(FactError) as caught:
        list(Dump(dump).read(lambda at: None))
    is_a_line(caught.value, "line 2")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("one\r\n::error::two", "one : :error::two"),
        ("::set-output name=a::b", ": :set-output name=a::b"),
        ("a ##[error]b ##vso[task.x]", "a # #[error]b # #vso[task.x]"),
        ("suites/test_depth.py::test_score", "suites/test_depth.py::test_score"),
        ("two  spaces,\n   a line\tand a tab ", "two  spaces, a line and a tab"),
        ("\u202egnp.exe\u2028\u200b", r"\u202egnp.exe \u200b"),
        ("half \ud800", r"half \ud800"),
    ],
)
def test_what_is_said_is_printable_and_orders_nothing(text: str, shown: str) -> None:
    for error in (UdsError(text), ConfigurationError(text), UdsWarning(text)):
        assert str(error) == shown
    assert printable(shown) == shown


def test_a_long_message_keeps_its_end_which_says_what_to_do() -> None:
    text = str(FactError(f"facts.jsonl, line 3: {'x' * 10_000_000}: take it out"))
    assert len(text) == MESSAGE_LENGTH
    assert text.startswith("facts.jsonl, line 3: xx")
    assert text.endswith("xx: take it out")
    assert one_line("a" * MESSAGE_LENGTH, MESSAGE_LENGTH) == "a" * MESSAGE_LENGTH


def test_a_megabyte_of_spaces_takes_no_time() -> None:
    started = time.process_time()
    assert len(printable("a" + " " * (1 << 20) + "\n b")) == 3
    assert len(printable("a" + " " * (1 << 20) + "b")) == (1 << 20) + 2
    assert time.process_time() - started < 10
