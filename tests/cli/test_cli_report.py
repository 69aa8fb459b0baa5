"""`uds-bench report`: the page of a run report, and nothing for other files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

CLAIM = {"id": "depth.score", "subject": "npo", "name": "depth.score[npo]", "audit": "depth", "verdict": "fail"}


def test_page_shows_the_claim(command: Callable[..., Any], tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    run.write_text(json.dumps({"schema": 1, "scores": [], "claims": [CLAIM]}))
    shown = command("report", run, "--out", tmp_path / "page").stdout.strip()
    assert shown == str(tmp_path / "page" / "index.html")
    assert "npo" in Path(shown).read_text()


def test_score_files_and_other_schemas_are_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    file, page = tmp_path / "file.json", tmp_path / "page"
    file.write_text(json.dumps({"schema": 1, "scores": []}))
    assert "is a score file: name a run report" in refused("report", file, "--out", page)
    file.write_text(json.dumps({"schema": 7, "scores": [], "claims": []}))
    assert "has schema 7, this version reads 1" in refused("report", file, "--out", page)
    assert not page.exists()
