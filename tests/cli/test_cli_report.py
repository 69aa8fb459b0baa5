"""`uds-bench report`: the page of a run report, and nothing for other files."""

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_page_shows_the_claims_of_a_real_run(command: Callable[..., Any], run_report: Path, tmp_path: Path) -> None:
    shown = command("report", run_report, "--out", tmp_path / "page").stdout.strip()
    assert shown == str(tmp_path / "page" / "index.html")
    page, claims = html.unescape(Path(shown).read_text()), json.loads(run_report.read_text())["claims"]
    assert claims
    assert all(claim["statement"] in page for claim in claims)


def test_score_files_and_other_schemas_are_refused(refused: Callable[..., str], tmp_path: Path) -> None:
    file, page = tmp_path / "file.json", tmp_path / "page"
    file.write_text(json.dumps({"schema": 1, "scores": []}))
    assert "is a score file: name a run report" in refused("report", file, "--out", page)
    file.write_text(json.dumps({"schema": 7, "scores": [], "claims": []}))
    assert "has schema 7, this version reads 2" in refused("report", file, "--out", page)
    assert not page.exists()
