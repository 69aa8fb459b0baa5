"""Cards, run reports and goldens that somebody sent: what has not their form is refused in a line, with the place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_scores
import pytest
from made_reports import claim, run_of
from parsers import CARD

from uds_bench.cards.files import judged_manifest
from uds_bench.cards.reading import read_statement
from uds_bench.claims.fact_rows import write_run
from uds_bench.claims.goldens import Goldens
from uds_bench.cli.documents import read_document, read_run
from uds_bench.cli.goldens import read_goldens
from uds_bench.errors import MESSAGE_LENGTH, UdsError, printable
from uds_bench.storage import load_document

RUN = run_of(claim("depth.score[npo]"), scores=[made_scores.plain("npo", "em")], salt="s").to_json()
GOLDENS = {"schema": 1, "entries": {"depth.score[npo]": {"value": 0.5, "n": 5}}}
NAMED = {"name": "x", "digest": {"sha256": "ab" * 32}}


def put(*keys: Any) -> Callable[[Any], None]:
    """A change: the last of `keys` in the place of what the others lead to."""
    *path, last, value = keys

    def change(document: Any) -> None:
        for key in path:
            document = document[key]
        if isinstance(document, list) and last == len(document):
            document.append(value)
        else:
            document[last] = value

    return change


def refused(read: Callable[[Path], object], document: Any, place: Path, change: Callable[[Any], None]) -> str:
    made = copy.deepcopy(document)
    change(made)
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps(made))
    with pytest.raises(UdsError) as caught:
        read(place)
    text = str(caught.value)
    assert text == printable(text)
    assert len(text) <= MESSAGE_LENGTH
    return text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put("subject", [1]), "(subject.0: "),
        (put("subject", None), "(subject: "),
        (put("subject", [{"name": "x"}]), "(subject.0.digest: Field required)"),
        (put("subject", [{**NAMED, "name": ["x"]}]), "(subject.0.name: "),
        (put("subject", [{**NAMED, "digest": {"sha256": "\x1b[31m"}}]), "(subject.0.digest.sha256: "),
        (put("predicate", "configuration", 1, 5), "(predicate.configuration.1: "),
        (put("predicate", "configuration", []), "configuration has no run report"),
        (put("predicate", "configuration", 0, "annotations", None), "configuration has no run report"),
        (put("predicate", "configuration", 0, "annotations", "candidate", {"a": 1}), "annotations.candidate: "),
        (put("predicate", "result", "\ud800"), r"half a character, '\ud800', behind "),
        (put("predicate", "result", 10**400), "a number has 401 digits"),
        (put("_type", "x"), "is a statement of another kind"),
    ],
)
def test_a_card_of_another_form_is_refused_with_the_place(tmp_path: Path, change: Any, told: str) -> None:
    assert told in refused(read_statement, CARD, tmp_path / "card.json", change)


def test_a_card_is_read(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text(json.dumps(CARD))
    assert read_statement(tmp_path / "card.json") == CARD


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put("scores", 0, "provenance", "device", ["a"]), "device is no text"),
        (put("scores", 0, "provenance", "checkpoint", {"a": 1}), "checkpoint is no text"),
        (put("claims", 0, "subject", "x\ud800"), r"half a character, '\ud800'"),
        (put("environment", "device", 5), "(environment.device: "),
        (put("seconds", 10**400), "a number has 401 digits"),
    ],
)
def test_a_run_of_another_form_is_refused_with_the_place(tmp_path: Path, change: Any, told: str) -> None:
    assert told in refused(read_run, RUN, tmp_path / "run.json", change)


def test_a_run_without_a_device_gets_no_card(tmp_path: Path) -> None:
    def read(path: Path) -> object:
        return judged_manifest(read_run(path), str(path))

    assert "environment.device: None is no device" in refused(read, RUN, tmp_path / "run.json", put("environment", {}))


def test_a_row_that_is_none_beside_a_table_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    write_run(run_of(claim("depth.score[npo]"), scores=[made_scores.plain("npo", "em")]), tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text())
    assert "holds no rows of run.json" in refused(
        read_document, document, tmp_path / "run.json", put("scores", 0, None)
    )


@pytest.mark.parametrize("read", [Goldens.read, read_goldens])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put("entries", "depth.score[npo]", "value", 10**399), "a number has 400 digits"),
        (put("entries", "x\ud800", {"value": 1}), r"half a character, '\ud800'"),
        (put("entries", "depth.score[npo]", 5), "(entries.depth.score[npo]: "),
        (put("entries", [1]), "(entries: "),
        (put("schema", "\x1b[31m\n::error::x"), "schema "),
    ],
)
def test_goldens_of_another_form_are_refused_with_the_place(
    tmp_path: Path, read: Callable[[Path], object], change: Any, told: str
) -> None:
    place = tmp_path / "depth" / "specimens.json"
    assert told in refused(lambda path: read(path.parents[1]), GOLDENS, place, change)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": "\\ud83d"}', "half a character"),
        ('{"\\udc00": 1}', "half a character"),
        ("1e999", "1e999 is too large a number"),
        ("-1e999", "-1e999 is too large a number"),
        ("9" * 301, "a number has 301 digits"),
        ("9" * 5_000, "a number has 5000 digits"),
        ("[" * 100_000, "it is nested too deeply"),
        ("[NaN]", "NaN is no number"),
        ('[{"a": {"result": 1, "b": 2, "result": 1}}]', "the key 'result' stands twice"),
    ],
)
def test_what_nobody_writes_is_no_document(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        load_document(text, finite=True)


@pytest.mark.parametrize("value", ["\U0001f600", {"é": [1, -0.5, 1e308, 10**299, None, True]}, "a\\ud800"])
def test_what_somebody_writes_is_read_as_json_is(value: Any) -> None:
    assert load_document(json.dumps(value)) == value
