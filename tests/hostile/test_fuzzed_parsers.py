"""Every parser, on files that nobody would write: it reads them, or refuses them in one printable line."""

from __future__ import annotations

import hashlib
import os
import random
import traceback
import warnings
from pathlib import Path

import pytest
from parsers import CORPUS, PARSERS, Parser, drawn_edits, edited

from uds_bench.errors import MESSAGE_LENGTH, UdsError, printable

IN_CI, AT_LENGTH = 1_000, int(os.environ.get("UDS_BENCH_FUZZ", 100_000))
SEED = os.environ.get("UDS_BENCH_FUZZ_SEED", "")
"""What draws other files than those of every run: the weekly job gives its own number."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def read(name: str, parser: Parser, content: bytes, folder: Path) -> None:
    path = folder / name / parser.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser.read(path)


def try_one(name: str, parser: Parser, content: bytes, folder: Path) -> None:
    try:
        read(name, parser, content, folder)
    except UdsError as error:
        text = str(error)
        assert 0 < len(text) <= MESSAGE_LENGTH
        assert text == printable(text)


@pytest.mark.parametrize("name", PARSERS)
def test_what_a_parser_fell_over_once_and_what_it_reads(name: str, place: Path) -> None:
    parser = PARSERS[name]
    for content in parser.seeds:
        read(name, parser, content, place)
    for content in (b"", *(path.read_bytes() for path in sorted((CORPUS / name).glob("*")))):
        try_one(name, parser, content, place)


@pytest.mark.parametrize("count", [IN_CI, pytest.param(AT_LENGTH, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PARSERS)
def test_a_file_that_is_changed_anywhere(name: str, count: int, place: Path) -> None:
    """What it falls over is kept in `corpus`: commit it with what mends it."""
    parser, drawn = PARSERS[name], random.Random(f"{name}{SEED}")
    starts = [*parser.seeds, *(path.read_bytes() for path in sorted((CORPUS / name).glob("*")))]
    fell: dict[str, str] = {}
    for _ in range(count):
        content = edited(drawn.choice(starts), drawn_edits(drawn))
        try:
            try_one(name, parser, content, place)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} in {where.filename}, line {where.lineno}"
            if kind not in fell:  # one of each is kept
                kept = CORPUS / name / hashlib.sha256(content).hexdigest()[:16]
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(content)
                fell[kind] = str(kept)
    assert not fell, f"again: UDS_BENCH_FUZZ_SEED={SEED!r}"
