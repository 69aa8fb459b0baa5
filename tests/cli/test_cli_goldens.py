"""`uds-bench goldens`: which recorded goldens may stand."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Command, Refused

from uds_bench.claims.goldens import write_goldens

GOOD: dict[str, Any] = {
    "value": 0.95,
    "n": 120,
    "versions": {"torch": "2.13.0"},
    "command": "pytest suites/ --uds-record 'first'",
    "reason": "first",
}


def _write(folder: Path, entries: dict[str, Any], audit: str = "depth") -> Path:
    document = {"schema": 1, "entries": entries}
    path = folder / audit / "specimens.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_goldens_that_the_harness_writes_pass(command: Command, tmp_path: Path) -> None:
    write_goldens(tmp_path, "depth", {"depth.score[npo]": GOOD, "depth.order": GOOD | {"value": 0.94}})
    (tmp_path / "depth" / "frozen.json").write_text('{"schema": 1, "facts": []}')
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "tables.json").write_text("{}")
    assert "2 goldens, 0 problems" in command("goldens", "lint", "--folder", tmp_path).stdout
    listed = json.loads(command("goldens", "list", "--folder", tmp_path, "--json").stdout)["goldens"]
    assert [(row["name"], row["audit"], row["value"]) for row in listed] == [
        ("depth.order", "depth", 0.94),
        ("depth.score[npo]", "depth", 0.95),
    ]
    assert "0.95" in command("goldens", "list", "--folder", tmp_path).stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": 0.7}, "tolerance 0.0001 is not less than half of the margin 0 "),
        ({"value": 0.69985}, "not less than half of the margin 0.00015"),
        ({"value": 0.9, "bound": 0.9001}, "not less than half of the margin 0.0001 to the bound 0.9001"),
        ({"value": float("nan")}, "value is nan, no finite number"),
        ({"value": True}, "value is True, no finite number"),
        ({"n": 0}, "n is 0, not a number of units"),
        ({"n": True}, "n is True, not a number of units"),
        *[({key: None}, f"{key} is missing") for key in GOOD],
        ({"reason": "", "versions": {}}, "reason is missing"),
    ],
)
def test_goldens_that_may_not_stand_are_told(
    command: Command, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    path = _write(tmp_path, {"depth.score[npo]": {**GOOD, "value": 0.95, **change}})
    shown = command("goldens", "lint", "--folder", tmp_path, exit=1).stdout
    assert f"{path}: depth.score[npo]: " in shown
    assert said in shown


def test_orphans_and_misplaced_goldens_are_told(command: Command, tmp_path: Path) -> None:
    _write(tmp_path, {"depth.scroe[npo]": GOOD})
    _write(tmp_path, {"depth.score[npo]": GOOD}, audit="bypass")
    shown = command("goldens", "lint", "--folder", tmp_path, exit=1).stdout
    assert "depth.scroe[npo]: belongs to no claim" in shown
    assert "belongs to audit depth and stands in bypass" in shown


def test_nothing_to_lint_is_no_success(command: Command, tmp_path: Path) -> None:
    command("goldens", "lint", "--folder", tmp_path, exit=5)
    assert "no goldens" in command("goldens", "list", "--folder", tmp_path).stdout


@pytest.mark.parametrize("text", ["{", '{"schema": 2}', '{"schema": 1}', '{"schema": 1, "entries": []}'])
def test_files_that_are_no_goldens_are_refused(refused: Refused, tmp_path: Path, text: str) -> None:
    path = _write(tmp_path, {})
    path.write_text(text)
    assert f"{path} is not a file of goldens" in refused("goldens", "lint", "--folder", tmp_path)
