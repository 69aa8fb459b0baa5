"""What commands print: one way to do it, and no text of a file that gives orders to a terminal or to CI by it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import made_scores
import pytest
import typer
from commands import Command
from made_reports import claim, run_of
from typer.testing import CliRunner

import uds_bench
from uds_bench.console.app import FAULT, TRACEBACK, new_app
from uds_bench.console.lines import say, show_data, show_table
from uds_bench.errors import MESSAGE_LENGTH

PACKAGE = Path(uds_bench.__file__).parent
EVIL = "x\n::error::owned\x1b[31m##vso[task.complete]\x1b]0;title\x07\ud800"
PRINTERS = {"print", "echo", "secho", "echo_via_pager", "print_json", "stdout", "stderr"}
BESIDE = {
    "console/lines.py": "the one way",
    "console/app.py": "says how the streams spell what they cannot encode",
    "children.py": "its stdout is a pipe to the process above it",
    "harness/plugin.py": "pytest's own page of it",
    "progress.py": "progress, in a terminal or a log",
    "scoring/engine.py": "that it waits, while it waits, in a line",
    "zoo/training.py": "progress, in a log",
}


def printers(source: str) -> Iterator[str]:
    """What prints by itself: named, or taken out of a module or an object."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id in PRINTERS:
            yield node.id
        elif (isinstance(node, ast.Attribute) and node.attr in PRINTERS - {"stdout", "stderr"}) or (
            isinstance(node, ast.Attribute) and node.attr in PRINTERS and getattr(node.value, "id", "") == "sys"
        ):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from {one.name for one in node.names} & PRINTERS


def test_commands_print_in_one_way() -> None:
    files = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found = {name: used for name, source in files.items() if (used := list(printers(source)))}
    assert {name: used for name, used in found.items() if name not in BESIDE} == {}
    assert set(found) == set(BESIDE), "what prints no more is not named here"


@pytest.mark.parametrize(
    "source", ["print(1)", "typer.echo(1)", "tell(click.secho)", "console.print(1)", "sys.stderr.write(x)"]
)
def test_another_way_is_seen(source: str) -> None:
    assert list(printers(source))


def assert_harmless(text: str, most: int = MESSAGE_LENGTH) -> None:
    for line in text.splitlines():
        assert line.isprintable(), line
        assert not line.lstrip().startswith("::"), line
        assert "##vso[" not in line
        assert len(line) <= most


def test_a_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(EVIL)
    say("y" * 5_000 + EVIL, err=True)
    said = capsys.readouterr()
    assert_harmless(said.out + said.err)
    assert (said.out.count("\n"), said.err.count("\n")) == (1, 1)


def test_an_empty_line_stays_empty(capsys: pytest.CaptureFixture[str]) -> None:
    say()
    say(" \n ")
    assert capsys.readouterr().out == "\n\n"


def test_cells_and_headers_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    show_table([{"a": EVIL, "of\ntwo": None, EVIL: "y" * 5_000}])
    assert_harmless(capsys.readouterr().out, 3 * MESSAGE_LENGTH)


def test_data_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    show_data("a/b ## c\t" + "y" * 5_000)
    assert capsys.readouterr().out == "a/b ## c\t" + "y" * 5_000 + "\n"
    show_data("\x1b[31m")
    assert capsys.readouterr().out == "\\x1b[31m\n"


def broken_app() -> typer.Typer:
    app = new_app("An app.", "app")
    app.callback()(lambda: None)

    @app.command()
    def broken() -> None:
        raise KeyError(EVIL)

    return app


def test_a_fault_is_one_line_that_says_how_to_see_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TRACEBACK, raising=False)
    found = CliRunner().invoke(broken_app(), ["broken"])
    assert found.exit_code == FAULT
    assert_harmless(found.stderr)
    assert found.stderr.startswith("uds-bench: error: KeyError: ")
    assert found.stderr.endswith("a file that it did not expect: UDS_BENCH_TRACEBACK=1 shows where\n")
    assert found.stderr.count("\n") == 1


def test_a_fault_is_shown_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRACEBACK, "1")
    assert isinstance(CliRunner().invoke(broken_app(), ["broken"]).exception, KeyError)


@pytest.mark.parametrize("words", [("lint",), ("list",)])
def test_names_of_goldens_are_told_harmlessly(command: Command, tmp_path: Path, words: tuple[str, ...]) -> None:
    name = "x\n::error::owned by golden\n##vso[task.complete]\x1b]0;t\x07"
    entry = {"value": 0.5, "n": 5, "reason": "y" * 5_000}
    (tmp_path / "depth").mkdir()
    document = {"schema": 1, "entries": {name: entry, "z" * 5_000: entry}}
    (tmp_path / "depth" / "specimens.json").write_text(json.dumps(document))
    found = command("goldens", *words, "--folder", tmp_path, exit=1 if words == ("lint",) else 0)
    assert_harmless(found.output, MESSAGE_LENGTH if words == ("lint",) else 4 * MESSAGE_LENGTH)


@pytest.mark.parametrize("options", [(), ("--same",)])
def test_names_of_checkpoints_are_told_harmlessly(command: Command, tmp_path: Path, options: tuple[str, ...]) -> None:
    run: dict[str, Any] = run_of(claim("depth.score[npo]"), scores=[made_scores.plain("npo", "em")]).to_json()
    (tmp_path / "a.json").write_text(json.dumps(run))
    run["scores"][0]["checkpoint"] = EVIL.replace("\ud800", "")
    run["claims"][0]["subject"] = EVIL.replace("\ud800", "") + "y" * 5_000
    (tmp_path / "b.json").write_text(json.dumps(run))
    found = command("compare", tmp_path / "a.json", tmp_path / "b.json", *options, exit=1 if options else 0)
    assert "error" in found.output
    assert_harmless(found.output, 4 * MESSAGE_LENGTH)
