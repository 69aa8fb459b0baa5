"""Commands on documents of which any value may be another: each ends in lines that print, and in no exception."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from commands import Command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from uds_bench.claims.fact_rows import with_rows
from uds_bench.cli import main
from uds_bench.console.app import CONFIGURATION, NOTHING, TRACEBACK
from uds_bench.errors import MESSAGE_LENGTH

IN_CI, AT_LENGTH = 100, int(os.environ.get("UDS_BENCH_FUZZ", 2_000))
EVIL = "x\n::error::owned\x1b[31m##vso[task.complete]\u2028<script>\x07"
VALUES: tuple[Any, ...] = (
    None, True, [], [1], [EVIL], {}, {"a": [1]}, {EVIL: EVIL}, 0, -1, 0.5, 1e308, -1e308, 10**400, 10**30, float("nan"),
    float("inf"), "", "x", EVIL, "\ud800", f"{EVIL}\udfff", "y" * 5_000, "::error::owned", "../../up", "a\x00b",
)  # fmt: skip
WIDEST = 12
"""Columns of the widest table, each of whose cells may be as long as a message."""
DOCUMENTS = ("card", "run", "goldens")
COMMANDS = {
    "card": ("verify",),
    "run": ("verify", "card", "compare", "same", "report", "redact"),
    "goldens": ("lint", "list", "json"),
}


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, str, list[tuple[list[int], str, Any]]]:
    """A document, a command that reads it, and what is done to which of its values."""
    name = draw(st.sampled_from(DOCUMENTS))
    steps = st.lists(st.integers(0, 40), min_size=1, max_size=9)
    edit = st.tuples(steps, st.sampled_from(("value", "key", "gone")), st.sampled_from(VALUES))
    return name, draw(st.sampled_from(COMMANDS[name])), draw(st.lists(edit, min_size=1, max_size=2))


def changed(document: Any, edits: Sequence[tuple[list[int], str, Any]]) -> Any:
    """A copy in which some places hold another value, have another name or are gone."""
    made = copy.deepcopy(document)
    for steps, what, value in edits:
        node, held = made, []
        for step in steps:
            if not isinstance(node, dict | list) or not node:
                break
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            held.append((node, keys[step % len(keys)]))
            node = node[keys[step % len(keys)]]
        if not held:
            continue
        parent, key = held[-1]
        if what == "value" or isinstance(parent, list):
            parent[key] = value
        else:
            was = parent.pop(key)
            if what == "key":
                parent[str(value)] = was
    return made


def words_of(command: str, folder: Path) -> list[str]:
    run, card, again = (str(folder / name) for name in ("run.json", "card.json", "whole.json"))
    return {
        "verify": ["verify", card, run],
        "card": ["card", run, "--out", str(folder / "cards"), "--benchmark", "owner/name"],
        "compare": ["compare", again, run],
        "same": ["compare", run, again, "--same"],
        "report": ["report", run, "--out", str(folder / "page"), "--against", again],
        "redact": ["report", run, "--out", str(folder / "page"), "--redact"],
        "lint": ["goldens", "lint", "--folder", str(folder / "goldens")],
        "list": ["goldens", "list", "--folder", str(folder / "goldens")],
        "json": ["goldens", "list", "--json", "--folder", str(folder / "goldens")],
    }[command]


def write(folder: Path, documents: dict[str, Any]) -> None:
    (folder / "card.json").write_text(json.dumps(documents["card"]))
    (folder / "run.json").write_text(json.dumps(documents["run"]))
    (folder / "goldens" / "depth").mkdir(parents=True, exist_ok=True)
    (folder / "goldens" / "depth" / "specimens.json").write_text(json.dumps(documents["goldens"]))


def try_one(folder: Path, documents: dict[str, Any], name: str, command: str, edits: Sequence[Any]) -> None:
    """`documents`: as they are; what is changed of the one that is named is written over what lies in the folder."""
    write(folder, {**documents, name: changed(documents[name], edits)})
    found = CliRunner().invoke(main, words_of(command, folder), prog_name="uds-bench")
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code in (0, 1, CONFIGURATION, NOTHING)
    most = MESSAGE_LENGTH * (WIDEST if command in ("compare", "list") else 1)
    for line in found.output.split("\n"):
        assert line.isprintable(), line
        assert not line.startswith("::"), line
        assert len(line) <= most or command == "json", line
    for page in (folder / "cards").rglob("card.md"):
        assert all(line.isprintable() for line in page.read_text().split("\n"))
        assert "<script>" not in page.read_text()


@pytest.fixture
def documents(command: Command, run_report: Path, release: Path, tmp_path: Path) -> dict[str, Any]:
    """A run, whole in one file, a card of it, and a file of goldens."""
    report = with_rows(json.loads(run_report.read_text()), run_report)
    report["manifest"]["path"] = str(release / "uds.toml")
    for name in ("run.json", "whole.json"):
        (tmp_path / name).write_text(json.dumps(report))
    command("card", tmp_path / "run.json", "--out", tmp_path / "made")
    golden = json.loads((Path(__file__).parents[2] / "goldens" / "depth" / "specimens.json").read_text())
    golden["entries"] = dict(list(golden["entries"].items())[:3])
    card = json.loads((tmp_path / "made" / "npo" / "card.json").read_text())
    return {"run": report, "card": card, "goldens": golden}


@pytest.mark.parametrize("count", [IN_CI, pytest.param(AT_LENGTH, marks=pytest.mark.slow)])
def test_a_document_of_which_anything_is_another(
    documents: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setenv(TRACEBACK, "1")  # what is not expected is an exception here

    @settings(max_examples=count, derandomize=count == IN_CI, suppress_health_check=list(HealthCheck))
    @given(changes())
    def tried(change: tuple[str, str, Any]) -> None:
        try_one(tmp_path, documents, *change)

    tried()
